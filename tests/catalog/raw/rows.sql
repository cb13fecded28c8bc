-- One row or more in every table that is watched. Times are in a form that sorts as text and that every database reads.

INSERT INTO counter VALUES ('rows', 7);

INSERT INTO pipeline_state (pipeline_id, cursor_kind, phase, updated_at)
VALUES ('p', 'monotonic', 'planning', '2026-05-11 12:00Z');

INSERT INTO pipeline_lease VALUES ('p', 'a', '2026-05-11 12:00Z', 7, 'n7', '2026-05-11 11:00Z', NULL);
INSERT INTO pipeline_lease VALUES ('q', 'a', '2026-05-11 12:00Z', 3, 'n3', '2026-05-11 11:00Z', NULL);

INSERT INTO pipeline_cursor VALUES ('p', 't', '"new"', '2026-05-11 12:00Z', 'r1', 5);
INSERT INTO pipeline_cursor VALUES ('p', 'u', '"new"', '2026-05-11 12:00Z', 'r1', 9);

INSERT INTO pipeline_run (run_id, pipeline_id, node_id, started_at, status)
VALUES ('open', 'p', 'a', '2026-05-11 11:00Z', 'running');
INSERT INTO pipeline_run (run_id, pipeline_id, node_id, started_at, ended_at, status, row_count)
VALUES ('ended', 'p', 'a', '2026-05-11 11:00Z', '2026-05-11 12:00Z', 'success', 10);

-- Chunk 1 is pending, 2 running, 3 done, 4 superseded, 5 failed.
INSERT INTO pipeline_chunks (pipeline_id, chunk_id, table_name, predicate, status)
VALUES ('p', 1, 't', '1', 'pending'), ('p', 2, 't', '2', 'pending'), ('p', 3, 't', '3', 'pending'),
       ('p', 4, 't', '4', 'pending'), ('p', 5, 't', '5', 'pending');
UPDATE pipeline_chunks
   SET status = 'running', attempts = 1, holder_node = 'a', nonce = 'n1', run_id = 'r1', seq = 1,
       started_at = '2026-05-11 11:00Z', claimed_at = '2026-05-11 11:00Z', leased_until = '2026-05-11 12:00Z'
 WHERE chunk_id IN (2, 3, 4);
UPDATE pipeline_chunks
   SET status = 'done', winning_attempt = 'a/attempt-1', holder_node = NULL, leased_until = NULL,
       completed_at = '2026-05-11 12:00Z', cursor_committed = '"c"', row_count = 10, bytes = 100, manifest = '{}'
 WHERE chunk_id IN (3, 4);
UPDATE pipeline_chunks SET status = 'superseded', superseded_by = 5, reason = 'rewind' WHERE chunk_id = 4;
UPDATE pipeline_chunks SET status = 'failed' WHERE chunk_id = 5;

-- Table t is at schema version 2 and has a snapshot; u has a history and no schema yet; v has neither. What landed in t
-- was counted with the chunks.
UPDATE table_state SET revision = 5 WHERE table_name = 't';
INSERT INTO table_state VALUES ('v', 1, 0);
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 1, 'p', 'create', '"one"', 'auto', '2026-05-11 12:00Z');
INSERT INTO table_schema VALUES ('t', '"one"', NULL, '2026-05-11 12:00Z', '2026-05-11 12:00Z', 1);
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 2, 'p', 'add_column', '"two"', 'auto', '2026-05-11 12:00Z');
UPDATE table_schema SET arrow_schema_json = '"two"', version = 2;
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('u', 1, 'p', 'create', '"one"', 'auto', '2026-05-11 12:00Z');

INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '', NULL, '2026-05-11 12:00Z');
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '7', 'why', '2026-05-11 12:00Z');

INSERT INTO audit VALUES (1, '2026-05-11 12:00Z', 'operator:ada', 'cursor', 'p', 't', '1', '2', 'late rows'),
                         (2, '2026-05-11 12:00Z', 'auto', 'retry', NULL, NULL, NULL, NULL, NULL);

INSERT INTO budget VALUES ('github', '60/min', 3, '[["2026-05-11T12:00:00+00:00", 3]]'),
                          ('shopify', NULL, 0, '[]');

INSERT INTO sidecar VALUES ('s1', 'pk', 'sha256:1', 1, '2026-05-11 12:00Z'),
                           ('s2', 'pk', 'sha256:2', 2, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s1', 't', '2026-05-11 12:00Z', '[]', 1, '["pk"]', NULL, 4, '{}', 5, '2026-05-11 12:00Z');

INSERT INTO revocation_epochs VALUES ('shop', 'acme', 'agent', 3, '2026-05-11 12:00Z'),
                                     ('shop', 'acme', 'person', 1, '2026-05-11 12:00Z');

INSERT INTO cf_selection_specs VALUES ('spec', '{}', '2026-05-11 12:00Z');
INSERT INTO cf_selection_snapshots VALUES ('sel', 'spec', 'sha256:1', '2026-05-11', NULL, '2026-05-11 12:00Z', 1);
INSERT INTO cf_selection_snapshot_files VALUES ('sel', 'f1'), ('sel', 'f2');

INSERT INTO push_batch VALUES ('open', 'crm', 'm', 'a', 4, '2026-05-11 12:00Z', NULL, NULL);
INSERT INTO push_batch VALUES ('settled', 'crm', 'm', 'a', 2, '2026-05-11 12:00Z', NULL, '2026-05-11 12:00Z');
