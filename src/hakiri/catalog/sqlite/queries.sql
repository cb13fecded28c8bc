-- Where SQLite differs from the other databases, and why.

-- next_seq --
-- One writer at a time: a row in the same transaction counts without gaps.
INSERT INTO main.counter (name, last) VALUES ('claim', 1)
ON CONFLICT (name) DO UPDATE SET last = last + 1
RETURNING last AS seq;

-- lock_pipeline --
-- The transaction holds the only write lock there is.
SELECT * FROM main.pipeline_state WHERE pipeline_id = :pipeline;

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
