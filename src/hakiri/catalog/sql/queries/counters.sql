-- count_on --
UPDATE main.counter SET last = last + :count WHERE name = :counter RETURNING last;

-- first_count --
INSERT INTO main.counter (name, last) VALUES (:counter, :count)
ON CONFLICT (name) DO NOTHING
RETURNING last;
