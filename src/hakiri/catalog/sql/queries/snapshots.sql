-- snapshot --
SELECT * FROM main.snapshot WHERE snapshot_id = :snapshot;

-- current_snapshot --
SELECT * FROM main.snapshot WHERE table_name = :table ORDER BY revision DESC LIMIT 1;

-- current_snapshot_id --
SELECT snapshot_id FROM main.snapshot WHERE table_name = :table ORDER BY revision DESC LIMIT 1;

-- snapshots --
SELECT * FROM main.snapshot WHERE table_name = :table ORDER BY revision;

-- snapshot_commits --
SELECT snapshot_id, committed_at FROM main.snapshot WHERE table_name = :table ORDER BY revision;

-- add_snapshot --
INSERT INTO main.snapshot (snapshot_id, table_name, created_at, includes_runs, row_count, indexes, key_version,
                           based_on, manifest, revision, committed_at)
VALUES (:snapshot, :table, :created_at, :includes_runs, :rows, :indexes, :key_version,
        :based_on, :manifest, :revision, :now)
ON CONFLICT (snapshot_id) DO NOTHING;

-- sidecars --
SELECT * FROM main.sidecar WHERE snapshot_id = :snapshot ORDER BY index_id;

-- sidecar --
SELECT * FROM main.sidecar WHERE snapshot_id = :snapshot AND index_id = :index;

-- note_sidecar --
INSERT INTO main.sidecar (snapshot_id, index_id, manifest_hash, bytes, durable_at)
VALUES (:snapshot, :index, :manifest_hash, :bytes, :now)
ON CONFLICT (snapshot_id, index_id) DO UPDATE
   SET manifest_hash = excluded.manifest_hash, bytes = excluded.bytes, durable_at = excluded.durable_at;

-- doom_files --
-- Many paths come as one JSON object, which all databases open with the same words: {"0": [path], …}.
INSERT INTO main.to_delete AS doomed (path, table_name, reason, doomed_at, keep_until)
SELECT file.value ->> 0, :table, :reason, :now, :keep_until FROM json_each(:paths) AS file WHERE true
ON CONFLICT (path) DO UPDATE SET keep_until = excluded.keep_until
 WHERE excluded.keep_until > doomed.keep_until;

-- due_files --
SELECT * FROM main.to_delete WHERE keep_until <= :now ORDER BY keep_until, path LIMIT :limit;

-- tables_of_doomed_files --
SELECT DISTINCT table_name FROM main.to_delete
 WHERE path IN (SELECT file.value ->> 0 FROM json_each(:paths) AS file)
 ORDER BY table_name;

-- forget_files --
DELETE FROM main.to_delete WHERE path IN (SELECT file.value ->> 0 FROM json_each(:paths) AS file)
RETURNING table_name;

-- earliest_claim --
SELECT min(seq) AS seq FROM main.pipeline_chunks WHERE status = 'running' AND table_name = :table;
