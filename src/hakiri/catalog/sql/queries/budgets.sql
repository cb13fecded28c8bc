-- add_budget --
INSERT INTO main.budget (name, level, filled_at) VALUES (:budget, :level, :filled_at)
ON CONFLICT (name) DO NOTHING;

-- save_budget --
UPDATE main.budget SET level = :level, filled_at = :filled_at WHERE name = :budget;
