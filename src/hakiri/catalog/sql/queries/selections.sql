-- add_spec --
INSERT INTO main.cf_selection_specs (id, spec_json, created_at) VALUES (:spec, :spec_json, :now)
ON CONFLICT (id) DO NOTHING;

-- spec --
SELECT spec_json FROM main.cf_selection_specs WHERE id = :spec;

-- add_selection --
INSERT INTO main.cf_selection_snapshots (id, spec_id, snapshot_hash, logical_date, watermark_value, created_at,
                                         position)
VALUES (:selection, :spec, :snapshot_hash, :logical_date, :watermark, :created_at, :position);

-- selection --
SELECT * FROM main.cf_selection_snapshots WHERE id = :selection;

-- latest_selection --
SELECT * FROM main.cf_selection_snapshots WHERE spec_id = :spec ORDER BY logical_date DESC, position DESC LIMIT 1;

-- selected_files --
SELECT file_id FROM main.cf_selection_snapshot_files
 WHERE snapshot_id = :selection AND file_id > :after ORDER BY file_id LIMIT :limit;
