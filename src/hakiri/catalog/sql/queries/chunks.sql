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

-- recent_chunks --
SELECT * FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND status = 'done'
 ORDER BY completed_at DESC, chunk_id DESC LIMIT :limit;

-- landed_chunks --
SELECT * FROM main.pipeline_chunks
 WHERE table_name = :table AND winning_attempt IS NOT NULL AND (pipeline_id, chunk_id) > (:pipeline, :chunk)
 ORDER BY pipeline_id, chunk_id LIMIT :limit;

-- worked_on --
SELECT count(*) AS chunks FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until > :now;

-- claim_chunks --
-- Many chunks come as one JSON object, here and below: {"0": [chunk, …], …}. The limit tells the databases that they
-- are few, so that they look each of them up, whatever they know of the table.
UPDATE main.pipeline_chunks
   SET status = 'running', attempts = attempts + 1, run_id = :run, holder_node = :node,
       nonce = open.value ->> 1, seq = CAST(open.value ->> 2 AS BIGINT),
       started_at = :now, claimed_at = :claimed_at, leased_until = :until
  FROM (SELECT listed.value FROM json_each(:chunks) AS listed LIMIT :count) AS open
 WHERE pipeline_id = :pipeline AND chunk_id = CAST(open.value ->> 0 AS BIGINT)
RETURNING pipeline_id, chunk_id, table_name, predicate, run_id, holder_node, attempts, nonce, seq, claimed_at,
          leased_until, reread;

-- renew_chunks --
UPDATE main.pipeline_chunks
   SET leased_until = CASE WHEN leased_until > :until THEN leased_until ELSE :until END
  FROM (SELECT listed.value FROM json_each(:chunks) AS listed LIMIT :count) AS held
 WHERE pipeline_id = :pipeline AND chunk_id = CAST(held.value ->> 0 AS BIGINT)
   AND status = 'running' AND attempts = CAST(held.value ->> 1 AS BIGINT) AND nonce = held.value ->> 2
RETURNING pipeline_id, chunk_id, table_name, predicate, run_id, holder_node, attempts, nonce, seq, claimed_at,
          leased_until, reread;

-- finish_chunks --
UPDATE main.pipeline_chunks
   SET status = 'done', winning_attempt = won.value ->> 3, completed_at = :now,
       cursor_committed = won.value ->> 4, row_count = CAST(won.value ->> 5 AS BIGINT),
       bytes = CAST(won.value ->> 6 AS BIGINT), manifest = won.value ->> 7,
       holder_node = NULL, leased_until = NULL, error_kind = NULL, error_msg = NULL
  FROM (SELECT listed.value FROM json_each(:chunks) AS listed LIMIT :count) AS won
 WHERE pipeline_id = :pipeline AND chunk_id = CAST(won.value ->> 0 AS BIGINT)
   AND status = 'running' AND attempts = CAST(won.value ->> 1 AS BIGINT) AND nonce = won.value ->> 2
RETURNING nonce;

-- give_chunk_back --
UPDATE main.pipeline_chunks
   SET status = :status, holder_node = NULL, leased_until = NULL, error_kind = :error_kind,
       error_msg = :error_message
 WHERE pipeline_id = :pipeline AND chunk_id = :chunk
   AND status = 'running' AND attempts = :number AND nonce = :nonce;

-- give_back_of_node --
UPDATE main.pipeline_chunks SET status = 'pending', holder_node = NULL, leased_until = NULL
 WHERE pipeline_id = :pipeline AND status = 'running' AND holder_node = :node;

-- reopen_chunks --
UPDATE main.pipeline_chunks SET status = 'pending', error_kind = NULL, error_msg = NULL
 WHERE pipeline_id = :pipeline AND status IN ('failed', 'skipped')
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed);

-- skip_chunks --
UPDATE main.pipeline_chunks SET status = 'skipped'
 WHERE pipeline_id = :pipeline AND status IN ('pending', 'failed')
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed);

-- reopen_failed_chunks --
UPDATE main.pipeline_chunks SET status = 'pending', error_kind = NULL, error_msg = NULL
 WHERE pipeline_id = :pipeline AND status = 'failed';

-- skip_failed_chunks --
UPDATE main.pipeline_chunks SET status = 'skipped' WHERE pipeline_id = :pipeline AND status = 'failed';

-- done_chunks --
SELECT chunk_id, table_name, predicate, run_id FROM main.pipeline_chunks
 WHERE pipeline_id = :pipeline AND status = 'done'
   AND chunk_id IN (SELECT CAST(listed.value ->> 0 AS BIGINT) FROM json_each(:chunks) AS listed)
 ORDER BY chunk_id;

-- supersede_chunks --
UPDATE main.pipeline_chunks
   SET status = 'superseded', reason = :reason, superseded_by = CAST(old.value ->> 1 AS BIGINT),
       successors = :successors
  FROM (SELECT listed.value FROM json_each(:chunks) AS listed LIMIT :count) AS old
 WHERE pipeline_id = :pipeline AND chunk_id = CAST(old.value ->> 0 AS BIGINT);

-- learn_chunks --
-- For databases that plan by statistics: right after many chunks came, theirs are of before.
SELECT 1;
