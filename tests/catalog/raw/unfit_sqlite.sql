-- The same, in words that only SQLite has: no row is reached by a number that it does not show.

-- lineage --
UPDATE OR REPLACE lineage SET rowid = 1;
REPLACE INTO lineage (rowid, child_run_id, parent_run_id, kind, record_id, at)
VALUES (1, 'x', 'y', 'chunk', '', '2026-05-11 12:00Z');
REPLACE INTO lineage VALUES ('child', 'parent', 'chunk', NULL, 'x', '2026-05-11 12:00Z');
INSERT OR REPLACE INTO lineage (child_run_id, parent_run_id, kind, at)
VALUES ('child', 'parent', 'chunk', '2026-05-11 12:00Z');

-- pipeline_lease --
REPLACE INTO pipeline_lease (rowid, pipeline_id, holder_node, expires_at, fence, nonce, acquired_at)
VALUES (1, 'r', 'a', '2026-05-11 12:00Z', 1, 'n', '2026-05-11 12:00Z');

-- pipeline_run --
UPDATE OR REPLACE pipeline_run SET rowid = 2 WHERE run_id = 'open';
DELETE FROM run;

-- audit --
UPDATE OR REPLACE audit SET rowid = 1 WHERE number = 2;
REPLACE INTO audit (rowid, number, at, decided_by, action) VALUES (1, 3, '2026-05-11 12:00Z', 'auto', 'skip');

-- snapshot --
UPDATE OR REPLACE sidecar SET rowid = 1 WHERE snapshot_id = 's2';
REPLACE INTO snapshot (rowid, snapshot_id, table_name, created_at, includes_runs, row_count, indexes, based_on,
                       manifest, revision, committed_at)
VALUES (1, 's2', 'v', '2026-05-11 12:00Z', '[]', 1, '["pk"]', 0, '', 1, '2026-05-11 12:00Z');

-- revocation_epochs --
UPDATE OR REPLACE revocation_epochs SET rowid = 1, epoch = 2 WHERE epoch = 1;
