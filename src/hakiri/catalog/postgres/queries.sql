-- Where Postgres differs from the other databases, and why.

-- tidy_receipts --
-- A lost answer is asked after within a minute; the server's own clock tells what is older than an hour.
DELETE FROM main.receipt WHERE at < now() - INTERVAL '1 hour';

-- next_seq --
-- A sequence, so that pipelines do not wait for each other. A claim that failed leaves a gap, which is no harm.
SELECT nextval('main.claim_seq') AS seq;

-- lock_pipeline --
-- Whoever writes to a pipeline holds its row until the end: that is the one order in which all see the writes.
SELECT * FROM main.pipeline_state WHERE pipeline_id = :pipeline FOR UPDATE;

-- lock_pipelines --
SELECT pipeline_id FROM main.pipeline_state ORDER BY pipeline_id FOR UPDATE;

-- lock_table --
SELECT revision FROM main.table_state WHERE table_name = :table FOR UPDATE;

-- claim_chunk --
-- Rows that someone locked by hand are passed over, not waited for.
UPDATE main.pipeline_chunks
   SET status = 'running', attempts = attempts + 1, run_id = :run, holder_node = :node, nonce = :nonce,
       started_at = :now, claimed_at = :claimed_at, leased_until = :until, seq = nextval('main.claim_seq')
 WHERE pipeline_id = :pipeline
   AND chunk_id = (
         SELECT min(chunk_id)
           FROM (SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                                 WHERE pipeline_id = :pipeline AND status = 'pending'
                                 ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS waiting
                 UNION ALL
                 SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                                 WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until <= :now
                                 ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS expired) AS open)
   AND (CAST(:parallelism AS BIGINT) IS NULL
        OR :parallelism > (SELECT count(*) FROM main.pipeline_chunks
                            WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until > :now))
RETURNING *;

-- next_seqs --
-- The next numbers, in their order.
SELECT nextval('main.claim_seq') AS seq FROM generate_series(1, :count) ORDER BY seq;

-- first_open_table --
SELECT table_name
  FROM (SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND status = 'pending'
                        ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS waiting
        UNION ALL
        SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until <= :now
                        ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS expired) AS open
 ORDER BY chunk_id LIMIT 1;

-- first_open_table_of --
-- Only tables of a list. The lowest pending chunk of each is found by itself, however many wait.
SELECT open.table_name
  FROM json_each(:tables) AS listed
 CROSS JOIN LATERAL (
         SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                         WHERE pipeline_id = :pipeline AND table_name = listed.value ->> 0 AND status = 'pending'
                         ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS waiting
         UNION ALL
         SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                         WHERE pipeline_id = :pipeline AND table_name = listed.value ->> 0 AND status = 'running'
                           AND leased_until <= :now
                         ORDER BY chunk_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS expired) AS open
 ORDER BY open.chunk_id LIMIT 1;

-- open_chunks --
SELECT chunk_id
  FROM (SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND table_name = :table AND status = 'pending'
                        ORDER BY chunk_id LIMIT :limit FOR UPDATE SKIP LOCKED) AS waiting
        UNION ALL
        SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND table_name = :table AND status = 'running'
                          AND leased_until <= :now
                        ORDER BY chunk_id LIMIT :limit FOR UPDATE SKIP LOCKED) AS expired) AS open
 ORDER BY chunk_id LIMIT :limit;

-- lock_budget --
SELECT rate, granted, marks FROM main.budget WHERE name = :budget FOR UPDATE;

-- claims --
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS claims FROM main.claim_seq;

-- check_damage --
-- The server checks its pages as it reads them, when it was set up to.
SELECT '' AS place, '' AS found WHERE false;

-- check_sidecars --
SELECT 'snapshot `' || snapshot.snapshot_id || '`' AS place,
       'its sidecar `' || needed.value || '` was never durable' AS found
  FROM main.snapshot AS snapshot, json_array_elements_text(CAST(snapshot.indexes AS JSON)) AS needed
 WHERE NOT EXISTS (SELECT 1 FROM main.sidecar AS sidecar
                    WHERE sidecar.snapshot_id = snapshot.snapshot_id
                      AND sidecar.index_id = needed.value COLLATE "C")
 ORDER BY snapshot.snapshot_id, needed.value;

-- guards --
-- Triggers of the tables in this schema that fire; a superuser can switch them off without dropping them.
SELECT tgname AS guard
  FROM pg_trigger JOIN pg_class ON pg_class.oid = pg_trigger.tgrelid
 WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('main.lineage'))
   AND NOT tgisinternal AND tgenabled IN ('O', 'A');

-- lock_route --
-- Whoever writes to a route holds its row until the end, so that its changes leave in one order.
SELECT * FROM main.push_route WHERE sink = :sink AND model = :model FOR UPDATE;

-- learn_queue --
-- Without statistics Postgres reads the whole queue for every batch, until it takes them by itself in a minute.
ANALYZE main.push_queue;

-- learn_chunks --
ANALYZE main.pipeline_chunks;

-- learn_files --
ANALYZE main.scout_files, main.scout_file_tags;

-- count_claims --
-- Nobody may set the sequence, so its numbers are taken.
SELECT count(nextval('main.claim_seq')) AS claims FROM generate_series(1, :claims);
