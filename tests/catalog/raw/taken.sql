-- What keeps the promises, and must go on working beside all that is refused.

UPDATE counter SET last = 8 WHERE name = 'rows';
UPDATE pipeline_lease SET fence = 8, nonce = 'n8', holder_node = 'b', acquired_at = '2026-05-11 12:00Z' WHERE fence = 7;
UPDATE pipeline_lease SET expires_at = '2026-05-11 13:00Z';
UPDATE pipeline_cursor SET cursor_json = 'null', seq = 10;
UPDATE pipeline_run SET status = 'failed', ended_at = '2026-05-11 12:00Z' WHERE run_id = 'open';
UPDATE pipeline_chunks SET status = 'running', attempts = 1, holder_node = 'b', nonce = 'n1', seq = 9,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'a', nonce = 'n2', seq = 9,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'pending', holder_node = NULL, leased_until = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'failed', holder_node = NULL, leased_until = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'skipped' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET status = 'superseded', superseded_by = 9, reason = 'rewind' WHERE chunk_id = 3;
UPDATE pipeline_chunks SET status = 'pending' WHERE chunk_id = 5;
UPDATE table_state SET revision = 6 WHERE table_name = 't';
UPDATE table_state SET landed = 4 WHERE table_name = 't';
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 3, 'p', 'x', '3', 'agent:7', '2026-05-11 12:00Z');
INSERT INTO table_schema VALUES ('u', '"one"', '["id"]', '2026-05-11 12:00Z', '2026-05-11 12:00Z', 1);
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '8', NULL, '2026-05-11 12:00Z');
INSERT INTO audit VALUES (3, '2026-05-11 11:00Z', 'agent:7', 'skip', NULL, NULL, NULL, NULL, NULL);
UPDATE budget SET granted = 4, marks = '[["2026-05-11T12:00:00+00:00", 4]]' WHERE name = 'github';
UPDATE budget SET rate = NULL WHERE name = 'github';
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 0, '', 1, '2026-05-11 12:00Z');
UPDATE sidecar SET manifest_hash = 'rebuilt' WHERE snapshot_id = 's2';
DELETE FROM sidecar WHERE snapshot_id = 's2';
UPDATE revocation_epochs SET epoch = 4 WHERE epoch = 3;
INSERT INTO cf_selection_specs VALUES ('spec', '{}', '2026-05-11 13:00Z') ON CONFLICT DO NOTHING;
UPDATE push_batch SET fence = 5, node_id = 'b', leased_until = '2026-05-11 13:00Z' WHERE batch = 'open';
UPDATE push_batch SET settled_at = '2026-05-11 13:00Z' WHERE batch = 'open';
