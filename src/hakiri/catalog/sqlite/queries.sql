-- Where SQLite differs from the other databases, and why.

-- next_seq --
-- One writer at a time: a row in the same transaction counts without gaps.
INSERT INTO main.counter (name, last) VALUES ('claim', 1)
ON CONFLICT (name) DO UPDATE SET last = last + 1
RETURNING last AS seq;

-- lock_pipeline --
-- The transaction holds the only write lock there is.
SELECT * FROM main.pipeline_state WHERE pipeline_id = :pipeline;

-- lock_pipelines --
SELECT pipeline_id FROM main.pipeline_state ORDER BY pipeline_id;

-- lock_table --
SELECT revision FROM main.table_state WHERE table_name = :table;

-- claim_chunk --
-- The store counts the number on, see the trigger `pipeline_chunks_claimed`.
UPDATE main.pipeline_chunks
   SET status = 'running', attempts = attempts + 1, run_id = :run, holder_node = :node, nonce = :nonce,
       started_at = :now, claimed_at = :claimed_at, leased_until = :until,
       seq = 1 + (SELECT last FROM main.counter WHERE name = 'claim')
 WHERE pipeline_id = :pipeline
   AND chunk_id = (
         SELECT min(chunk_id)
           FROM (SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                                 WHERE pipeline_id = :pipeline AND status = 'pending'
                                 ORDER BY chunk_id LIMIT 1)
                 UNION ALL
                 SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                                 WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until <= :now
                                 ORDER BY chunk_id LIMIT 1)))
   AND (:parallelism IS NULL
        OR :parallelism > (SELECT count(*) FROM main.pipeline_chunks
                            WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until > :now))
RETURNING *;

-- next_seqs --
-- The next numbers, in their order. The store counts them on when they are written, as above.
WITH RECURSIVE ahead (step) AS (SELECT 1 UNION ALL SELECT step + 1 FROM ahead WHERE step < :count)
SELECT last + step AS seq FROM main.counter, ahead WHERE name = 'claim' ORDER BY step;

-- first_open_table --
SELECT table_name
  FROM (SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND status = 'pending'
                        ORDER BY chunk_id LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT chunk_id, table_name FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until <= :now
                        ORDER BY chunk_id LIMIT 1))
 ORDER BY chunk_id LIMIT 1;

-- first_open_table_of --
-- Only tables of a list. The lowest pending chunk of each is found by itself, however many wait.
SELECT table_name
  FROM (SELECT (SELECT min(chunk_id) FROM main.pipeline_chunks
                 WHERE pipeline_id = :pipeline AND table_name = listed.value ->> 0 AND status = 'pending')
                 AS chunk_id,
               listed.value ->> 0 AS table_name
          FROM json_each(:tables) AS listed
        UNION ALL
        SELECT chunk_id, table_name FROM main.pipeline_chunks
         WHERE pipeline_id = :pipeline AND status = 'running' AND leased_until <= :now
           AND table_name IN (SELECT listed.value ->> 0 FROM json_each(:tables) AS listed))
 WHERE chunk_id IS NOT NULL
 ORDER BY chunk_id LIMIT 1;

-- open_chunks --
SELECT chunk_id
  FROM (SELECT * FROM (SELECT chunk_id FROM main.pipeline_chunks
                        WHERE pipeline_id = :pipeline AND table_name = :table AND status = 'pending'
                        ORDER BY chunk_id LIMIT :limit)
        UNION ALL
        SELECT chunk_id FROM main.pipeline_chunks
         WHERE pipeline_id = :pipeline AND table_name = :table AND status = 'running' AND leased_until <= :now)
 ORDER BY chunk_id LIMIT :limit;

-- lock_budget --
SELECT rate, granted, marks FROM main.budget WHERE name = :budget;

-- claims --
SELECT last AS claims FROM main.counter WHERE name = 'claim';

-- check_damage --
SELECT 'the file' AS place, quick_check AS found FROM pragma_quick_check WHERE quick_check <> 'ok';

-- check_sidecars --
SELECT 'snapshot `' || snapshot.snapshot_id || '`' AS place,
       'its sidecar `' || needed.value || '` was never durable' AS found
  FROM main.snapshot AS snapshot, json_each(snapshot.indexes) AS needed
 WHERE NOT EXISTS (SELECT 1 FROM main.sidecar AS sidecar
                    WHERE sidecar.snapshot_id = snapshot.snapshot_id AND sidecar.index_id = needed.value)
 ORDER BY snapshot.snapshot_id, needed.value;

-- guards --
SELECT name AS guard FROM main.sqlite_schema WHERE type = 'trigger';

-- count_claims --
UPDATE main.counter SET last = max(last, :claims) WHERE name = 'claim';
