-- Text sorts by bytes, as it does in SQLite, whatever the database's own order is. JSON is text, byte for byte.

CREATE TABLE schema_version (id BIGINT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL);

-- The mark that every write leaves, so that a commit whose answer was lost can be settled by looking for it.
CREATE TABLE receipt (id TEXT COLLATE "C" PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now());

-- Numbers of claims grow over all pipelines. A sequence, since a row would have all pipelines wait for each other.
CREATE SEQUENCE claim_seq;

CREATE TABLE counter (name TEXT COLLATE "C" PRIMARY KEY, last BIGINT NOT NULL) WITH (fillfactor = 10);

-- Pipelines ----------------------------------------------------------------------------------------------------

CREATE TABLE pipeline_state (
  pipeline_id TEXT COLLATE "C" PRIMARY KEY,
  cursor_kind TEXT COLLATE "C" NOT NULL
    CHECK (cursor_kind IN ('monotonic', 'partitioned-monotonic', 'opaque-token', 'snapshot-id')),
  phase TEXT COLLATE "C" NOT NULL CHECK (phase IN ('planning', 'backfilling', 'streaming')),
  last_chunk BIGINT NOT NULL DEFAULT 0,
  last_claim_at TIMESTAMPTZ,
  -- How many chunks are in which state: kept in the same transactions, so that nobody counts a million rows.
  pending BIGINT NOT NULL DEFAULT 0,
  running BIGINT NOT NULL DEFAULT 0,
  done BIGINT NOT NULL DEFAULT 0,
  failed BIGINT NOT NULL DEFAULT 0,
  skipped BIGINT NOT NULL DEFAULT 0,
  superseded BIGINT NOT NULL DEFAULT 0,
  row_count BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  updated_at TIMESTAMPTZ NOT NULL
)
-- Every claim and commit updates its pipeline's row: room on the page keeps the new versions beside the old.
WITH (fillfactor = 10);

CREATE TABLE pipeline_lease (
  pipeline_id TEXT COLLATE "C" PRIMARY KEY,
  holder_node TEXT COLLATE "C" NOT NULL,
  expires_at TIMESTAMPTZ NOT NULL,
  fence BIGINT NOT NULL,
  nonce TEXT COLLATE "C" NOT NULL,
  acquired_at TIMESTAMPTZ NOT NULL
);

-- The tables `pipeline_cursor` and `pipeline_run` of the pipelines, and `run`, which shows a run to readers ---------

CREATE TABLE pipeline_cursor (
  pipeline_id TEXT COLLATE "C" NOT NULL,
  table_name TEXT COLLATE "C" NOT NULL,
  cursor_json TEXT COLLATE "C" NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (pipeline_id, table_name)
);

CREATE TABLE pipeline_run (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  pipeline_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  ended_at TIMESTAMPTZ,
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'running', 'success', 'failed', 'partial', 'skipped')),
  row_count BIGINT,
  bytes BIGINT,
  error_kind TEXT COLLATE "C",
  error_msg TEXT COLLATE "C",
  trace_id TEXT COLLATE "C",
  CHECK ((ended_at IS NULL) = (status IN ('pending', 'running')))
);
CREATE INDEX pipeline_run_of_pipeline ON pipeline_run (pipeline_id, run_id);

CREATE VIEW run AS
SELECT run_id, pipeline_id, started_at, ended_at, status, row_count, bytes AS byte_count, trace_id
  FROM pipeline_run;

-- Chunks ---------------------------------------------------------------------------------------------------------

CREATE TABLE pipeline_plan (
  pipeline_id TEXT COLLATE "C" NOT NULL,
  plan TEXT COLLATE "C" NOT NULL,
  chunks BIGINT NOT NULL,
  planned_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (pipeline_id, plan)
);

CREATE TABLE pipeline_chunks (
  pipeline_id TEXT COLLATE "C" NOT NULL,
  chunk_id BIGINT NOT NULL,
  table_name TEXT COLLATE "C" NOT NULL,
  predicate TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'running', 'done', 'failed', 'skipped', 'superseded')),
  attempts BIGINT NOT NULL DEFAULT 0,
  run_id TEXT COLLATE "C",
  holder_node TEXT COLLATE "C",
  leased_until TIMESTAMPTZ,
  nonce TEXT COLLATE "C",
  seq BIGINT,
  started_at TIMESTAMPTZ,
  claimed_at TIMESTAMPTZ,
  completed_at TIMESTAMPTZ,
  winning_attempt TEXT COLLATE "C",
  cursor_committed TEXT COLLATE "C",
  row_count BIGINT,
  bytes BIGINT,
  manifest TEXT COLLATE "C",
  error_kind TEXT COLLATE "C",
  error_msg TEXT COLLATE "C",
  supersedes BIGINT,
  superseded_by BIGINT,
  reason TEXT COLLATE "C",
  PRIMARY KEY (pipeline_id, chunk_id),
  CHECK ((winning_attempt IS NOT NULL) = (status IN ('done', 'superseded'))),
  CHECK ((holder_node IS NOT NULL AND leased_until IS NOT NULL) = (status = 'running'))
);
-- Small however many chunks are done: a claim and the cap on parallelism cost the same at any size.
CREATE INDEX pipeline_chunks_pending ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'pending';
CREATE INDEX pipeline_chunks_running ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'running';
CREATE INDEX pipeline_chunks_failed ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'failed';
CREATE INDEX pipeline_chunks_again ON pipeline_chunks (pipeline_id, supersedes) WHERE supersedes IS NOT NULL;

-- Schemas --------------------------------------------------------------------------------------------------------

-- A table's revision grows when its past changes: schema steps, rewinds, snapshots, collections.
CREATE TABLE table_state (table_name TEXT COLLATE "C" PRIMARY KEY, revision BIGINT NOT NULL DEFAULT 0);

CREATE TABLE table_schema (
  table_name TEXT COLLATE "C" PRIMARY KEY,
  arrow_schema_json TEXT COLLATE "C" NOT NULL,
  primary_key TEXT COLLATE "C",
  created_at TIMESTAMPTZ NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  version BIGINT NOT NULL
);

CREATE TABLE schema_history (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  table_name TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  pipeline_id TEXT COLLATE "C" NOT NULL,
  change_kind TEXT COLLATE "C" NOT NULL,
  before_json TEXT COLLATE "C",
  after_json TEXT COLLATE "C" NOT NULL,
  decided_by TEXT COLLATE "C" NOT NULL
    CHECK (decided_by = 'auto' OR decided_by LIKE 'operator:_%' OR decided_by LIKE 'agent:_%'),
  at TIMESTAMPTZ NOT NULL,
  UNIQUE (table_name, version)
);
CREATE INDEX schema_history_of_pipeline ON schema_history (pipeline_id, table_name, version);

-- Lineage --------------------------------------------------------------------------------------------------------

CREATE TABLE lineage (
  child_run_id TEXT COLLATE "C" NOT NULL,
  parent_run_id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL
    CHECK (kind IN ('chunk', 'rewind', 'compaction', 'model', 'parse', 'export', 'push')),
  record_id TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C",
  at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (child_run_id, parent_run_id, kind, record_id)
);
CREATE INDEX lineage_children ON lineage (parent_run_id, child_run_id, kind, record_id);

-- Snapshots ------------------------------------------------------------------------------------------------------

CREATE TABLE sidecar (
  snapshot_id TEXT COLLATE "C" NOT NULL,
  index_id TEXT COLLATE "C" NOT NULL,
  manifest_hash TEXT COLLATE "C" NOT NULL,
  bytes BIGINT NOT NULL,
  durable_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (snapshot_id, index_id)
);

CREATE TABLE snapshot (
  snapshot_id TEXT COLLATE "C" PRIMARY KEY,
  table_name TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMPTZ NOT NULL,
  includes_runs TEXT COLLATE "C" NOT NULL,
  row_count BIGINT NOT NULL,
  indexes TEXT COLLATE "C" NOT NULL,
  key_version TEXT COLLATE "C",
  based_on BIGINT NOT NULL,
  manifest TEXT COLLATE "C" NOT NULL,
  revision BIGINT NOT NULL,
  committed_at TIMESTAMPTZ NOT NULL,
  UNIQUE (table_name, revision)
);

CREATE TABLE to_delete (
  path TEXT COLLATE "C" PRIMARY KEY,
  table_name TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  doomed_at TIMESTAMPTZ NOT NULL,
  keep_until TIMESTAMPTZ NOT NULL
);
CREATE INDEX to_delete_due ON to_delete (keep_until, path);

-- Revocation -----------------------------------------------------------------------------------------------------

CREATE TABLE revocation_epochs (
  project TEXT COLLATE "C" NOT NULL,
  tenant TEXT COLLATE "C" NOT NULL,
  principal_class TEXT COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL CHECK (epoch > 0),
  updated_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (project, tenant, principal_class)
);

-- Files and selections ---------------------------------------------------------------------------------------------

CREATE TABLE scout_files (
  file_id TEXT COLLATE "C" PRIMARY KEY,
  source TEXT COLLATE "C" NOT NULL,
  path TEXT COLLATE "C" NOT NULL,
  ext TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  modified_at TIMESTAMPTZ NOT NULL,
  content_hash TEXT COLLATE "C",
  fields TEXT COLLATE "C" NOT NULL,
  first_seen TIMESTAMPTZ NOT NULL,
  last_seen TIMESTAMPTZ NOT NULL,
  gone_at TIMESTAMPTZ,
  UNIQUE (source, path)
);
CREATE INDEX scout_files_by_time ON scout_files (source, modified_at);

CREATE TABLE scout_file_tags (
  tag TEXT COLLATE "C" NOT NULL,
  file_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tag, file_id)
);
CREATE INDEX scout_file_tags_of_file ON scout_file_tags (file_id, tag);

CREATE TABLE cf_selection_specs (
  id TEXT COLLATE "C" PRIMARY KEY,
  spec_json TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE cf_selection_snapshots (
  id TEXT COLLATE "C" PRIMARY KEY,
  spec_id TEXT COLLATE "C" NOT NULL,
  snapshot_hash TEXT COLLATE "C" NOT NULL,
  logical_date TEXT COLLATE "C" NOT NULL,
  watermark_value TEXT COLLATE "C",
  created_at TIMESTAMPTZ NOT NULL,
  position BIGINT NOT NULL UNIQUE
);
CREATE INDEX cf_selection_snapshots_of_spec ON cf_selection_snapshots (spec_id, logical_date, position);

CREATE TABLE cf_selection_snapshot_files (
  snapshot_id TEXT COLLATE "C" NOT NULL,
  file_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (snapshot_id, file_id)
);
CREATE INDEX idx_snapshot_files_snapshot ON cf_selection_snapshot_files (snapshot_id);
CREATE INDEX idx_snapshot_files_file ON cf_selection_snapshot_files (file_id);

-- Push -------------------------------------------------------------------------------------------------------------

-- The lock of a route, and how many of its changes are where: nobody counts a million rows.
CREATE TABLE push_route (
  sink TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  pending BIGINT NOT NULL DEFAULT 0,
  in_flight BIGINT NOT NULL DEFAULT 0,
  rejected BIGINT NOT NULL DEFAULT 0,
  delivered BIGINT NOT NULL DEFAULT 0,
  last_position BIGINT NOT NULL DEFAULT 0,
  -- Nothing waits before the one, and no lease ends before the other: a claim need not pass by what is long done.
  first_position BIGINT NOT NULL DEFAULT 0,
  first_expiry TIMESTAMPTZ,
  PRIMARY KEY (sink, model)
)
-- Every write to a route updates its row: room on the page keeps the new versions beside the old.
WITH (fillfactor = 10);

CREATE TABLE push_batch (
  batch TEXT COLLATE "C" PRIMARY KEY,
  sink TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  fence BIGINT NOT NULL,
  leased_until TIMESTAMPTZ NOT NULL,
  job TEXT COLLATE "C",
  settled_at TIMESTAMPTZ
);
CREATE INDEX push_batch_open ON push_batch (sink, model, leased_until) WHERE settled_at IS NULL;

CREATE TABLE push_queue (
  sink TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  row_id BIGINT NOT NULL,
  change_type TEXT COLLATE "C" NOT NULL,
  snapshot_id TEXT COLLATE "C" NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'in_flight', 'rejected')),
  attempts BIGINT NOT NULL DEFAULT 0,
  message TEXT COLLATE "C",
  batch TEXT COLLATE "C",
  position BIGINT NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (sink, model, row_id, change_type, snapshot_id),
  CHECK ((batch IS NOT NULL) = (state = 'in_flight'))
);
-- One change of a row and type in a state: what waits is replaced by what is newer, never joined by it.
CREATE UNIQUE INDEX push_queue_once ON push_queue (sink, model, state, row_id, change_type);
CREATE UNIQUE INDEX push_queue_pending ON push_queue (sink, model, position) WHERE state = 'pending';
CREATE INDEX push_queue_of_batch ON push_queue (batch) WHERE batch IS NOT NULL;

CREATE TABLE push_delivered (
  sink TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  row_id BIGINT NOT NULL,
  change_type TEXT COLLATE "C" NOT NULL,
  snapshot_id TEXT COLLATE "C" NOT NULL,
  message TEXT COLLATE "C",
  delivered_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (sink, model, snapshot_id, row_id, change_type)
);

-- What the store itself refuses -------------------------------------------------------------------------------------

-- A condition that comes out as NULL would let the row pass, so triggers fire when the promise `IS NOT TRUE`.

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation'; END $$;

CREATE TRIGGER counter_grows BEFORE UPDATE ON counter FOR EACH ROW
WHEN ((NEW.name = OLD.name AND NEW.last >= OLD.last) IS NOT TRUE)
EXECUTE FUNCTION refuse('a counter gives no number twice');

CREATE TRIGGER counter_kept BEFORE DELETE OR TRUNCATE ON counter
EXECUTE FUNCTION refuse('a counter gives no number twice');

CREATE TRIGGER pipeline_lease_fence BEFORE UPDATE ON pipeline_lease FOR EACH ROW
WHEN ((NEW.pipeline_id = OLD.pipeline_id
       AND (NEW.fence = OLD.fence AND NEW.nonce = OLD.nonce AND NEW.holder_node = OLD.holder_node
            OR NEW.fence = OLD.fence + 1 AND NEW.nonce <> OLD.nonce AND NEW.acquired_at >= OLD.expires_at)
      ) IS NOT TRUE)
EXECUTE FUNCTION refuse('a new holder of a lease needs an expired one and the next fence');

CREATE TRIGGER pipeline_lease_kept BEFORE DELETE OR TRUNCATE ON pipeline_lease
EXECUTE FUNCTION refuse('leases are released, never deleted: their fences must go on growing');

CREATE TRIGGER pipeline_cursor_order BEFORE UPDATE ON pipeline_cursor FOR EACH ROW
WHEN ((NEW.pipeline_id = OLD.pipeline_id AND NEW.table_name = OLD.table_name AND NEW.seq >= OLD.seq) IS NOT TRUE)
EXECUTE FUNCTION refuse('a cursor is not overwritten by an earlier claim');

CREATE TRIGGER pipeline_cursor_kept BEFORE DELETE OR TRUNCATE ON pipeline_cursor
EXECUTE FUNCTION refuse('a cursor is set back by a later claim, never deleted');

CREATE TRIGGER pipeline_run_ended BEFORE UPDATE ON pipeline_run FOR EACH ROW
WHEN ((OLD.ended_at IS NULL AND NEW.run_id = OLD.run_id AND NEW.pipeline_id = OLD.pipeline_id) IS NOT TRUE)
EXECUTE FUNCTION refuse('a run that has ended is not changed');

CREATE TRIGGER pipeline_run_kept BEFORE DELETE OR TRUNCATE ON pipeline_run
EXECUTE FUNCTION refuse('runs are never deleted');

CREATE TRIGGER pipeline_chunks_claim BEFORE UPDATE ON pipeline_chunks FOR EACH ROW
WHEN ((CASE NEW.attempts
         WHEN OLD.attempts + 1 THEN
           NEW.status = 'running' AND NEW.nonce IS NOT NULL AND NEW.seq IS NOT NULL
           AND (OLD.status = 'pending'
                OR OLD.status = 'running' AND NEW.nonce IS DISTINCT FROM OLD.nonce
                   AND NEW.started_at >= OLD.leased_until)
         WHEN OLD.attempts THEN
           NEW.status <> 'running'
           OR OLD.status = 'running' AND NEW.holder_node = OLD.holder_node AND NEW.nonce = OLD.nonce
       END) IS NOT TRUE)
EXECUTE FUNCTION refuse('a chunk is claimed by one worker at a time, under the next attempt');

CREATE TRIGGER pipeline_chunks_won BEFORE UPDATE ON pipeline_chunks FOR EACH ROW
WHEN (OLD.winning_attempt IS NULL AND NEW.winning_attempt IS NOT NULL
      AND (OLD.status = 'running' AND NEW.status = 'done'
           AND NEW.winning_attempt = OLD.holder_node || '/attempt-' || OLD.attempts) IS NOT TRUE)
EXECUTE FUNCTION refuse('only the attempt that holds a chunk wins it');

CREATE TRIGGER pipeline_chunks_done BEFORE UPDATE ON pipeline_chunks FOR EACH ROW
WHEN (OLD.winning_attempt IS NOT NULL
      AND (OLD.status = 'done' AND NEW.status IN ('done', 'superseded')
           AND (NEW.winning_attempt, NEW.attempts, NEW.run_id, NEW.nonce, NEW.seq, NEW.started_at,
                NEW.claimed_at, NEW.completed_at, NEW.cursor_committed, NEW.row_count, NEW.bytes, NEW.manifest)
               IS NOT DISTINCT FROM
               (OLD.winning_attempt, OLD.attempts, OLD.run_id, OLD.nonce, OLD.seq, OLD.started_at,
                OLD.claimed_at, OLD.completed_at, OLD.cursor_committed, OLD.row_count, OLD.bytes, OLD.manifest)
          ) IS NOT TRUE)
EXECUTE FUNCTION refuse('a chunk that is done stays as it was done');

CREATE TRIGGER pipeline_chunks_planned BEFORE UPDATE ON pipeline_chunks FOR EACH ROW
WHEN ((NEW.pipeline_id, NEW.chunk_id, NEW.table_name, NEW.predicate)
      IS DISTINCT FROM (OLD.pipeline_id, OLD.chunk_id, OLD.table_name, OLD.predicate))
EXECUTE FUNCTION refuse('a chunk stays as it was planned');

CREATE TRIGGER pipeline_chunks_kept BEFORE DELETE OR TRUNCATE ON pipeline_chunks
EXECUTE FUNCTION refuse('chunks are superseded, never deleted');

-- The store keeps the counts of a pipeline itself, and the time of its latest claim.
CREATE FUNCTION pipeline_chunks_added() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE pipeline_state
     SET pending = pipeline_state.pending + fresh.pending,
         last_chunk = greatest(pipeline_state.last_chunk, fresh.last_chunk)
    FROM (SELECT pipeline_id, count(*) FILTER (WHERE status = 'pending') AS pending, max(chunk_id) AS last_chunk
            FROM added GROUP BY pipeline_id) AS fresh
   WHERE pipeline_state.pipeline_id = fresh.pipeline_id;
  RETURN NULL;
END $$;

-- Once a statement: a hundred thousand updates of one row in a transaction would each walk past all the others.
CREATE TRIGGER pipeline_chunks_added AFTER INSERT ON pipeline_chunks
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION pipeline_chunks_added();

CREATE FUNCTION pipeline_chunks_moved() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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
  RETURN NULL;
END $$;

CREATE TRIGGER pipeline_chunks_moved AFTER UPDATE ON pipeline_chunks
REFERENCING OLD TABLE AS before_move NEW TABLE AS after_move FOR EACH STATEMENT
EXECUTE FUNCTION pipeline_chunks_moved();

CREATE TRIGGER table_state_grows BEFORE UPDATE ON table_state FOR EACH ROW
WHEN ((NEW.table_name = OLD.table_name AND NEW.revision > OLD.revision) IS NOT TRUE)
EXECUTE FUNCTION refuse('a revision only grows');

CREATE TRIGGER table_state_kept BEFORE DELETE OR TRUNCATE ON table_state
EXECUTE FUNCTION refuse('a revision is not deleted');

CREATE FUNCTION schema_history_dense() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.version <> 1 + coalesce((SELECT max(version) FROM schema_history WHERE table_name = NEW.table_name), 0)
  THEN
    RAISE EXCEPTION USING MESSAGE = 'schema versions are 1, 2, 3 and so on, without a gap',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER schema_history_dense BEFORE INSERT ON schema_history FOR EACH ROW
EXECUTE FUNCTION schema_history_dense();

CREATE TRIGGER schema_history_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON schema_history
EXECUTE FUNCTION refuse('schema history is not changed and not deleted');

CREATE FUNCTION table_schema_forward() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.arrow_schema_json IS DISTINCT FROM (SELECT after_json FROM schema_history
                                              WHERE table_name = NEW.table_name AND version = NEW.version)
     OR NEW.version <> (SELECT max(version) FROM schema_history WHERE table_name = NEW.table_name)
     OR TG_OP = 'UPDATE' AND (NEW.table_name <> OLD.table_name OR NEW.version <> OLD.version + 1)
  THEN
    RAISE EXCEPTION USING MESSAGE = 'a schema goes on to the next version of its history only',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER table_schema_forward BEFORE INSERT OR UPDATE ON table_schema FOR EACH ROW
EXECUTE FUNCTION table_schema_forward();

CREATE TRIGGER table_schema_kept BEFORE DELETE OR TRUNCATE ON table_schema
EXECUTE FUNCTION refuse('a schema is not deleted');

CREATE TRIGGER lineage_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON lineage
EXECUTE FUNCTION refuse('lineage is append-only: no edge is changed and none deleted');

CREATE FUNCTION snapshot_whole() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Whoever changes a sidecar of this snapshot waits until the commit is seen, see sidecar_fixed().
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.snapshot_id, 0));
  IF EXISTS (SELECT 1 FROM json_array_elements_text(NEW.indexes::json) AS needed (index_id)
              WHERE NOT EXISTS (SELECT 1 FROM sidecar
                                 WHERE sidecar.snapshot_id = NEW.snapshot_id
                                   AND sidecar.index_id = needed.index_id COLLATE "C"))
  THEN
    RAISE EXCEPTION USING MESSAGE = 'a snapshot is visible only when all its sidecars are durable',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.revision <> NEW.based_on + 1
     OR NEW.revision IS DISTINCT FROM (SELECT revision FROM table_state WHERE table_name = NEW.table_name)
  THEN
    RAISE EXCEPTION USING MESSAGE = 'a snapshot is the next revision of the table it was made from',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER snapshot_whole BEFORE INSERT ON snapshot FOR EACH ROW EXECUTE FUNCTION snapshot_whole();

CREATE TRIGGER snapshot_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON snapshot
EXECUTE FUNCTION refuse('a snapshot is not changed and not deleted');

CREATE FUNCTION sidecar_fixed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  touched TEXT := coalesce(OLD.snapshot_id, NEW.snapshot_id);
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(touched, 0));
  IF EXISTS (SELECT 1 FROM snapshot WHERE snapshot_id = touched)
     OR TG_OP = 'UPDATE' AND (NEW.snapshot_id, NEW.index_id) <> (OLD.snapshot_id, OLD.index_id)
  THEN
    RAISE EXCEPTION USING MESSAGE = 'the sidecars of a committed snapshot are not changed',
      ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;

CREATE TRIGGER sidecar_fixed BEFORE INSERT OR UPDATE OR DELETE ON sidecar FOR EACH ROW
EXECUTE FUNCTION sidecar_fixed();

CREATE TRIGGER sidecar_kept BEFORE TRUNCATE ON sidecar
EXECUTE FUNCTION refuse('the sidecars of a committed snapshot are not deleted');

CREATE TRIGGER revocation_epochs_grow BEFORE UPDATE ON revocation_epochs FOR EACH ROW
WHEN ((NEW.project = OLD.project AND NEW.tenant = OLD.tenant AND NEW.principal_class = OLD.principal_class
       AND NEW.epoch > OLD.epoch) IS NOT TRUE)
EXECUTE FUNCTION refuse('a revocation epoch only grows');

CREATE TRIGGER revocation_epochs_kept BEFORE DELETE OR TRUNCATE ON revocation_epochs
EXECUTE FUNCTION refuse('a revocation epoch is not deleted');

CREATE TRIGGER cf_selection_specs_fixed BEFORE UPDATE OR DELETE OR TRUNCATE ON cf_selection_specs
EXECUTE FUNCTION refuse('a spec is not changed');

CREATE TRIGGER cf_selection_snapshots_fixed BEFORE UPDATE OR DELETE OR TRUNCATE ON cf_selection_snapshots
EXECUTE FUNCTION refuse('a selection is not changed');

CREATE TRIGGER cf_selection_snapshot_files_fixed
BEFORE UPDATE OR DELETE OR TRUNCATE ON cf_selection_snapshot_files
EXECUTE FUNCTION refuse('a selection is not changed');

CREATE TRIGGER push_batch_fence BEFORE UPDATE ON push_batch FOR EACH ROW
WHEN ((NEW.batch = OLD.batch AND OLD.settled_at IS NULL
       AND (NEW.fence = OLD.fence AND NEW.node_id = OLD.node_id OR NEW.fence = OLD.fence + 1)) IS NOT TRUE)
EXECUTE FUNCTION refuse('a new holder of a batch needs the next fence, and a settled batch is over');

-- Beside the triggers: not even the owner has the right, until a person takes it back by hand.
REVOKE UPDATE, DELETE, TRUNCATE ON lineage, schema_history, snapshot, cf_selection_snapshot_files
  FROM CURRENT_USER, PUBLIC;
-- Drawing a number needs USAGE only; setting the sequence back is what UPDATE allows.
REVOKE UPDATE ON SEQUENCE claim_seq FROM CURRENT_USER, PUBLIC;
