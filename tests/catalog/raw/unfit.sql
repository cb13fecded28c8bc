-- What the tables themselves do not take. Above the statements: what they are about.

-- revocation_epochs --
INSERT INTO revocation_epochs VALUES ('shop', 'other', 'agent', 0, '2026-05-11 12:00Z');
INSERT INTO revocation_epochs VALUES ('shop', NULL, 'agent', 1, '2026-05-11 12:00Z');
INSERT INTO revocation_epochs VALUES ('shop', 'other', 'agent', 'many', '2026-05-11 12:00Z');
UPDATE revocation_epochs SET epoch = 'many';

-- lineage --
INSERT INTO lineage VALUES ('child', 'parent', 'guess', '', NULL, '2026-05-11 12:00Z');
INSERT INTO lineage VALUES ('child', 'parent', 'chunk', NULL, NULL, '2026-05-11 12:00Z');
INSERT INTO lineage VALUES (NULL, 'parent', 'chunk', '', NULL, '2026-05-11 12:00Z');

-- decided_by --
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 3, 'p', 'x', '3', 'operator:', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 3, 'p', 'x', '3', 'agent:', '2026-05-11 12:00Z');
INSERT INTO schema_history (table_name, version, pipeline_id, change_kind, after_json, decided_by, at)
VALUES ('t', 3, 'p', 'x', '3', 'ada', '2026-05-11 12:00Z');

INSERT INTO audit VALUES (3, '2026-05-11 12:00Z', 'operator:', 'skip', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (3, '2026-05-11 12:00Z', 'ada', 'skip', NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (3, '2026-05-11 12:00Z', NULL, 'skip', NULL, NULL, NULL, NULL, NULL);

-- budget --
UPDATE budget SET granted = 4 WHERE name = 'github';
UPDATE budget SET granted = 4, marks = '[["2026-05-11T12:00:00+00:00", 3]]' WHERE name = 'github';
UPDATE budget SET granted = 4, marks = '[[' WHERE name = 'github';
INSERT INTO budget VALUES ('new', NULL, -1, '[["2026-05-11T12:00:00+00:00", -1]]');
INSERT INTO budget VALUES ('new', NULL, NULL, '[]');
INSERT INTO budget VALUES ('new', NULL, 0, NULL);
INSERT INTO budget VALUES (NULL, NULL, 0, '[]');

-- snapshot --
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, '[', NULL, 0, '', 1, '2026-05-11 12:00Z');
INSERT INTO snapshot VALUES ('s2', 'v', '2026-05-11 12:00Z', '[]', 1, NULL, NULL, 0, '', 1, '2026-05-11 12:00Z');

-- pipeline_run --
UPDATE pipeline_run SET status = 'success' WHERE run_id = 'open';
UPDATE pipeline_run SET ended_at = '2026-05-11 12:00Z' WHERE run_id = 'open';
UPDATE pipeline_run SET status = 'asleep' WHERE run_id = 'open';
INSERT INTO pipeline_run (run_id, pipeline_id, node_id, started_at, status)
VALUES ('ended', 'p', 'b', '2026-05-11 13:00Z', 'running');

-- pipeline_chunks --
UPDATE pipeline_chunks SET status = 'done' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET status = 'asleep' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET holder_node = 'b', leased_until = '2026-05-11 13:00Z' WHERE chunk_id = 1;
UPDATE pipeline_chunks SET leased_until = NULL WHERE chunk_id = 2;
UPDATE pipeline_chunks SET successors = 0 WHERE chunk_id = 1;
INSERT INTO pipeline_chunks (pipeline_id, chunk_id, table_name, predicate, status) VALUES ('p', 3, 't', '3', 'pending');

-- pipeline_lease --
INSERT INTO pipeline_lease VALUES (NULL, 'a', '2026-05-11 12:00Z', 1, 'n', '2026-05-11 12:00Z', NULL);
