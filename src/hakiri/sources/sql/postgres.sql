-- One row for each column of the wanted tables and views, in the order of their names and of their columns.
-- Types are followed down to what they are made of: a domain to its base, an array to its element.
-- Their names in casts are without a length: `character` alone would be one of a single letter.
-- `{wanted}` is a condition on `n.nspname` and `c.relname`.
WITH RECURSIVE wanted AS (
  SELECT c.oid, n.nspname, c.relname, c.relkind,
         has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT') AS may_read,
         -- As the planner does it: the density when it was last counted, times the size of today.
         CASE WHEN c.relkind = 'p' THEN
           (SELECT sum(nullif(leaf.reltuples, -1))::int8
              FROM pg_catalog.pg_partition_tree(c.oid) AS tree
              JOIN pg_catalog.pg_class AS leaf ON leaf.oid = tree.relid AND tree.isleaf)
         WHEN c.relkind IN ('r', 'm') AND c.reltuples >= 0 AND c.relpages > 0 THEN
           (c.reltuples / c.relpages
             * (pg_catalog.pg_relation_size(c.oid) / current_setting('block_size')::int8))::int8
         WHEN c.relkind IN ('r', 'm') AND pg_catalog.pg_relation_size(c.oid) = 0 THEN 0
         END AS estimated_rows,
         coalesce(obj_description(c.oid, 'pg_class'), '') AS description
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {wanted}
),
own AS (
  SELECT w.oid AS relation, a.attnum, a.attname, a.attnotnull, a.attndims::int4, a.attcollation,
         a.atttypid AS type, a.atttypmod AS modifier
    FROM wanted AS w
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT own.relation, own.attnum, own.attname, own.attnotnull OR t.typnotnull, greatest(own.attndims, t.typndims),
         own.attcollation, t.typbasetype, t.typtypmod
    FROM own
    JOIN pg_catalog.pg_type AS t ON t.oid = own.type AND t.typtype = 'd'
),
element AS (
  SELECT own.relation, own.attnum, e.oid AS type, own.modifier
    FROM own
    JOIN pg_catalog.pg_type AS e ON e.typarray = own.type
  UNION ALL
  SELECT element.relation, element.attnum, t.typbasetype, t.typtypmod
    FROM element
    JOIN pg_catalog.pg_type AS t ON t.oid = element.type AND t.typtype = 'd'
)
SELECT w.nspname::text AS schema, w.relname::text AS name, w.may_read, w.estimated_rows, w.description,
       own.attname::text AS column, own.attnotnull AND w.relkind <> 'v' AS is_required,
       t.typname::text AS type, t.typtype::text AS kind, own.modifier::int8 AS modifier,
       pg_catalog.format_type(t.oid, -1) AS type_sql,
       own.attndims::int8 AS dimensions,
       e.typname::text AS element, e.typtype::text AS element_kind,
       element.modifier::int8 AS element_modifier, pg_catalog.format_type(e.oid, -1) AS element_sql,
       t.typnamespace = 'pg_catalog'::regnamespace AS is_builtin,
       coalesce(e.typnamespace = 'pg_catalog'::regnamespace, false) AS is_element_builtin,
       coalesce(collation_.collisdeterministic, true) AS is_deterministic,
       array_position(key.conkey, own.attnum)::int8 AS key_position,
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                 JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
                 JOIN pg_catalog.pg_am AS am ON am.oid = ic.relam AND am.amname = 'btree'
                WHERE i.indrelid = w.oid AND i.indkey[0] = own.attnum
                  AND i.indisvalid AND i.indpred IS NULL) AS is_indexed
  FROM wanted AS w
  JOIN own ON own.relation = w.oid
  JOIN pg_catalog.pg_type AS t ON t.oid = own.type AND t.typtype <> 'd'
  LEFT JOIN element ON element.relation = own.relation AND element.attnum = own.attnum
       AND EXISTS (SELECT FROM pg_catalog.pg_type AS b WHERE b.oid = element.type AND b.typtype <> 'd')
  LEFT JOIN pg_catalog.pg_type AS e ON e.oid = element.type
  LEFT JOIN pg_catalog.pg_collation AS collation_ ON collation_.oid = own.attcollation
  LEFT JOIN pg_catalog.pg_constraint AS key ON key.conrelid = w.oid AND key.contype = 'p'
 ORDER BY w.nspname, w.relname, own.attnum
