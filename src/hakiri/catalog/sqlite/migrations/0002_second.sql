-- What pipelines need that run by themselves: failures that wait for a decision, what was applied, the audit log,
-- budgets that all processes share, and a quick way to what has landed in a table.

-- Pipelines ----------------------------------------------------------------------------------------------------

-- Why the pipeline waits for a decision, as JSON; empty when it does not.
ALTER TABLE pipeline_state ADD COLUMN failure TEXT;

-- The run that the lease was taken for; empty when it was taken apart from a run.
ALTER TABLE pipeline_lease ADD COLUMN run_id TEXT;

-- Runs that have not ended are few: those of a pipeline, and those of a node.
CREATE INDEX pipeline_run_running ON pipeline_run (pipeline_id, run_id) WHERE status = 'running';
CREATE INDEX pipeline_run_open ON pipeline_run (node_id, run_id) WHERE ended_at IS NULL;

CREATE TABLE pipeline_applied (
  pipeline_id TEXT PRIMARY KEY,
  spec_json TEXT NOT NULL,
  spec_hash TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  retired_at TEXT
) STRICT, WITHOUT ROWID;

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
ALTER TABLE pipeline_chunks ADD COLUMN successors INTEGER CHECK (successors > 0);

-- Why the chunk reads what was read before, when that was asked for, and which runs read it, as JSON.
ALTER TABLE pipeline_chunks ADD COLUMN reread TEXT;

DROP TRIGGER pipeline_chunks_planned;

CREATE TRIGGER pipeline_chunks_planned BEFORE UPDATE ON pipeline_chunks
WHEN (NEW.rowid, NEW.pipeline_id, NEW.chunk_id, NEW.table_name, NEW.predicate, NEW.reread)
     IS NOT (OLD.rowid, OLD.pipeline_id, OLD.chunk_id, OLD.table_name, OLD.predicate, OLD.reread)
BEGIN SELECT RAISE(ABORT, 'a chunk stays as it was planned'); END;

-- How often what landed in a table has changed: once for a chunk that is done, once more when it is superseded.
ALTER TABLE table_state ADD COLUMN landed INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER table_state_grows;

INSERT INTO table_state (table_name)
SELECT DISTINCT table_name FROM pipeline_chunks
 WHERE winning_attempt IS NOT NULL AND table_name NOT IN (SELECT table_name FROM table_state);

UPDATE table_state
   SET landed = (SELECT count(*) + coalesce(sum(status = 'superseded'), 0) FROM pipeline_chunks
                  WHERE pipeline_chunks.table_name = table_state.table_name AND winning_attempt IS NOT NULL);

CREATE TRIGGER table_state_grows BEFORE UPDATE ON table_state
WHEN (NEW.table_name = OLD.table_name AND NEW.revision >= OLD.revision AND NEW.landed >= OLD.landed
      AND (NEW.revision, NEW.landed) <> (OLD.revision, OLD.landed)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a revision only grows'); END;

CREATE TRIGGER pipeline_chunks_landed AFTER UPDATE OF status ON pipeline_chunks
WHEN NEW.status <> OLD.status AND NEW.status IN ('done', 'superseded')
BEGIN
  INSERT INTO table_state (table_name)
  SELECT NEW.table_name WHERE NOT EXISTS (SELECT 1 FROM table_state WHERE table_name = NEW.table_name);
  UPDATE table_state SET landed = landed + 1 WHERE table_name = NEW.table_name;
END;

-- The audit log --------------------------------------------------------------------------------------------------

CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  decided_by TEXT NOT NULL
    CHECK (decided_by = 'auto' OR decided_by GLOB 'operator:?*' OR decided_by GLOB 'agent:?*'),
  action TEXT NOT NULL,
  pipeline_id TEXT,
  table_name TEXT,
  before_json TEXT,
  after_json TEXT,
  reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_of_pipeline ON audit (pipeline_id, number) WHERE pipeline_id IS NOT NULL;

CREATE TRIGGER audit_dense BEFORE INSERT ON audit
WHEN (NEW.number = 1 + (SELECT coalesce(max(number), 0) FROM audit)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only: its numbers are 1, 2, 3 and so on'); END;

CREATE TRIGGER audit_fixed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only: no entry is changed'); END;

CREATE TRIGGER audit_kept BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only: no entry is deleted'); END;

-- Budgets --------------------------------------------------------------------------------------------------------

CREATE TABLE budget (
  name TEXT PRIMARY KEY,
  -- How often the source may be called, as in `60/min`; empty if as often as one likes.
  rate TEXT,
  -- How many calls were granted since the budget began.
  granted INTEGER NOT NULL CHECK (granted >= 0),
  -- How many it were by which moment, as JSON, oldest first. The last one tells of all.
  marks TEXT NOT NULL CHECK (coalesce(marks ->> '$[#-1][1]', 0) = granted)
) STRICT, WITHOUT ROWID;

-- Whoever adds to the account dates what he adds, and nobody dates anew what is there already.
CREATE TRIGGER budget_forward BEFORE UPDATE ON budget
WHEN (NEW.name = OLD.name
      AND (NEW.granted > OLD.granted OR (NEW.granted = OLD.granted AND NEW.marks = OLD.marks))) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a budget never forgets what it has granted'); END;

CREATE TRIGGER budget_again BEFORE INSERT ON budget
WHEN EXISTS (SELECT 1 FROM budget WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'a budget is taken from, never begun anew'); END;

CREATE TRIGGER budget_kept BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'a budget is not deleted: it would grant everything again'); END;
