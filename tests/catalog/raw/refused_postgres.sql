-- The same, in words that only Postgres has. The names are those of its own triggers.

-- counter_kept --
TRUNCATE counter;

-- pipeline_lease_fence HC-105 --
INSERT INTO pipeline_lease VALUES ('p', 'b', '2026-05-11 13:00Z', 1, 'x', '2026-05-11 13:00Z')
    ON CONFLICT (pipeline_id) DO UPDATE SET fence = 1;

-- pipeline_lease_kept HC-105 --
TRUNCATE pipeline_lease;

-- pipeline_cursor_kept HP-060 --
TRUNCATE pipeline_cursor;

-- pipeline_run_kept HP-064 --
TRUNCATE pipeline_run;

-- pipeline_chunks_kept AD-003 --
TRUNCATE pipeline_chunks;

-- table_state_kept AD-005 --
TRUNCATE table_state;

-- schema_history_kept AD-002 --
TRUNCATE schema_history;

-- table_schema_kept AD-002 --
TRUNCATE table_schema;

-- lineage_kept AD-004 --
TRUNCATE lineage;
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', '', 'x', '2026-05-11 13:00Z')
    ON CONFLICT (child_run_id, parent_run_id, kind, record_id) DO UPDATE SET reason = 'x';

-- snapshot_kept AD-005 --
TRUNCATE snapshot;

-- sidecar_fixed AD-005 --
INSERT INTO sidecar VALUES ('s1', 'pk', 'x', 1, '2026-05-11 13:00Z')
    ON CONFLICT (snapshot_id, index_id) DO UPDATE SET manifest_hash = 'x';

-- sidecar_kept AD-005 --
TRUNCATE sidecar;

-- revocation_epochs_kept AD-008 --
TRUNCATE revocation_epochs;

-- cf_selection_specs_fixed --
TRUNCATE cf_selection_specs;

-- cf_selection_snapshots_fixed --
TRUNCATE cf_selection_snapshots;

-- cf_selection_snapshot_files_fixed --
TRUNCATE cf_selection_snapshot_files;
