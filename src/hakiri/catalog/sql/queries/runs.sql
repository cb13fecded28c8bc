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

-- latest_runs_of_pipeline --
SELECT * FROM main.pipeline_run
 WHERE pipeline_id = :pipeline AND (CAST(:before AS TEXT) IS NULL OR run_id < :before)
 ORDER BY run_id DESC LIMIT :limit;
