-- revision --
SELECT revision FROM main.table_state WHERE table_name = :table;

-- landed --
SELECT landed FROM main.table_state WHERE table_name = :table;

-- add_table --
INSERT INTO main.table_state (table_name, revision) VALUES (:table, 0)
ON CONFLICT (table_name) DO NOTHING;

-- bump_revision --
UPDATE main.table_state SET revision = revision + 1 WHERE table_name = :table RETURNING revision;
