-- add_pipeline --
INSERT INTO main.pipeline_state (pipeline_id, cursor_kind, phase, updated_at)
VALUES (:pipeline, :kind, 'planning', :now)
ON CONFLICT (pipeline_id) DO NOTHING;

-- declare_pipeline --
UPDATE main.pipeline_state SET cursor_kind = :kind, updated_at = :now WHERE pipeline_id = :pipeline RETURNING *;

-- move_pipeline --
UPDATE main.pipeline_state SET phase = :phase, updated_at = :now WHERE pipeline_id = :pipeline RETURNING *;

-- fail_pipeline --
UPDATE main.pipeline_state SET failure = :failure, updated_at = :now WHERE pipeline_id = :pipeline RETURNING *;

-- applied --
SELECT * FROM main.pipeline_applied WHERE pipeline_id = :pipeline;

-- all_applied --
SELECT * FROM main.pipeline_applied ORDER BY pipeline_id;

-- note_applied --
INSERT INTO main.pipeline_applied (pipeline_id, spec_json, spec_hash, applied_at)
VALUES (:pipeline, :spec_json, :spec_hash, :now)
ON CONFLICT (pipeline_id) DO UPDATE
   SET spec_json = excluded.spec_json, spec_hash = excluded.spec_hash, applied_at = excluded.applied_at,
       retired_at = NULL
RETURNING *;

-- retire --
UPDATE main.pipeline_applied SET retired_at = :now WHERE pipeline_id = :pipeline AND retired_at IS NULL;

-- pipeline --
SELECT * FROM main.pipeline_state WHERE pipeline_id = :pipeline;

-- pipelines --
SELECT * FROM main.pipeline_state ORDER BY pipeline_id;

-- lease --
SELECT * FROM main.pipeline_lease WHERE pipeline_id = :pipeline;

-- first_lease --
INSERT INTO main.pipeline_lease (pipeline_id, holder_node, expires_at, fence, nonce, acquired_at, run_id)
VALUES (:pipeline, :node, :until, 1, :nonce, :now, :run)
RETURNING *;

-- take_lease --
UPDATE main.pipeline_lease
   SET holder_node = :node, expires_at = :until, fence = fence + 1, nonce = :nonce, acquired_at = :now,
       run_id = :run
 WHERE pipeline_id = :pipeline
RETURNING *;

-- extend_lease --
UPDATE main.pipeline_lease SET expires_at = :until WHERE pipeline_id = :pipeline RETURNING *;
