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

-- reopen_chunks --
-- Many ids come as one JSON object, which all databases open with the same words: {"0": [id], …}.
UPDATE main.pipeline_chunks SET status = 'pending', error_kind = NULL, error_msg = NULL
 WHERE pipeline_id = :pipeline AND status IN ('failed', 'skipped')
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed);

-- skip_chunks --
UPDATE main.pipeline_chunks SET status = 'skipped'
 WHERE pipeline_id = :pipeline AND status IN ('pending', 'failed')
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed);

-- done_chunks --
SELECT chunk_id, table_name, predicate FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND status = 'done'
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed)
 ORDER BY chunk_id;

-- supersede_chunks --
UPDATE main.pipeline_chunks AS old
   SET status = 'superseded', reason = :reason,
       superseded_by = (SELECT max(new.chunk_id) FROM main.pipeline_chunks AS new
                         WHERE new.pipeline_id = :pipeline AND new.supersedes = old.chunk_id)
 WHERE old.pipeline_id = :pipeline
   AND old.chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed);
