-- get_budget --
SELECT rate, granted, marks FROM main.budget WHERE name = :budget;

-- add_budget --
INSERT INTO main.budget (name, granted, marks) VALUES (:budget, 0, '[]')
ON CONFLICT (name) DO NOTHING;

-- save_budget --
UPDATE main.budget SET rate = :rate, granted = :granted, marks = :marks WHERE name = :budget;

-- note_budget --
UPDATE main.budget SET rate = :rate WHERE name = :budget;
