-- add_edges --
-- Many edges come as one JSON object, which all databases open with the same words: {"0": [child, parent, …], …}.
-- The condition is for SQLite, whose triggers see an edge before a conflict does; the conflict is for databases
-- in which another writer may add the same edge meanwhile. Counted, since Postgres makes a join of NOT EXISTS and
-- would read the whole table to add a single edge.
INSERT INTO main.lineage (child_run_id, parent_run_id, kind, record_id, reason, at)
SELECT edge.value ->> 0, edge.value ->> 1, edge.value ->> 2, edge.value ->> 3, edge.value ->> 4, :at
  FROM json_each(:edges) AS edge
 WHERE (SELECT count(*) FROM main.lineage AS known
         WHERE known.child_run_id = edge.value ->> 0 AND known.parent_run_id = edge.value ->> 1
           AND known.kind = edge.value ->> 2 AND known.record_id = edge.value ->> 3) = 0
ON CONFLICT (child_run_id, parent_run_id, kind, record_id) DO NOTHING;

-- parents --
SELECT * FROM main.lineage WHERE child_run_id = :run ORDER BY parent_run_id, kind, record_id;

-- children --
SELECT * FROM main.lineage WHERE parent_run_id = :run ORDER BY child_run_id, kind, record_id;
