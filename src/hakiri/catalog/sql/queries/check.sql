-- Every look gives the places where a promise is broken and what was found there; none is the good answer.

-- check_counts --
SELECT 'pipeline `' || state.pipeline_id || '`' AS place,
       'the counts of its chunks are wrong' AS found
  FROM main.pipeline_state AS state
  LEFT JOIN (SELECT pipeline_id, max(chunk_id) AS last_chunk,
                    sum(CASE status WHEN 'pending' THEN 1 ELSE 0 END) AS pending,
                    sum(CASE status WHEN 'running' THEN 1 ELSE 0 END) AS running,
                    sum(CASE status WHEN 'done' THEN 1 ELSE 0 END) AS done,
                    sum(CASE status WHEN 'failed' THEN 1 ELSE 0 END) AS failed,
                    sum(CASE status WHEN 'skipped' THEN 1 ELSE 0 END) AS skipped,
                    sum(CASE status WHEN 'superseded' THEN 1 ELSE 0 END) AS superseded,
                    sum(CASE status WHEN 'done' THEN row_count ELSE 0 END) AS row_count,
                    sum(CASE status WHEN 'done' THEN bytes ELSE 0 END) AS bytes
               FROM main.pipeline_chunks GROUP BY pipeline_id) AS actual
    ON actual.pipeline_id = state.pipeline_id
 WHERE state.last_chunk < coalesce(actual.last_chunk, 0) OR state.pending <> coalesce(actual.pending, 0)
    OR state.running <> coalesce(actual.running, 0) OR state.done <> coalesce(actual.done, 0)
    OR state.failed <> coalesce(actual.failed, 0) OR state.skipped <> coalesce(actual.skipped, 0)
    OR state.superseded <> coalesce(actual.superseded, 0)
    OR state.row_count <> coalesce(actual.row_count, 0) OR state.bytes <> coalesce(actual.bytes, 0)
 ORDER BY state.pipeline_id;

-- check_unknown_pipelines --
SELECT DISTINCT 'pipeline `' || pipeline_id || '`' AS place, 'it has chunks, and no state' AS found
  FROM main.pipeline_chunks
 WHERE pipeline_id NOT IN (SELECT pipeline_id FROM main.pipeline_state);

-- check_cursors --
SELECT 'the cursor of `' || pipeline_id || '`, table `' || table_name || '`' AS place,
       'it came with claim ' || seq || ', and no claim has that number yet' AS found
  FROM main.pipeline_cursor
 WHERE seq > :claims
 ORDER BY pipeline_id, table_name;

-- check_runs --
SELECT 'run `' || run_id || '`' AS place, 'it is ' || status || ', which its end does not fit' AS found
  FROM main.pipeline_run
 WHERE (ended_at IS NULL) <> (status IN ('pending', 'running'))
 ORDER BY run_id;

-- check_schema_versions --
SELECT 'table `' || table_name || '`' AS place,
       'it has ' || count(*) || ' schema versions, numbered up to ' || max(version) AS found
  FROM main.schema_history
 GROUP BY table_name
HAVING min(version) <> 1 OR max(version) <> count(*) OR count(*) <> count(DISTINCT version)
 ORDER BY table_name;

-- check_current_schemas --
SELECT 'table `' || newest.table_name || '`' AS place,
       'its schema is not that of its latest version, ' || newest.version AS found
  FROM (SELECT table_name, max(version) AS version FROM main.schema_history GROUP BY table_name) AS newest
  JOIN main.schema_history AS step ON step.table_name = newest.table_name AND step.version = newest.version
  LEFT JOIN main.table_schema AS now_known ON now_known.table_name = newest.table_name
 WHERE now_known.version IS NULL OR now_known.version <> step.version
    OR now_known.arrow_schema_json <> step.after_json
 ORDER BY newest.table_name;

-- check_schema_steps --
SELECT 'table `' || step.table_name || '`' AS place,
       'version ' || step.version || ' does not begin where version ' || earlier.version || ' ended' AS found
  FROM main.schema_history AS step
  JOIN main.schema_history AS earlier
    ON earlier.table_name = step.table_name AND earlier.version = step.version - 1
 WHERE step.before_json IS NULL OR step.before_json <> earlier.after_json
 ORDER BY step.table_name, step.version;

-- check_claims --
SELECT 'chunk ' || chunk_id || ' of `' || pipeline_id || '`' AS place,
       CASE WHEN status = 'running' THEN 'it is being worked on, and nobody holds it'
            WHEN attempts = 0 THEN 'it is ' || status || ', and was never claimed'
            ELSE 'it is ' || status || ', and no attempt has won' END AS found
  FROM main.pipeline_chunks
 WHERE status = 'running' AND (holder_node IS NULL OR leased_until IS NULL OR attempts = 0)
    OR status IN ('done', 'superseded') AND (winning_attempt IS NULL OR attempts = 0)
 ORDER BY pipeline_id, chunk_id;

-- check_claim_numbers --
SELECT 'claim ' || seq AS place, count(*) || ' chunks have its number' AS found
  FROM main.pipeline_chunks WHERE seq IS NOT NULL
 GROUP BY seq HAVING count(*) > 1
 ORDER BY seq;

-- check_superseded --
-- Of the chunks that one supersedes, it knows the first.
SELECT 'chunk ' || old.chunk_id || ' of `' || old.pipeline_id || '`' AS place,
       'it is superseded by a chunk that does not know of it' AS found
  FROM main.pipeline_chunks AS old
  LEFT JOIN (SELECT pipeline_id, superseded_by, min(chunk_id) AS first_chunk
               FROM main.pipeline_chunks WHERE status = 'superseded' GROUP BY pipeline_id, superseded_by) AS alike
    ON alike.pipeline_id = old.pipeline_id AND alike.superseded_by = old.superseded_by
  LEFT JOIN main.pipeline_chunks AS new
    ON new.pipeline_id = old.pipeline_id AND new.chunk_id = old.superseded_by
       AND new.supersedes = alike.first_chunk
 WHERE old.status = 'superseded' AND new.chunk_id IS NULL
 ORDER BY old.pipeline_id, old.chunk_id;

-- check_landed --
SELECT 'table `' || landed.table_name || '`' AS place,
       'the version of what landed in it is not ' || landed.version AS found
  FROM (SELECT table_name, sum(CASE status WHEN 'superseded' THEN 2 ELSE 1 END) AS version
          FROM main.pipeline_chunks WHERE winning_attempt IS NOT NULL GROUP BY table_name) AS landed
  LEFT JOIN main.table_state AS state ON state.table_name = landed.table_name
 WHERE state.landed IS NULL OR state.landed <> landed.version
 ORDER BY landed.table_name;

-- check_audit --
SELECT 'the audit log' AS place,
       'it has ' || entries || ' entries, numbered up to ' || highest || ', and ' || written || ' were written'
         AS found
  FROM (SELECT count(*) AS entries, coalesce(max(number), 0) AS highest,
               coalesce((SELECT last FROM main.counter WHERE name = 'audit'), 0) AS written
          FROM main.audit) AS counted
 WHERE entries <> highest OR highest < written;

-- check_revisions --
SELECT 'table `' || snapshot.table_name || '`' AS place,
       'snapshot `' || snapshot.snapshot_id || '` has a revision that the table has not reached' AS found
  FROM main.snapshot AS snapshot
  LEFT JOIN main.table_state AS state ON state.table_name = snapshot.table_name
 WHERE state.revision IS NULL OR snapshot.revision > state.revision
 ORDER BY snapshot.table_name, snapshot.snapshot_id;

-- check_epochs --
SELECT 'the epoch of `' || project || '`, `' || tenant || '`, `' || principal_class || '`' AS place,
       'it is ' || epoch || ', and epochs begin at 1' AS found
  FROM main.revocation_epochs WHERE epoch < 1
 ORDER BY project, tenant, principal_class;
