-- Times are ISO 8601 in UTC with six digits of a second, so that they sort as text. JSON is text, byte for byte.
--
-- What the store refuses, it refuses to any SQL. Three ways round a trigger are closed everywhere: a condition that
-- comes out as NULL would let the row pass, so triggers fire when the promise `IS NOT TRUE`; `OR REPLACE` deletes
-- rows without asking the delete trigger, so inserts and changes of keys are watched; and it also replaces the row
-- of the same hidden number, so guarded tables have none (WITHOUT ROWID), or the number is watched as well.

CREATE TABLE schema_version (id INTEGER PRIMARY KEY, applied_at TEXT NOT NULL) STRICT;

CREATE TABLE counter (name TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counter (name, last) VALUES ('claim', 0);

CREATE TRIGGER counter_grows BEFORE UPDATE ON counter
WHEN (NEW.name = OLD.name AND NEW.last >= OLD.last) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a counter gives no number twice'); END;

CREATE TRIGGER counter_kept BEFORE DELETE ON counter
BEGIN SELECT RAISE(ABORT, 'a counter gives no number twice'); END;

-- Pipelines ----------------------------------------------------------------------------------------------------

CREATE TABLE pipeline_state (
  pipeline_id TEXT PRIMARY KEY,
  cursor_kind TEXT NOT NULL
    CHECK (cursor_kind IN ('monotonic', 'partitioned-monotonic', 'opaque-token', 'snapshot-id')),
  phase TEXT NOT NULL CHECK (phase IN ('planning', 'backfilling', 'streaming')),
  last_chunk INTEGER NOT NULL DEFAULT 0,
  last_claim_at TEXT,
  -- How many chunks are in which state: kept in the same transactions, so that nobody counts a million rows.
  pending INTEGER NOT NULL DEFAULT 0,
  running INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  superseded INTEGER NOT NULL DEFAULT 0,
  row_count INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE pipeline_lease (
  pipeline_id TEXT PRIMARY KEY,
  holder_node TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  fence INTEGER NOT NULL,
  nonce TEXT NOT NULL,
  acquired_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER pipeline_lease_fence BEFORE UPDATE ON pipeline_lease
WHEN (NEW.pipeline_id = OLD.pipeline_id
      AND (NEW.fence = OLD.fence AND NEW.nonce = OLD.nonce AND NEW.holder_node = OLD.holder_node
           OR NEW.fence = OLD.fence + 1 AND NEW.nonce <> OLD.nonce AND NEW.acquired_at >= OLD.expires_at)
     ) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a new holder of a lease needs an expired one and the next fence'); END;

CREATE TRIGGER pipeline_lease_again BEFORE INSERT ON pipeline_lease
WHEN EXISTS (SELECT 1 FROM pipeline_lease WHERE pipeline_id = NEW.pipeline_id)
BEGIN SELECT RAISE(ABORT, 'a lease is taken over, never replaced'); END;

CREATE TRIGGER pipeline_lease_kept BEFORE DELETE ON pipeline_lease
BEGIN SELECT RAISE(ABORT, 'leases are released, never deleted: their fences must go on growing'); END;

-- The tables `pipeline_cursor` and `pipeline_run` of the pipelines, and `run`, which shows a run to readers ---------

CREATE TABLE pipeline_cursor (
  pipeline_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  cursor_json TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (pipeline_id, table_name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER pipeline_cursor_order BEFORE UPDATE ON pipeline_cursor
WHEN (NEW.pipeline_id = OLD.pipeline_id AND NEW.table_name = OLD.table_name AND NEW.seq >= OLD.seq) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a cursor is not overwritten by an earlier claim'); END;

-- Ignored, not refused: a claim that comes late to write its cursor is nothing out of order.
CREATE TRIGGER pipeline_cursor_again BEFORE INSERT ON pipeline_cursor
WHEN EXISTS (SELECT 1 FROM pipeline_cursor
              WHERE pipeline_id = NEW.pipeline_id AND table_name = NEW.table_name AND seq > NEW.seq)
BEGIN SELECT RAISE(IGNORE); END;

CREATE TRIGGER pipeline_cursor_kept BEFORE DELETE ON pipeline_cursor
BEGIN SELECT RAISE(ABORT, 'a cursor is set back by a later claim, never deleted'); END;

CREATE TABLE pipeline_run (
  run_id TEXT PRIMARY KEY,
  pipeline_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'success', 'failed', 'partial', 'skipped')),
  row_count INTEGER,
  bytes INTEGER,
  error_kind TEXT,
  error_msg TEXT,
  trace_id TEXT,
  CHECK ((ended_at IS NULL) = (status IN ('pending', 'running')))
) STRICT, WITHOUT ROWID;
CREATE INDEX pipeline_run_of_pipeline ON pipeline_run (pipeline_id, run_id);

CREATE TRIGGER pipeline_run_ended BEFORE UPDATE ON pipeline_run
WHEN (OLD.ended_at IS NULL AND NEW.run_id = OLD.run_id AND NEW.pipeline_id = OLD.pipeline_id) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a run that has ended is not changed'); END;

CREATE TRIGGER pipeline_run_again BEFORE INSERT ON pipeline_run
WHEN EXISTS (SELECT 1 FROM pipeline_run WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'a run is recorded once'); END;

CREATE TRIGGER pipeline_run_kept BEFORE DELETE ON pipeline_run
BEGIN SELECT RAISE(ABORT, 'runs are never deleted'); END;

CREATE VIEW run AS
SELECT run_id, pipeline_id, started_at, ended_at, status, row_count, bytes AS byte_count, trace_id
  FROM pipeline_run;

-- Chunks ---------------------------------------------------------------------------------------------------------

CREATE TABLE pipeline_plan (
  pipeline_id TEXT NOT NULL,
  plan TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  planned_at TEXT NOT NULL,
  PRIMARY KEY (pipeline_id, plan)
) STRICT;

CREATE TABLE pipeline_chunks (
  pipeline_id TEXT NOT NULL,
  chunk_id INTEGER NOT NULL,
  table_name TEXT NOT NULL,
  predicate TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'failed', 'skipped', 'superseded')),
  attempts INTEGER NOT NULL DEFAULT 0,
  run_id TEXT,
  holder_node TEXT,
  leased_until TEXT,
  nonce TEXT,
  seq INTEGER,
  started_at TEXT,
  claimed_at TEXT,
  completed_at TEXT,
  winning_attempt TEXT,
  cursor_committed TEXT,
  row_count INTEGER,
  bytes INTEGER,
  manifest TEXT,
  error_kind TEXT,
  error_msg TEXT,
  supersedes INTEGER,
  superseded_by INTEGER,
  reason TEXT,
  PRIMARY KEY (pipeline_id, chunk_id),
  CHECK ((winning_attempt IS NOT NULL) = (status IN ('done', 'superseded'))),
  CHECK ((holder_node IS NOT NULL AND leased_until IS NOT NULL) = (status = 'running'))
) STRICT;
-- Small however many chunks are done: a claim and the cap on parallelism cost the same at any size.
CREATE INDEX pipeline_chunks_pending ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'pending';
CREATE INDEX pipeline_chunks_running ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'running';
CREATE INDEX pipeline_chunks_failed ON pipeline_chunks (pipeline_id, chunk_id) WHERE status = 'failed';
CREATE INDEX pipeline_chunks_again ON pipeline_chunks (pipeline_id, supersedes) WHERE supersedes IS NOT NULL;

CREATE TRIGGER pipeline_chunks_claim BEFORE UPDATE ON pipeline_chunks
WHEN (CASE NEW.attempts
        WHEN OLD.attempts + 1 THEN
          NEW.status = 'running' AND NEW.nonce IS NOT NULL AND NEW.seq IS NOT NULL
          AND (OLD.status = 'pending'
               OR OLD.status = 'running' AND NEW.nonce IS NOT OLD.nonce AND NEW.started_at >= OLD.leased_until)
        WHEN OLD.attempts THEN
          NEW.status <> 'running'
          OR OLD.status = 'running' AND NEW.holder_node = OLD.holder_node AND NEW.nonce = OLD.nonce
      END) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a chunk is claimed by one worker at a time, under the next attempt'); END;

CREATE TRIGGER pipeline_chunks_won BEFORE UPDATE ON pipeline_chunks
WHEN OLD.winning_attempt IS NULL AND NEW.winning_attempt IS NOT NULL
  AND (OLD.status = 'running' AND NEW.status = 'done'
       AND NEW.winning_attempt = OLD.holder_node || '/attempt-' || OLD.attempts) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'only the attempt that holds a chunk wins it'); END;

CREATE TRIGGER pipeline_chunks_done BEFORE UPDATE ON pipeline_chunks
WHEN OLD.winning_attempt IS NOT NULL
  AND (OLD.status = 'done' AND NEW.status IN ('done', 'superseded')
       AND (NEW.winning_attempt, NEW.attempts, NEW.run_id, NEW.nonce, NEW.seq, NEW.started_at, NEW.claimed_at,
            NEW.completed_at, NEW.cursor_committed, NEW.row_count, NEW.bytes, NEW.manifest)
        IS (OLD.winning_attempt, OLD.attempts, OLD.run_id, OLD.nonce, OLD.seq, OLD.started_at, OLD.claimed_at,
            OLD.completed_at, OLD.cursor_committed, OLD.row_count, OLD.bytes, OLD.manifest)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a chunk that is done stays as it was done'); END;

CREATE TRIGGER pipeline_chunks_planned BEFORE UPDATE ON pipeline_chunks
WHEN (NEW.rowid, NEW.pipeline_id, NEW.chunk_id, NEW.table_name, NEW.predicate)
     IS NOT (OLD.rowid, OLD.pipeline_id, OLD.chunk_id, OLD.table_name, OLD.predicate)
BEGIN SELECT RAISE(ABORT, 'a chunk stays as it was planned'); END;

CREATE TRIGGER pipeline_chunks_again BEFORE INSERT ON pipeline_chunks
WHEN EXISTS (SELECT 1 FROM pipeline_chunks WHERE pipeline_id = NEW.pipeline_id AND chunk_id = NEW.chunk_id)
  OR EXISTS (SELECT 1 FROM pipeline_chunks WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'a chunk is planned once'); END;

CREATE TRIGGER pipeline_chunks_kept BEFORE DELETE ON pipeline_chunks
BEGIN SELECT RAISE(ABORT, 'chunks are superseded, never deleted'); END;

-- The store keeps the counts of a pipeline itself, and the number and time of its latest claim.
CREATE TRIGGER pipeline_chunks_added AFTER INSERT ON pipeline_chunks
BEGIN
  UPDATE pipeline_state
     SET pending = pending + (NEW.status = 'pending'), last_chunk = max(last_chunk, NEW.chunk_id)
   WHERE pipeline_id = NEW.pipeline_id;
END;

CREATE TRIGGER pipeline_chunks_moved AFTER UPDATE OF status ON pipeline_chunks WHEN NEW.status <> OLD.status
BEGIN
  UPDATE pipeline_state
     SET pending = pending + (NEW.status = 'pending') - (OLD.status = 'pending'),
         running = running + (NEW.status = 'running') - (OLD.status = 'running'),
         done = done + (NEW.status = 'done') - (OLD.status = 'done'),
         failed = failed + (NEW.status = 'failed') - (OLD.status = 'failed'),
         skipped = skipped + (NEW.status = 'skipped') - (OLD.status = 'skipped'),
         superseded = superseded + (NEW.status = 'superseded') - (OLD.status = 'superseded'),
         row_count = row_count + (NEW.status = 'done') * coalesce(NEW.row_count, 0)
                               - (OLD.status = 'done') * coalesce(OLD.row_count, 0),
         bytes = bytes + (NEW.status = 'done') * coalesce(NEW.bytes, 0)
                       - (OLD.status = 'done') * coalesce(OLD.bytes, 0)
   WHERE pipeline_id = NEW.pipeline_id;
END;

CREATE TRIGGER pipeline_chunks_claimed AFTER UPDATE OF attempts ON pipeline_chunks
WHEN NEW.attempts > OLD.attempts
BEGIN
  UPDATE pipeline_state SET last_claim_at = NEW.claimed_at WHERE pipeline_id = NEW.pipeline_id;
  UPDATE counter SET last = max(last, NEW.seq) WHERE name = 'claim';
END;

-- Schemas --------------------------------------------------------------------------------------------------------

-- A table's revision grows when its past changes: schema steps, rewinds, snapshots, collections.
CREATE TABLE table_state (table_name TEXT PRIMARY KEY, revision INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE TRIGGER table_state_grows BEFORE UPDATE ON table_state
WHEN (NEW.table_name = OLD.table_name AND NEW.revision > OLD.revision) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a revision only grows'); END;

CREATE TRIGGER table_state_again BEFORE INSERT ON table_state
WHEN EXISTS (SELECT 1 FROM table_state WHERE table_name = NEW.table_name)
BEGIN SELECT RAISE(ABORT, 'a revision only grows'); END;

CREATE TRIGGER table_state_kept BEFORE DELETE ON table_state
BEGIN SELECT RAISE(ABORT, 'a revision is not deleted'); END;

CREATE TABLE table_schema (
  table_name TEXT PRIMARY KEY,
  arrow_schema_json TEXT NOT NULL,
  primary_key TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE schema_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  table_name TEXT NOT NULL,
  version INTEGER NOT NULL,
  pipeline_id TEXT NOT NULL,
  change_kind TEXT NOT NULL,
  before_json TEXT,
  after_json TEXT NOT NULL,
  decided_by TEXT NOT NULL
    CHECK (decided_by = 'auto' OR decided_by GLOB 'operator:?*' OR decided_by GLOB 'agent:?*'),
  at TEXT NOT NULL,
  UNIQUE (table_name, version)
) STRICT;
CREATE INDEX schema_history_of_pipeline ON schema_history (pipeline_id, table_name, version);

CREATE TRIGGER schema_history_dense BEFORE INSERT ON schema_history
WHEN (NEW.version = 1 + (SELECT coalesce(max(version), 0) FROM schema_history WHERE table_name = NEW.table_name)
      AND NOT EXISTS (SELECT 1 FROM schema_history WHERE id = NEW.id)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'schema versions are 1, 2, 3 and so on, without a gap'); END;

CREATE TRIGGER schema_history_fixed BEFORE UPDATE ON schema_history
BEGIN SELECT RAISE(ABORT, 'schema history is not changed'); END;

CREATE TRIGGER schema_history_kept BEFORE DELETE ON schema_history
BEGIN SELECT RAISE(ABORT, 'schema history is not deleted'); END;

CREATE TRIGGER table_schema_forward BEFORE UPDATE ON table_schema
WHEN (NEW.table_name = OLD.table_name AND NEW.version = OLD.version + 1
      AND EXISTS (SELECT 1 FROM schema_history
                   WHERE table_name = NEW.table_name AND version = NEW.version
                     AND after_json = NEW.arrow_schema_json)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a schema goes on to the next version of its history only'); END;

CREATE TRIGGER table_schema_first BEFORE INSERT ON table_schema
WHEN (NEW.version = (SELECT max(version) FROM schema_history WHERE table_name = NEW.table_name)
      AND NEW.arrow_schema_json = (SELECT after_json FROM schema_history
                                    WHERE table_name = NEW.table_name AND version = NEW.version)
      AND NOT EXISTS (SELECT 1 FROM table_schema WHERE table_name = NEW.table_name)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a schema is the last of its history'); END;

CREATE TRIGGER table_schema_kept BEFORE DELETE ON table_schema
BEGIN SELECT RAISE(ABORT, 'a schema is not deleted'); END;

-- Lineage --------------------------------------------------------------------------------------------------------

CREATE TABLE lineage (
  child_run_id TEXT NOT NULL,
  parent_run_id TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind IN ('chunk', 'rewind', 'compaction', 'model', 'parse', 'export', 'push')),
  record_id TEXT NOT NULL,
  reason TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (child_run_id, parent_run_id, kind, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_children ON lineage (parent_run_id, child_run_id, kind, record_id);

CREATE TRIGGER lineage_fixed BEFORE UPDATE ON lineage
BEGIN SELECT RAISE(ABORT, 'lineage is append-only: no edge is changed'); END;

CREATE TRIGGER lineage_kept BEFORE DELETE ON lineage
BEGIN SELECT RAISE(ABORT, 'lineage is append-only: no edge is deleted'); END;

CREATE TRIGGER lineage_again BEFORE INSERT ON lineage
WHEN EXISTS (SELECT 1 FROM lineage
              WHERE child_run_id = NEW.child_run_id AND parent_run_id = NEW.parent_run_id
                AND kind = NEW.kind AND record_id = NEW.record_id)
BEGIN SELECT RAISE(ABORT, 'lineage is append-only: no edge is replaced'); END;

-- Snapshots ------------------------------------------------------------------------------------------------------

CREATE TABLE sidecar (
  snapshot_id TEXT NOT NULL,
  index_id TEXT NOT NULL,
  manifest_hash TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  durable_at TEXT NOT NULL,
  PRIMARY KEY (snapshot_id, index_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
  snapshot_id TEXT PRIMARY KEY,
  table_name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  includes_runs TEXT NOT NULL,
  row_count INTEGER NOT NULL,
  indexes TEXT NOT NULL,
  key_version TEXT,
  based_on INTEGER NOT NULL,
  manifest TEXT NOT NULL,
  revision INTEGER NOT NULL,
  committed_at TEXT NOT NULL,
  UNIQUE (table_name, revision)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER snapshot_whole BEFORE INSERT ON snapshot
WHEN EXISTS (SELECT 1 FROM json_each(NEW.indexes) AS needed
              WHERE NOT EXISTS (SELECT 1 FROM sidecar
                                 WHERE snapshot_id = NEW.snapshot_id AND index_id = needed.value))
BEGIN SELECT RAISE(ABORT, 'a snapshot is visible only when all its sidecars are durable'); END;

CREATE TRIGGER snapshot_fresh BEFORE INSERT ON snapshot
WHEN (NEW.revision = NEW.based_on + 1
      AND NEW.revision = (SELECT revision FROM table_state WHERE table_name = NEW.table_name)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a snapshot is the next revision of the table it was made from'); END;

CREATE TRIGGER snapshot_again BEFORE INSERT ON snapshot
WHEN EXISTS (SELECT 1 FROM snapshot WHERE snapshot_id = NEW.snapshot_id
                                       OR table_name = NEW.table_name AND revision = NEW.revision)
BEGIN SELECT RAISE(ABORT, 'a snapshot is committed once'); END;

CREATE TRIGGER snapshot_fixed BEFORE UPDATE ON snapshot
BEGIN SELECT RAISE(ABORT, 'a snapshot is not changed'); END;

CREATE TRIGGER snapshot_kept BEFORE DELETE ON snapshot
BEGIN SELECT RAISE(ABORT, 'a snapshot is not deleted'); END;

CREATE TRIGGER sidecar_fixed BEFORE UPDATE ON sidecar
WHEN (NEW.snapshot_id = OLD.snapshot_id AND NEW.index_id = OLD.index_id
      AND NOT EXISTS (SELECT 1 FROM snapshot WHERE snapshot_id = OLD.snapshot_id)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a sidecar of a committed snapshot is not changed'); END;

CREATE TRIGGER sidecar_again BEFORE INSERT ON sidecar
WHEN EXISTS (SELECT 1 FROM snapshot WHERE snapshot_id = NEW.snapshot_id)
BEGIN SELECT RAISE(ABORT, 'a committed snapshot gets no more sidecars'); END;

CREATE TRIGGER sidecar_kept BEFORE DELETE ON sidecar
WHEN EXISTS (SELECT 1 FROM snapshot WHERE snapshot_id = OLD.snapshot_id)
BEGIN SELECT RAISE(ABORT, 'a sidecar of a committed snapshot is not deleted'); END;

CREATE TABLE to_delete (
  path TEXT PRIMARY KEY,
  table_name TEXT NOT NULL,
  reason TEXT NOT NULL,
  doomed_at TEXT NOT NULL,
  keep_until TEXT NOT NULL
) STRICT;
CREATE INDEX to_delete_due ON to_delete (keep_until, path);

-- Revocation -----------------------------------------------------------------------------------------------------

CREATE TABLE revocation_epochs (
  project TEXT NOT NULL,
  tenant TEXT NOT NULL,
  principal_class TEXT NOT NULL,
  epoch INTEGER NOT NULL CHECK (epoch > 0),
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, tenant, principal_class)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER revocation_epochs_grow BEFORE UPDATE ON revocation_epochs
WHEN (NEW.project = OLD.project AND NEW.tenant = OLD.tenant AND NEW.principal_class = OLD.principal_class
      AND NEW.epoch > OLD.epoch) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a revocation epoch only grows'); END;

CREATE TRIGGER revocation_epochs_again BEFORE INSERT ON revocation_epochs
WHEN EXISTS (SELECT 1 FROM revocation_epochs
              WHERE project = NEW.project AND tenant = NEW.tenant
                AND principal_class = NEW.principal_class)
BEGIN SELECT RAISE(ABORT, 'a revocation epoch only grows'); END;

CREATE TRIGGER revocation_epochs_kept BEFORE DELETE ON revocation_epochs
BEGIN SELECT RAISE(ABORT, 'a revocation epoch is not deleted'); END;

-- Files and selections ---------------------------------------------------------------------------------------------

CREATE TABLE scout_files (
  file_id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  path TEXT NOT NULL,
  ext TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_at TEXT NOT NULL,
  content_hash TEXT,
  fields TEXT NOT NULL,
  first_seen TEXT NOT NULL,
  last_seen TEXT NOT NULL,
  gone_at TEXT,
  UNIQUE (source, path)
) STRICT;
CREATE INDEX scout_files_by_time ON scout_files (source, modified_at);

CREATE TABLE scout_file_tags (
  tag TEXT NOT NULL,
  file_id TEXT NOT NULL,
  PRIMARY KEY (tag, file_id)
) STRICT;
CREATE INDEX scout_file_tags_of_file ON scout_file_tags (file_id, tag);

CREATE TABLE cf_selection_specs (
  id TEXT PRIMARY KEY,
  spec_json TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cf_selection_snapshots (
  id TEXT PRIMARY KEY,
  spec_id TEXT NOT NULL,
  snapshot_hash TEXT NOT NULL,
  logical_date TEXT NOT NULL,
  watermark_value TEXT,
  created_at TEXT NOT NULL,
  position INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE INDEX cf_selection_snapshots_of_spec ON cf_selection_snapshots (spec_id, logical_date, position);

CREATE TABLE cf_selection_snapshot_files (
  snapshot_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  PRIMARY KEY (snapshot_id, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_snapshot_files_snapshot ON cf_selection_snapshot_files (snapshot_id);
CREATE INDEX idx_snapshot_files_file ON cf_selection_snapshot_files (file_id);

CREATE TRIGGER cf_selection_specs_fixed BEFORE UPDATE ON cf_selection_specs
BEGIN SELECT RAISE(ABORT, 'a spec is not changed'); END;

CREATE TRIGGER cf_selection_specs_kept BEFORE DELETE ON cf_selection_specs
BEGIN SELECT RAISE(ABORT, 'a spec is not deleted'); END;

CREATE TRIGGER cf_selection_specs_again BEFORE INSERT ON cf_selection_specs
WHEN EXISTS (SELECT 1 FROM cf_selection_specs WHERE id = NEW.id AND spec_json <> NEW.spec_json)
BEGIN SELECT RAISE(ABORT, 'a spec is not changed'); END;

CREATE TRIGGER cf_selection_snapshots_fixed BEFORE UPDATE ON cf_selection_snapshots
BEGIN SELECT RAISE(ABORT, 'a selection is not changed'); END;

CREATE TRIGGER cf_selection_snapshots_kept BEFORE DELETE ON cf_selection_snapshots
BEGIN SELECT RAISE(ABORT, 'a selection is not deleted'); END;

CREATE TRIGGER cf_selection_snapshots_again BEFORE INSERT ON cf_selection_snapshots
WHEN EXISTS (SELECT 1 FROM cf_selection_snapshots WHERE id = NEW.id OR position = NEW.position)
BEGIN SELECT RAISE(ABORT, 'a selection is saved once'); END;

CREATE TRIGGER cf_selection_snapshot_files_fixed BEFORE UPDATE ON cf_selection_snapshot_files
BEGIN SELECT RAISE(ABORT, 'a selection is not changed'); END;

CREATE TRIGGER cf_selection_snapshot_files_kept BEFORE DELETE ON cf_selection_snapshot_files
BEGIN SELECT RAISE(ABORT, 'a selection is not changed'); END;

-- Push -------------------------------------------------------------------------------------------------------------

-- The lock of a route, and how many of its changes are where: nobody counts a million rows.
CREATE TABLE push_route (
  sink TEXT NOT NULL,
  model TEXT NOT NULL,
  pending INTEGER NOT NULL DEFAULT 0,
  in_flight INTEGER NOT NULL DEFAULT 0,
  rejected INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  last_position INTEGER NOT NULL DEFAULT 0,
  -- Nothing waits before the one, and no lease ends before the other: a claim need not pass by what is long done.
  first_position INTEGER NOT NULL DEFAULT 0,
  first_expiry TEXT,
  PRIMARY KEY (sink, model)
) STRICT;

CREATE TABLE push_batch (
  batch TEXT PRIMARY KEY,
  sink TEXT NOT NULL,
  model TEXT NOT NULL,
  node_id TEXT NOT NULL,
  fence INTEGER NOT NULL,
  leased_until TEXT NOT NULL,
  job TEXT,
  settled_at TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX push_batch_open ON push_batch (sink, model, leased_until) WHERE settled_at IS NULL;

CREATE TRIGGER push_batch_fence BEFORE UPDATE ON push_batch
WHEN (NEW.batch = OLD.batch AND OLD.settled_at IS NULL
      AND (NEW.fence = OLD.fence AND NEW.node_id = OLD.node_id OR NEW.fence = OLD.fence + 1)) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'a new holder of a batch needs the next fence, and a settled batch is over'); END;

CREATE TRIGGER push_batch_again BEFORE INSERT ON push_batch
WHEN EXISTS (SELECT 1 FROM push_batch WHERE batch = NEW.batch)
BEGIN SELECT RAISE(ABORT, 'a batch is taken over, never replaced'); END;

CREATE TABLE push_queue (
  sink TEXT NOT NULL,
  model TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'in_flight', 'rejected')),
  attempts INTEGER NOT NULL DEFAULT 0,
  message TEXT,
  batch TEXT,
  position INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (sink, model, row_id, change_type, snapshot_id),
  CHECK ((batch IS NOT NULL) = (state = 'in_flight'))
) STRICT;
-- One change of a row and type in a state: what waits is replaced by what is newer, never joined by it.
CREATE UNIQUE INDEX push_queue_once ON push_queue (sink, model, state, row_id, change_type);
CREATE UNIQUE INDEX push_queue_pending ON push_queue (sink, model, position) WHERE state = 'pending';
CREATE INDEX push_queue_of_batch ON push_queue (batch) WHERE batch IS NOT NULL;

CREATE TABLE push_delivered (
  sink TEXT NOT NULL,
  model TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  change_type TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  message TEXT,
  delivered_at TEXT NOT NULL,
  PRIMARY KEY (sink, model, snapshot_id, row_id, change_type)
) STRICT;
