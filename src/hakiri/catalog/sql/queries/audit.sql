-- add_entry --
-- Whoever adds one holds the counter of the log until the transaction ends, so that the next number is the last one.
INSERT INTO main.audit (number, at, decided_by, action, pipeline_id, table_name, before_json, after_json, reason)
VALUES ((SELECT 1 + coalesce(max(number), 0) FROM main.audit),
        :now, :by, :action, :pipeline, :table, :before, :after, :reason)
RETURNING *;

-- entries --
SELECT * FROM main.audit WHERE number < :before ORDER BY number DESC LIMIT :limit;

-- entries_of_pipeline --
SELECT * FROM main.audit WHERE pipeline_id = :pipeline AND number < :before ORDER BY number DESC LIMIT :limit;
