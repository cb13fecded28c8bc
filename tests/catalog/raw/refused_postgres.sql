-- The same, in words that only Postgres has. The names are those of its own triggers.

-- counter_kept --
TRUNCATE counter;

-- pipeline_lease_fence --
INSERT INTO pipeline_lease VALUES ('p', 'b', '2026-05-11 13:00Z', 1, 'x', '2026-05-11 13:00Z', NULL)
    ON CONFLICT (pipeline_id) DO UPDATE SET fence = 1;

-- pipeline_lease_kept --
TRUNCATE pipeline_lease;

-- pipeline_cursor_kept --
TRUNCATE pipeline_cursor;

-- pipeline_run_kept --
TRUNCATE pipeline_run;

-- pipeline_chunks_kept --
TRUNCATE pipeline_chunks;

-- table_state_kept --
TRUNCATE table_state;

-- schema_history_kept --
TRUNCATE schema_history;

-- table_schema_kept --
TRUNCATE table_schema;

-- lineage_kept --
TRUNCATE lineage;
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '', 'x', '2026-05-11 13:00Z')
    ON CONFLICT (child_run_id, parent_run_id, kind, record_id) DO UPDATE SET reason = 'x';

-- audit_kept --
TRUNCATE audit;

-- budget_forward --
INSERT INTO budget VALUES ('github', NULL, 0, '[]')
    ON CONFLICT (name) DO UPDATE SET granted = excluded.granted, marks = excluded.marks;

-- budget_kept --
TRUNCATE budget;

-- snapshot_kept --
TRUNCATE snapshot;

-- sidecar_fixed --
INSERT INTO sidecar VALUES ('s1', 'pk', 'x', 1, '2026-05-11 13:00Z')
    ON CONFLICT (snapshot_id, index_id) DO UPDATE SET manifest_hash = 'x';

-- sidecar_kept --
TRUNCATE sidecar;

-- revocation_epochs_kept --
TRUNCATE revocation_epochs;

-- cf_selection_specs_fixed --
TRUNCATE cf_selection_specs;

-- cf_selection_snapshots_fixed --
TRUNCATE cf_selection_snapshots;

-- cf_selection_snapshot_files_fixed --
TRUNCATE cf_selection_snapshot_files;
