-- A catalog of version 1 as it was left in the middle of work. It keeps all its promises.

INSERT INTO pipeline_state (pipeline_id, cursor_kind, phase, updated_at)
VALUES ('p', 'monotonic', 'backfilling', '2026-05-11T11:00:00.000000Z'),
       ('q', 'opaque-token', 'streaming', '2026-05-11T11:00:00.000000Z');

INSERT INTO pipeline_lease (pipeline_id, holder_node, expires_at, fence, nonce, acquired_at)
VALUES ('q', 'a', '2026-05-11T12:10:00.000000Z', 3, 'n3', '2026-05-11T12:00:00.000000Z');

INSERT INTO pipeline_cursor (pipeline_id, table_name, cursor_json, updated_at, run_id, seq)
VALUES ('p', 't', '{"id":  7}', '2026-05-11T11:00:00.000000Z', 'r1', 4);

INSERT INTO pipeline_run (run_id, pipeline_id, node_id, started_at, status)
VALUES ('r1', 'p', 'a', '2026-05-11T11:00:00.000000Z', 'running'),
       ('r2', 'q', 'a', '2026-05-11T12:00:00.000000Z', 'running');
INSERT INTO pipeline_run (run_id, pipeline_id, node_id, started_at, ended_at, status, row_count)
VALUES ('r0', 'p', 'a', '2026-05-11T10:00:00.000000Z', '2026-05-11T10:30:00.000000Z', 'success', 10);

INSERT INTO pipeline_plan (pipeline_id, plan, chunks, planned_at) VALUES ('p', 'first', 6, '2026-05-11T10:00:00.000000Z');

-- Of p, chunk 1 is superseded by 7, 2 and 3 are done, 4 failed, 5 is pending, 6 running. Table w has landed, and has no
-- state of its own yet.
INSERT INTO pipeline_chunks (pipeline_id, chunk_id, table_name, predicate, status)
VALUES ('p', 1, 't', '1', 'pending'), ('p', 2, 't', '2', 'pending'), ('p', 3, 'w', '3', 'pending'),
       ('p', 4, 't', '4', 'pending'), ('p', 5, 't', '5', 'pending'), ('p', 6, 't', '6', 'pending');
UPDATE pipeline_chunks
   SET status = 'running', attempts = 1, holder_node = 'a', nonce = 'n' || chunk_id, run_id = 'r1', seq = chunk_id,
       started_at = '2026-05-11T11:00:00.000000Z', claimed_at = '2026-05-11T11:00:00.000000Z',
       leased_until = '2026-05-11T11:10:00.000000Z'
 WHERE chunk_id IN (1, 2, 3, 4, 6);
UPDATE pipeline_chunks
   SET status = 'done', winning_attempt = 'a/attempt-1', holder_node = NULL, leased_until = NULL,
       completed_at = '2026-05-11T11:05:00.000000Z', cursor_committed = '"c"', row_count = 10, bytes = 100, manifest = '{}'
 WHERE chunk_id IN (1, 2, 3);
UPDATE pipeline_chunks
   SET status = 'failed', holder_node = NULL, leased_until = NULL, error_kind = 'SourceGone', error_msg = '410'
 WHERE chunk_id = 4;
INSERT INTO pipeline_chunks (pipeline_id, chunk_id, table_name, predicate, status, supersedes)
VALUES ('p', 7, 't', '1', 'pending', 1);
UPDATE pipeline_chunks SET status = 'superseded', superseded_by = 7, reason = 'rewind' WHERE chunk_id = 1;

INSERT INTO table_state (table_name, revision) VALUES ('t', 5), ('v', 1);
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 1, 'p', 'create', '"one"', 'auto', '2026-05-11T11:00:00.000000Z');
INSERT INTO table_schema (table_name, arrow_schema_json, created_at, updated_at, version)
VALUES ('t', '"one"', '2026-05-11T11:00:00.000000Z', '2026-05-11T11:00:00.000000Z', 1);
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, before_json, after_json, decided_by, at)
VALUES ('t', 2, 'p', 'add_column', '"one"', '"two"', 'operator:ada', '2026-05-11T11:00:00.000000Z');
UPDATE table_schema SET arrow_schema_json = '"two"', version = 2;

INSERT INTO lineage (child_run_id, parent_run_id, kind, record_id, at)
VALUES ('r1', 'r0', 'chunk', '', '2026-05-11T11:00:00.000000Z');

INSERT INTO sidecar (snapshot_id, index_id, manifest_hash, bytes, durable_at)
VALUES ('s1', 'pk', 'sha256:1', 1, '2026-05-11T11:00:00.000000Z');
INSERT INTO snapshot (snapshot_id, table_name, created_at, includes_runs, row_count, indexes, based_on, manifest,
                      revision, committed_at)
VALUES ('s1', 't', '2026-05-11T11:00:00.000000Z', '[]', 1, '["pk"]', 4, '{}', 5, '2026-05-11T11:00:00.000000Z');

INSERT INTO revocation_epochs (project, tenant, principal_class, epoch, updated_at)
VALUES ('shop', 'acme', 'agent', 3, '2026-05-11T11:00:00.000000Z');
