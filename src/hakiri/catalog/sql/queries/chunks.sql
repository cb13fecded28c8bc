-- plan --
SELECT chunks FROM main.pipeline_plan WHERE pipeline_id = :pipeline AND plan = :plan;

-- add_plan --
INSERT INTO main.pipeline_plan (pipeline_id, plan, chunks, planned_at) VALUES (:pipeline, :plan, :chunks, :now);

-- chunk --
SELECT * FROM main.pipeline_chunks WHERE pipeline_id = :pipeline AND chunk_id = :chunk;

-- chunks --
SELECT * FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND chunk_id > :after
 ORDER BY chunk_id LIMIT :limit;

-- chunks_with_status --
SELECT * FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND chunk_id > :after AND status = :status
 ORDER BY chunk_id LIMIT :limit;

-- renew_chunk --
UPDATE main.pipeline_chunks
   SET leased_until = CASE WHEN leased_until > :until THEN leased_until ELSE :until END
 WHERE pipeline_id = :pipeline AND chunk_id = :chunk
   AND status = 'running' AND attempts = :number AND nonce = :nonce
RETURNING leased_until;

-- finish_chunk --
UPDATE main.pipeline_chunks
   SET status = 'done', winning_attempt = :winner, completed_at = :now, cursor_committed = :cursor,
       row_count = :rows, bytes = :bytes, manifest = :manifest,
       holder_node = NULL, leased_until = NULL, error_kind = NULL, error_msg = NULL
 WHERE pipeline_id = :pipeline AND chunk_id = :chunk
   AND status = 'running' AND attempts = :number AND nonce = :nonce;

-- give_chunk_back --
UPDATE main.pipeline_chunks
   SET status = :status, holder_node = NULL, leased_until = NULL, error_kind = :error_kind,
       error_msg = :error_message
 WHERE pipeline_id = :pipeline AND chunk_id = :chunk
   AND status = 'running' AND attempts = :number AND nonce = :nonce;
