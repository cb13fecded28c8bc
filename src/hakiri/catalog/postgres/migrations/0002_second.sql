-- What pipelines need that run by themselves: failures that wait for a decision, what was applied, the audit log,
-- budgets that all processes share, and a quick way to what has landed in a table.

-- Pipelines ----------------------------------------------------------------------------------------------------

-- Why the pipeline waits for a decision, as JSON; empty when it does not.
ALTER TABLE pipeline_state ADD COLUMN failure TEXT COLLATE "C";

-- The run that the lease was taken for; empty when it was taken apart from a run.
ALTER TABLE pipeline_lease ADD COLUMN run_id TEXT COLLATE "C";

-- Runs that have not ended are few: those of a pipeline, and those of a node.
CREATE INDEX pipeline_run_running ON pipeline_run (pipeline_id, run_id) WHERE status = 'running';
CREATE INDEX pipeline_run_open ON pipeline_run (node_id, run_id) WHERE ended_at IS NULL;

CREATE TABLE pipeline_applied (
  pipeline_id TEXT COLLATE "C" PRIMARY KEY,
  spec_json TEXT COLLATE "C" NOT NULL,
  spec_hash TEXT COLLATE "C" NOT NULL,
  applied_at TIMESTAMPTZ NOT NULL,
  retired_at TIMESTAMPTZ
);

-- Chunks ---------------------------------------------------------------------------------------------------------

-- Some chunks of one table are claimed at a time, however many of other tables wait before them.
CREATE INDEX pipeline_chunks_of_table ON pipeline_chunks (pipeline_id, table_name, chunk_id)
 WHERE status = 'pending';
CREATE INDEX pipeline_chunks_recent ON pipeline_chunks (pipeline_id, completed_at, chunk_id) WHERE status = 'done';
CREATE INDEX pipeline_chunks_landed ON pipeline_chunks (table_name, pipeline_id, chunk_id)
 WHERE winning_attempt IS NOT NULL;

-- Whoever supersedes a chunk says by which, so nobody looks for it.
DROP INDEX pipeline_chunks_again;

-- How many chunks came in the place of a superseded one, of which the last supersedes it; empty is one.
ALTER TABLE pipeline_chunks ADD COLUMN successors BIGINT CHECK (successors > 0);

-- Why the chunk reads what was read before, when that was asked for, and which runs read it, as JSON.
ALTER TABLE pipeline_chunks ADD COLUMN reread TEXT COLLATE "C";

DROP TRIGGER pipeline_chunks_planned ON pipeline_chunks;

CREATE TRIGGER pipeline_chunks_planned BEFORE UPDATE ON pipeline_chunks FOR EACH ROW
WHEN ((NEW.pipeline_id, NEW.chunk_id, NEW.table_name, NEW.predicate, NEW.reread)
      IS DISTINCT FROM (OLD.pipeline_id, OLD.chunk_id, OLD.table_name, OLD.predicate, OLD.reread))
EXECUTE FUNCTION refuse('a chunk stays as it was planned');

-- How often what landed in a table has changed: once for a chunk that is done, once more when it is superseded.
ALTER TABLE table_state ADD COLUMN landed BIGINT NOT NULL DEFAULT 0;

-- Every commit updates its table's row: room on the page keeps the new versions beside the old.
ALTER TABLE table_state SET (fillfactor = 10);

DROP TRIGGER table_state_grows ON table_state;

INSERT INTO table_state AS known (table_name, landed)
SELECT table_name, count(*) + count(*) FILTER (WHERE status = 'superseded') FROM pipeline_chunks
 WHERE winning_attempt IS NOT NULL GROUP BY table_name
ON CONFLICT (table_name) DO UPDATE SET landed = excluded.landed;

CREATE TRIGGER table_state_grows BEFORE UPDATE ON table_state FOR EACH ROW
WHEN ((NEW.table_name = OLD.table_name AND NEW.revision >= OLD.revision AND NEW.landed >= OLD.landed
       AND (NEW.revision, NEW.landed) <> (OLD.revision, OLD.landed)) IS NOT TRUE)
EXECUTE FUNCTION refuse('a revision only grows');

-- As before, and what landed in the tables with it: a second trigger would cost every claim its time.
CREATE OR REPLACE FUNCTION pipeline_chunks_moved() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE pipeline_state AS state
     SET pending = state.pending + moved.pending, running = state.running + moved.running,
         done = state.done + moved.done, failed = state.failed + moved.failed,
         skipped = state.skipped + moved.skipped, superseded = state.superseded + moved.superseded,
         row_count = state.row_count + moved.row_count, bytes = state.bytes + moved.bytes,
         last_claim_at = greatest(state.last_claim_at, moved.claimed_at)
    FROM (SELECT pipeline_id,
                 sum(CASE status WHEN 'pending' THEN sign ELSE 0 END) AS pending,
                 sum(CASE status WHEN 'running' THEN sign ELSE 0 END) AS running,
                 sum(CASE status WHEN 'done' THEN sign ELSE 0 END) AS done,
                 sum(CASE status WHEN 'failed' THEN sign ELSE 0 END) AS failed,
                 sum(CASE status WHEN 'skipped' THEN sign ELSE 0 END) AS skipped,
                 sum(CASE status WHEN 'superseded' THEN sign ELSE 0 END) AS superseded,
                 sum(CASE status WHEN 'done' THEN sign * coalesce(row_count, 0) ELSE 0 END) AS row_count,
                 sum(CASE status WHEN 'done' THEN sign * coalesce(bytes, 0) ELSE 0 END) AS bytes,
                 max(CASE WHEN status = 'running' AND sign > 0 THEN claimed_at END) AS claimed_at
            FROM (SELECT 1 AS sign, * FROM after_move UNION ALL SELECT -1, * FROM before_move) AS both_sides
           GROUP BY pipeline_id) AS moved
   WHERE state.pipeline_id = moved.pipeline_id;
  IF EXISTS (SELECT 1 FROM after_move WHERE winning_attempt IS NOT NULL) THEN
    -- In the order of their names, in which everybody locks tables.
    INSERT INTO table_state AS known (table_name, landed)
    SELECT table_name, landed
      FROM (SELECT table_name,
                   sum(sign * CASE status WHEN 'done' THEN 1 WHEN 'superseded' THEN 2 ELSE 0 END) AS landed
              FROM (SELECT 1 AS sign, table_name, status FROM after_move
                    UNION ALL SELECT -1, table_name, status FROM before_move) AS both_sides
             GROUP BY table_name) AS moved
     WHERE landed <> 0 ORDER BY table_name
    ON CONFLICT (table_name) DO UPDATE SET landed = known.landed + excluded.landed;
  END IF;
  RETURN NULL;
END $$;

-- The audit log --------------------------------------------------------------------------------------------------

CREATE TABLE audit (
  number BIGINT PRIMARY KEY,
  at TIMESTAMPTZ NOT NULL,
  decided_by TEXT COLLATE "C" NOT NULL
    CHECK (decided_by = 'auto' OR decided_by LIKE 'operator:_%' OR decided_by LIKE 'agent:_%'),
  action TEXT COLLATE "C" NOT NULL,
  pipeline_id TEXT COLLATE "C",
  table_name TEXT COLLATE "C",
  before_json TEXT COLLATE "C",
  after_json TEXT COLLATE "C",
  reason TEXT COLLATE "C"
);
CREATE INDEX audit_of_pipeline ON audit (pipeline_id, number) WHERE pipeline_id IS NOT NULL;

CREATE FUNCTION audit_dense() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM 1 + coalesce((SELECT max(number) FROM audit), 0) THEN
    RAISE EXCEPTION USING MESSAGE = 'the audit log is append-only: its numbers are 1, 2, 3 and so on',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER audit_dense BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_dense();

CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
EXECUTE FUNCTION refuse('the audit log is append-only: no entry is changed and none deleted');

-- Beside the trigger: not even the owner has the right, until a person takes it back by hand.
REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM CURRENT_USER, PUBLIC;

-- Budgets --------------------------------------------------------------------------------------------------------

CREATE TABLE budget (
  name TEXT COLLATE "C" PRIMARY KEY,
  -- How often the source may be called, as in `60/min`; empty if as often as one likes.
  rate TEXT COLLATE "C",
  -- How many calls were granted since the budget began.
  granted BIGINT NOT NULL CHECK (granted >= 0),
  -- How many it were by which moment, as JSON, oldest first. The last one tells of all.
  marks TEXT COLLATE "C" NOT NULL
    CHECK (coalesce(CAST(CAST(marks AS JSON) -> -1 ->> 1 AS BIGINT), 0) = granted)
) WITH (fillfactor = 10);

-- Whoever adds to the account dates what he adds, and nobody dates anew what is there already.
CREATE TRIGGER budget_forward BEFORE UPDATE ON budget FOR EACH ROW
WHEN ((NEW.name = OLD.name
       AND (NEW.granted > OLD.granted OR (NEW.granted = OLD.granted AND NEW.marks = OLD.marks))) IS NOT TRUE)
EXECUTE FUNCTION refuse('a budget never forgets what it has granted');

CREATE TRIGGER budget_kept BEFORE DELETE OR TRUNCATE ON budget
EXECUTE FUNCTION refuse('a budget is not deleted: it would grant everything again');
