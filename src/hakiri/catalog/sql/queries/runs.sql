-- run --
SELECT * FROM main.pipeline_run WHERE run_id = :run;

-- add_run --
INSERT INTO main.pipeline_run (run_id, pipeline_id, node_id, started_at, ended_at, status, row_count, bytes,
                               error_kind, error_msg, trace_id)
VALUES (:run, :pipeline, :node, :started_at, :ended_at, :status, :rows, :bytes,
        :error_kind, :error_message, :trace)
ON CONFLICT (run_id) DO NOTHING;

-- end_run --
UPDATE main.pipeline_run
   SET status = :status, ended_at = :ended_at, row_count = :rows, bytes = :bytes,
       error_kind = :error_kind, error_msg = :error_message
 WHERE run_id = :run
RETURNING *;

-- latest_runs --
SELECT * FROM main.pipeline_run
 WHERE (CAST(:before AS TEXT) IS NULL OR run_id < :before)
 ORDER BY run_id DESC LIMIT :limit;

-- abandoned_runs --
SELECT run.* FROM main.pipeline_run AS run
 WHERE run.pipeline_id = :pipeline AND run.status = 'running' AND run.started_at < :started_before
   AND NOT EXISTS (SELECT 1 FROM main.pipeline_chunks AS held
                    WHERE held.pipeline_id = :pipeline AND held.status = 'running'
                      AND held.run_id = run.run_id AND held.leased_until > :now)
   AND NOT EXISTS (SELECT 1 FROM main.pipeline_lease AS lease
                    WHERE lease.pipeline_id = :pipeline AND lease.expires_at > :now
                      AND (lease.run_id = run.run_id
                           OR lease.run_id IS NULL AND lease.holder_node = run.node_id))
 ORDER BY run.run_id;

-- latest_runs_of_pipeline --
SELECT * FROM main.pipeline_run
 WHERE pipeline_id = :pipeline AND (CAST(:before AS TEXT) IS NULL OR run_id < :before)
 ORDER BY run_id DESC LIMIT :limit;

-- open_runs_of_node --
SELECT run_id, pipeline_id FROM main.pipeline_run
 WHERE node_id = :node AND ended_at IS NULL
 ORDER BY run_id;
