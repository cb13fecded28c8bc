-- The same, in words that only SQLite has: rows that are to replace others.

-- counter_grows --
UPDATE OR REPLACE counter SET last = NULL WHERE name = 'rows';
UPDATE OR REPLACE counter SET name = 'rows', last = 9 WHERE name = 'claim';

-- pipeline_lease_fence --
UPDATE OR IGNORE pipeline_lease SET fence = 6 WHERE pipeline_id = 'p';
UPDATE OR REPLACE pipeline_lease SET pipeline_id = 'p' WHERE pipeline_id = 'q';

-- pipeline_lease_again --
REPLACE INTO pipeline_lease VALUES ('p', 'b', '2026-05-11 13:00Z', 1, 'x', '2026-05-11 13:00Z', NULL);
INSERT OR REPLACE INTO pipeline_lease VALUES ('p', 'b', '2026-05-11 13:00Z', 8, 'x', '2026-05-11 13:00Z', NULL);
INSERT INTO pipeline_lease VALUES ('p', 'b', '2026-05-11 13:00Z', 1, 'x', '2026-05-11 13:00Z', NULL)
    ON CONFLICT DO UPDATE SET fence = 1;

-- pipeline_cursor_order --
UPDATE OR REPLACE pipeline_cursor SET table_name = 'u' WHERE table_name = 't';

-- pipeline_run_ended --
UPDATE OR REPLACE pipeline_run SET run_id = 'ended' WHERE run_id = 'open';

-- pipeline_run_again --
INSERT OR REPLACE INTO pipeline_run (run_id, pipeline_id, node_id, started_at, status)
VALUES ('ended', 'p', 'b', '2026-05-11 13:00Z', 'running');

-- pipeline_chunks_claim --
UPDATE OR REPLACE pipeline_chunks SET attempts = NULL, status = 'pending', holder_node = NULL WHERE chunk_id = 2;

-- pipeline_chunks_planned --
UPDATE OR REPLACE pipeline_chunks SET chunk_id = 3 WHERE chunk_id = 1;
UPDATE OR REPLACE pipeline_chunks SET rowid = 3 WHERE chunk_id = 1;

-- pipeline_chunks_again --
INSERT OR REPLACE INTO pipeline_chunks (pipeline_id, chunk_id, table_name, predicate, status)
VALUES ('p', 3, 't', '3', 'pending');
REPLACE INTO pipeline_chunks (rowid, pipeline_id, chunk_id, table_name, predicate, status)
VALUES (3, 'p', 9, 't', '9', 'pending');

-- table_state_grows --
UPDATE OR REPLACE table_state SET revision = NULL WHERE table_name = 't';
UPDATE OR REPLACE table_state SET table_name = 't', revision = 2 WHERE table_name = 'v';

-- table_state_again --
INSERT OR REPLACE INTO table_state VALUES ('t', 0, 0);

-- schema_history_dense --
INSERT OR REPLACE INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 2, 'p', 'x', '4', 'auto', '2026-05-11 12:00Z');
REPLACE INTO schema_history VALUES (1, 't', 3, 'p', 'x', NULL, '4', 'auto', '2026-05-11 12:00Z');

-- schema_history_fixed --
UPDATE OR REPLACE schema_history SET version = 1 WHERE table_name = 't' AND version = 2;
UPDATE OR REPLACE schema_history SET id = 1 WHERE table_name = 't' AND version = 2;

-- table_schema_first --
INSERT OR REPLACE INTO table_schema VALUES ('t', '"one"', NULL, '2026-05-11 12:00Z', '2026-05-11 12:00Z', 1);
INSERT OR REPLACE INTO table_schema VALUES ('t', '"two"', '["id"]', '2026-05-11 12:00Z', '2026-05-11 12:00Z', 2);

-- lineage_fixed --
UPDATE OR REPLACE lineage SET record_id = '7' WHERE record_id = '';

-- lineage_again --
INSERT OR REPLACE INTO lineage VALUES ('child', 'parent', 'chunk', '7', 'x', '2026-05-11 13:00Z');
REPLACE INTO lineage VALUES ('child', 'parent', 'chunk', '', 'x', '2026-05-11 13:00Z');
REPLACE INTO lineage SELECT child_run_id, parent_run_id, kind, record_id, 'x', at FROM lineage;
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '', 'x', '2026-05-11 13:00Z')
    ON CONFLICT DO UPDATE SET reason = 'x';

-- audit_dense --
INSERT OR REPLACE INTO audit VALUES (1, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL);
REPLACE INTO audit SELECT number, at, decided_by, 'other', NULL, NULL, NULL, NULL, NULL FROM audit;
INSERT INTO audit VALUES (1, '2026-05-11 12:00Z', 'auto', 'skip', NULL, NULL, NULL, NULL, NULL)
    ON CONFLICT DO UPDATE SET reason = 'x';

-- audit_fixed --
UPDATE OR REPLACE audit SET number = 1 WHERE number = 2;

-- budget_forward --
UPDATE OR REPLACE budget SET name = 'shopify' WHERE name = 'github';

-- budget_again --
REPLACE INTO budget VALUES ('github', '60/min', 0, '[]');
INSERT INTO budget VALUES ('github', '60/min', 0, '[]') ON CONFLICT DO UPDATE SET granted = 0, marks = '[]';

-- snapshot_again --
REPLACE INTO snapshot VALUES ('s1', 't', '2026-05-11 12:00Z', '[]', 2, '["pk"]', NULL, 4, '', 5, '2026-05-11 12:00Z');
REPLACE INTO snapshot VALUES ('s2', 't', '2026-05-11 12:00Z', '[]', 2, '["pk"]', NULL, 4, '', 5, '2026-05-11 12:00Z');

-- sidecar_fixed --
UPDATE OR REPLACE sidecar SET snapshot_id = 's1' WHERE snapshot_id = 's2';

-- sidecar_again --
INSERT OR REPLACE INTO sidecar VALUES ('s1', 'pk', 'x', 1, '2026-05-11 12:00Z');

-- revocation_epochs_grow --
UPDATE OR REPLACE revocation_epochs SET principal_class = 'agent', epoch = 2 WHERE epoch = 1;

-- revocation_epochs_again --
INSERT OR REPLACE INTO revocation_epochs VALUES ('shop', 'acme', 'agent', 1, '2026-05-11 13:00Z');

-- cf_selection_specs_again --
REPLACE INTO cf_selection_specs VALUES ('spec', '[]', '2026-05-11 12:00Z');

-- cf_selection_snapshots_again --
REPLACE INTO cf_selection_snapshots VALUES ('sel', 'spec', 'x', '2026-05-11', NULL, '2026-05-11 12:00Z', 2);
REPLACE INTO cf_selection_snapshots VALUES ('sel2', 'spec', 'x', '2026-05-11', NULL, '2026-05-11 12:00Z', 1);

-- cf_selection_snapshot_files_fixed --
UPDATE OR REPLACE cf_selection_snapshot_files SET file_id = 'f1';

-- push_batch_fence --
UPDATE OR REPLACE push_batch SET batch = 'settled', fence = 5 WHERE batch = 'open';

-- push_batch_again --
REPLACE INTO push_batch VALUES ('open', 'crm', 'm', 'b', 1, '2026-05-11 13:00Z', NULL, NULL);
