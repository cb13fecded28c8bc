-- first_use --
-- What a catalog has that was ever used, whatever for.
SELECT CASE WHEN EXISTS (SELECT 1 FROM main.pipeline_state) THEN 'pipelines'
            WHEN EXISTS (SELECT 1 FROM main.pipeline_run) THEN 'runs'
            WHEN EXISTS (SELECT 1 FROM main.table_state) THEN 'tables'
            WHEN EXISTS (SELECT 1 FROM main.lineage) THEN 'lineage'
            WHEN EXISTS (SELECT 1 FROM main.audit) THEN 'an audit log'
       END AS what;

-- set_landed --
UPDATE main.table_state SET landed = :landed WHERE table_name = :table;
