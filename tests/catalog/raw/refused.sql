-- Each of these breaks a promise, and the store refuses it. Above them: the trigger of SQLite that does. The rows they
-- meet are in rows.sql.

-- counter_grows --
UPDATE counter SET last = 6 WHERE name = 'rows';
UPDATE counter SET last = NULL WHERE name = 'rows';
UPDATE counter SET name = 'others', last = 8 WHERE name = 'rows';

-- counter_kept --
DELETE FROM counter WHERE name = 'rows';

-- pipeline_lease_fence --
UPDATE pipeline_lease SET fence = 6 WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET fence = 8 WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET fence = NULL WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET nonce = 'x' WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET holder_node = 'b' WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET pipeline_id = 'r' WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET pipeline_id = NULL WHERE pipeline_id = 'p';
UPDATE pipeline_lease SET fence = 8, nonce = 'n7', holder_node = 'b', acquired_at = '2026-05-11 13:00Z' WHERE fence = 7;
UPDATE pipeline_lease SET fence = 8, nonce = 'n8', holder_node = 'b', acquired_at = '2026-05-11 11:59Z' WHERE fence = 7;
UPDATE pipeline_lease SET fence = 9, nonce = 'n9', holder_node = 'b', acquired_at = '2026-05-11 13:00Z' WHERE fence = 7;

-- pipeline_lease_kept --
DELETE FROM pipeline_lease WHERE pipeline_id = 'p';
DELETE FROM pipeline_lease;

-- pipeline_cursor_order --
UPDATE pipeline_cursor SET cursor_json = '"old"', seq = 4 WHERE table_name = 't';
UPDATE pipeline_cursor SET table_name = 'w' WHERE table_name = 't';

-- pipeline_cursor_kept --
DELETE FROM pipeline_cursor;

-- pipeline_run_ended --
UPDATE pipeline_run SET row_count = 11 WHERE run_id = 'ended';
UPDATE pipeline_run SET ended_at = NULL, status = 'running' WHERE run_id = 'ended';
UPDATE pipeline_run SET run_id = 'other' WHERE run_id = 'open';
UPDATE pipeline_run SET pipeline_id = 'q' WHERE run_id = 'open';

-- pipeline_run_kept --
DELETE FROM pipeline_run WHERE run_id = 'open';
DELETE FROM pipeline_run;

-- pipeline_chunks_claim --
-- Before the lease has run out; at no time; without a nonce; with that of another; without a number; of a failed one.
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'b', nonce = 'n2', seq = 9,
                           started_at = '2026-05-11 11:59Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'b', nonce = 'n2', seq = 9,
                           started_at = NULL, leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'b', nonce = NULL, seq = 9,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'b', nonce = 'n1', seq = 9,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', attempts = 2, holder_node = 'b', nonce = 'n2', seq = NULL,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', attempts = 1, holder_node = 'b', nonce = 'n2', seq = 9,
                           started_at = '2026-05-11 12:00Z', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 5;
-- The same attempt for another holder; an attempt without a claim; an attempt that goes back or too far.
UPDATE pipeline_chunks SET holder_node = 'b' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET nonce = 'x' WHERE chunk_id = 2;
UPDATE pipeline_chunks SET nonce = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'running', holder_node = 'b', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET attempts = 1 WHERE chunk_id = 1;
UPDATE pipeline_chunks SET attempts = 0 WHERE chunk_id = 2;
UPDATE pipeline_chunks SET attempts = 3 WHERE chunk_id = 2;
UPDATE pipeline_chunks SET attempts = NULL WHERE chunk_id = 2;

-- pipeline_chunks_won --
UPDATE pipeline_chunks SET status = 'done', winning_attempt = 'b/attempt-1', holder_node = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'done', winning_attempt = 'a/attempt-2', holder_node = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET status = 'done', winning_attempt = 'a/attempt-0' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET status = 'superseded', winning_attempt = 'a/attempt-1', holder_node = NULL WHERE chunk_id = 2;

-- pipeline_chunks_done --
UPDATE pipeline_chunks SET winning_attempt = 'b/attempt-2' WHERE chunk_id = 3;
UPDATE pipeline_chunks SET status = 'pending', winning_attempt = NULL WHERE chunk_id = 3;
UPDATE pipeline_chunks SET manifest = '[]' WHERE chunk_id = 3;
UPDATE pipeline_chunks SET manifest = NULL WHERE chunk_id = 3;
UPDATE pipeline_chunks SET row_count = 11 WHERE chunk_id = 3;
UPDATE pipeline_chunks SET bytes = 11 WHERE chunk_id = 3;
UPDATE pipeline_chunks SET cursor_committed = NULL WHERE chunk_id = 3;
UPDATE pipeline_chunks SET run_id = 'r2' WHERE chunk_id = 3;
UPDATE pipeline_chunks SET seq = 2 WHERE chunk_id = 3;
UPDATE pipeline_chunks SET status = 'superseded', completed_at = NULL WHERE chunk_id = 3;
UPDATE pipeline_chunks SET status = 'done' WHERE chunk_id = 4;
UPDATE pipeline_chunks SET superseded_by = 1 WHERE chunk_id = 4;

-- pipeline_chunks_planned --
UPDATE pipeline_chunks SET predicate = '9' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET table_name = 'u' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET chunk_id = 9 WHERE chunk_id = 1;
UPDATE pipeline_chunks SET pipeline_id = 'q' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET reread = '{}' WHERE chunk_id = 1;

-- pipeline_chunks_kept --
DELETE FROM pipeline_chunks WHERE chunk_id = 1;
DELETE FROM pipeline_chunks;

-- table_state_grows --
UPDATE table_state SET revision = 5 WHERE table_name = 't';
UPDATE table_state SET revision = 4 WHERE table_name = 't';
UPDATE table_state SET revision = NULL WHERE table_name = 't';
UPDATE table_state SET table_name = 'u', revision = 9 WHERE table_name = 't';

UPDATE table_state SET landed = 2 WHERE table_name = 't';
UPDATE table_state SET landed = 3, revision = 5 WHERE table_name = 't';
UPDATE table_state SET landed = 2, revision = 9 WHERE table_name = 't';
UPDATE table_state SET landed = 9, revision = 4 WHERE table_name = 't';
UPDATE table_state SET landed = NULL, revision = 9 WHERE table_name = 't';

-- table_state_kept --
DELETE FROM table_state;

-- schema_history_dense --
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 4, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 2, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('new', 2, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('new', 0, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', NULL, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');

-- schema_history_fixed --
UPDATE schema_history SET after_json = '0' WHERE table_name = 't' AND version = 1;
UPDATE schema_history SET version = 3 WHERE table_name = 't' AND version = 2;

-- schema_history_kept --
DELETE FROM schema_history WHERE table_name = 't' AND version = 2;
DELETE FROM schema_history;

-- table_schema_forward --
UPDATE table_schema SET version = 1, arrow_schema_json = '"one"';
UPDATE table_schema SET arrow_schema_json = '"one"';
UPDATE table_schema SET version = 3, arrow_schema_json = '"three"';
UPDATE table_schema SET version = NULL;

-- table_schema_first --
INSERT INTO table_schema VALUES ('new', '1', NULL, '2026-05-11 12:00Z', '2026-05-11 12:00Z', 1);
INSERT INTO table_schema VALUES ('u', '"other"', NULL, '2026-05-11 12:00Z', '2026-05-11 12:00Z', 1);
INSERT INTO table_schema VALUES ('u', '"one"', NULL, '2026-05-11 12:00Z', '2026-05-11 12:00Z', 2);

-- table_schema_kept --
DELETE FROM table_schema;

-- lineage_fixed --
UPDATE lineage SET reason = 'another';
UPDATE lineage SET record_id = '9' WHERE record_id = '7';

-- lineage_kept --
DELETE FROM lineage WHERE record_id = '7';
DELETE FROM lineage;

-- audit_dense --
INSERT INTO audit VALUES (2, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (4, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (0, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (NULL, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL);

-- audit_fixed --
UPDATE audit SET reason = 'another' WHERE number = 1;
UPDATE audit SET number = 3 WHERE number = 2;

-- audit_kept --
DELETE FROM audit WHERE number = 2;
DELETE FROM audit;

-- budget_forward --
UPDATE budget SET granted = 0, marks = '[]' WHERE name = 'github';
UPDATE budget SET granted = 2, marks = '[["2026-05-11T13:00:00+00:00", 2]]' WHERE name = 'github';
UPDATE budget SET marks = '[["2026-05-11T11:00:00+00:00", 3]]' WHERE name = 'github';
UPDATE budget SET granted = NULL WHERE name = 'github';
UPDATE budget SET marks = NULL WHERE name = 'github';
UPDATE budget SET name = 'another' WHERE name = 'github';

-- budget_kept --
DELETE FROM budget WHERE name = 'github';
DELETE FROM budget;

-- snapshot_whole --
INSERT INTO snapshot VALUES ('s3', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 0, '', 1, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk", "x"]', NULL, 0, '', 1, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '[null]', NULL, 0, '', 1, '2026-05-11 12:00Z');

-- snapshot_fresh --
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 1, '', 2, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 1, '', 1, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s2', 'new', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 0, '', 1, '2026-05-11 12:00Z');

-- snapshot_again --
INSERT INTO snapshot VALUES ('s1', 't', '2026-05-11 12:00Z', '[]', 2, '["pk"]', NULL, 4, '', 5, '2026-05-11 12:00Z');

-- snapshot_fixed --
UPDATE snapshot SET row_count = 2;

-- snapshot_kept --
DELETE FROM snapshot;

-- sidecar_fixed --
UPDATE sidecar SET manifest_hash = 'x' WHERE snapshot_id = 's1';
UPDATE sidecar SET snapshot_id = 's3' WHERE snapshot_id = 's1';
UPDATE sidecar SET snapshot_id = 's1', index_id = 'x' WHERE snapshot_id = 's2';

-- sidecar_again --
INSERT INTO sidecar VALUES ('s1', 'x', 'sha256:1', 1, '2026-05-11 12:00Z');

-- sidecar_kept --
DELETE FROM sidecar WHERE snapshot_id = 's1';
DELETE FROM sidecar;

-- revocation_epochs_grow --
UPDATE revocation_epochs SET epoch = 2 WHERE epoch = 3;
UPDATE revocation_epochs SET epoch = 3 WHERE epoch = 3;
UPDATE revocation_epochs SET epoch = NULL WHERE epoch = 3;
UPDATE revocation_epochs SET tenant = 'other', epoch = 4 WHERE epoch = 3;

-- revocation_epochs_kept --
DELETE FROM revocation_epochs;

-- cf_selection_specs_fixed --
UPDATE cf_selection_specs SET spec_json = '[]';

-- cf_selection_specs_kept --
DELETE FROM cf_selection_specs;

-- cf_selection_snapshots_fixed --
UPDATE cf_selection_snapshots SET snapshot_hash = 'x';

-- cf_selection_snapshots_kept --
DELETE FROM cf_selection_snapshots;

-- cf_selection_snapshot_files_fixed --
UPDATE cf_selection_snapshot_files SET file_id = 'f3' WHERE file_id = 'f1';

-- cf_selection_snapshot_files_kept --
DELETE FROM cf_selection_snapshot_files WHERE file_id = 'f1';

-- push_batch_fence --
UPDATE push_batch SET fence = 3 WHERE batch = 'open';
UPDATE push_batch SET fence = 6 WHERE batch = 'open';
UPDATE push_batch SET node_id = 'b' WHERE batch = 'open';
UPDATE push_batch SET settled_at = NULL WHERE batch = 'settled';
