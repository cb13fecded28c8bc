-- table_schema --
SELECT * FROM main.table_schema WHERE table_name = :table;

-- schema_log --
SELECT * FROM main.schema_history WHERE table_name = :table ORDER BY version;

-- schema_log_of_pipeline --
SELECT * FROM main.schema_history WHERE pipeline_id = :pipeline ORDER BY table_name, version;

-- add_schema_change --
INSERT INTO main.schema_history (table_name, version, pipeline_id, change_kind, before_json, after_json,
                                 decided_by, at)
VALUES (:table, :version, :pipeline, :change_kind, :before, :after, :decided_by, :now)
RETURNING *;

-- first_table_schema --
INSERT INTO main.table_schema (table_name, arrow_schema_json, primary_key, created_at, updated_at, version)
VALUES (:table, :after, :primary_key, :now, :now, :version);

-- next_table_schema --
UPDATE main.table_schema
   SET arrow_schema_json = :after, primary_key = :primary_key, updated_at = :now, version = :version
 WHERE table_name = :table;
