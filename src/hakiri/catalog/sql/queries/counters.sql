-- count_on --
-- A counter's row is also a lock that every database has: whoever counts on it holds it until the transaction ends.
INSERT INTO main.counter AS known (name, last) VALUES (:counter, :count)
ON CONFLICT (name) DO UPDATE SET last = known.last + excluded.last
RETURNING last;
