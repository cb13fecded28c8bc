-- route --
SELECT * FROM main.push_route WHERE sink = :sink AND model = :model;

-- lock_route --
-- Where there is but one writer, its transaction is the lock.
SELECT * FROM main.push_route WHERE sink = :sink AND model = :model;

-- add_route --
INSERT INTO main.push_route (sink, model) VALUES (:sink, :model)
ON CONFLICT (sink, model) DO NOTHING;

-- save_route --
UPDATE main.push_route
   SET pending = :pending, in_flight = :in_flight, rejected = :rejected, delivered = :delivered,
       last_position = :last_position, first_position = :first_position, first_expiry = :first_expiry
 WHERE sink = :sink AND model = :model;

-- queued_of_rows --
-- CROSS JOIN, here and below: SQLite then begins with the list, and looks up each of it.
SELECT queued.row_id, queued.change_type, queued.snapshot_id, queued.state, queued.attempts, queued.message,
       queued.position
  FROM json_each(:rows) AS listed CROSS JOIN main.push_queue AS queued
 WHERE queued.sink = :sink AND queued.model = :model AND queued.row_id = CAST(listed.value ->> 0 AS BIGINT);

-- delivered_of_rows --
SELECT delivered.row_id, delivered.change_type
  FROM json_each(:rows) AS listed CROSS JOIN main.push_delivered AS delivered
 WHERE delivered.sink = :sink AND delivered.model = :model AND delivered.snapshot_id = :snapshot
   AND delivered.row_id = CAST(listed.value ->> 0 AS BIGINT);

-- was_delivered --
SELECT delivered_at FROM main.push_delivered
 WHERE sink = :sink AND model = :model AND snapshot_id = :snapshot AND row_id = :row AND change_type = :change_type;

-- drop_queued --
DELETE FROM main.push_queue
 WHERE sink = :sink AND model = :model
   AND (row_id, change_type, snapshot_id) IN
       (SELECT CAST(listed.value ->> 0 AS BIGINT), listed.value ->> 1, listed.value ->> 2
          FROM json_each(:changes) AS listed);

-- waiting_changes --
SELECT row_id, change_type, snapshot_id, state, attempts, message, position
  FROM main.push_queue
 WHERE sink = :sink AND model = :model AND state = 'pending' AND position >= :first
 ORDER BY position LIMIT :limit;

-- send_changes --
UPDATE main.push_queue
   SET state = 'in_flight', batch = :batch, attempts = attempts + 1, updated_at = :now
 WHERE sink = :sink AND model = :model
   AND (row_id, change_type, snapshot_id) IN
       (SELECT CAST(listed.value ->> 0 AS BIGINT), listed.value ->> 1, listed.value ->> 2
          FROM json_each(:changes) AS listed);

-- move_change --
UPDATE main.push_queue SET position = :position
 WHERE sink = :sink AND model = :model AND state = 'pending' AND position = :old_position;

-- replay_rejected --
UPDATE main.push_queue SET state = 'pending', updated_at = :now
 WHERE sink = :sink AND model = :model AND state = 'rejected';

-- queued_changes --
SELECT * FROM main.push_queue
 WHERE sink = :sink AND model = :model AND state = :state AND (row_id, change_type) > (:row, :change_type)
 ORDER BY row_id, change_type LIMIT :limit;

-- batch --
SELECT * FROM main.push_batch WHERE batch = :batch AND sink = :sink AND model = :model;

-- changes_of_batch --
SELECT * FROM main.push_queue WHERE batch = :batch;

-- add_batch --
INSERT INTO main.push_batch (batch, sink, model, node_id, fence, leased_until)
VALUES (:batch, :sink, :model, :node, 1, :until)
RETURNING *;

-- first_open_batch --
SELECT batch, leased_until FROM main.push_batch
 WHERE sink = :sink AND model = :model AND settled_at IS NULL
 ORDER BY leased_until LIMIT 1;

-- take_over_batch --
UPDATE main.push_batch SET node_id = :node, fence = fence + 1, leased_until = :until WHERE batch = :batch
RETURNING *;

-- note_job --
UPDATE main.push_batch SET job = :job, leased_until = :until WHERE batch = :batch;

-- settle_batch --
UPDATE main.push_batch SET settled_at = :now WHERE batch = :batch;

-- drop_changes_of_batch --
DELETE FROM main.push_queue WHERE batch = :batch;

-- learn_queue --
-- For databases that plan by statistics: right after many changes came, theirs are of before.
SELECT 1;
