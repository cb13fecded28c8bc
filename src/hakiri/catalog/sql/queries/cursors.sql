-- cursor --
SELECT * FROM main.pipeline_cursor WHERE pipeline_id = :pipeline AND table_name = :table;

-- cursors --
SELECT * FROM main.pipeline_cursor
 WHERE pipeline_id = :pipeline AND cursor_json <> 'null'
 ORDER BY table_name;

-- write_cursor --
-- The claim with the higher number wins, and its time does not go back, whatever the clocks of the nodes do.
INSERT INTO main.pipeline_cursor AS stored (pipeline_id, table_name, cursor_json, updated_at, run_id, seq)
VALUES (:pipeline, :table, :value, :now, :run, :seq)
ON CONFLICT (pipeline_id, table_name) DO UPDATE
   SET cursor_json = excluded.cursor_json, run_id = excluded.run_id, seq = excluded.seq,
       updated_at = CASE WHEN excluded.updated_at > stored.updated_at
                         THEN excluded.updated_at ELSE stored.updated_at END
 WHERE excluded.seq >= stored.seq
RETURNING *;
