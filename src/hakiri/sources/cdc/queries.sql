-- server --
-- What the server is and may do, and up to where its log is safe on disk. A standby does not tell the last. The
-- session may then wait for as long as its rows are written somewhere.
SELECT set_config('idle_session_timeout', '0', false) AS patience,
       current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_text,
       current_setting('wal_level') AS wal_level,
       pg_is_in_recovery() AS is_standby,
       current_database() AS database,
       current_user AS role,
       (SELECT r.rolreplication OR r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) AS may_replicate,
       CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_flush_lsn() - '0/0' END::bigint AS flushed

-- tables --
-- Ordinary tables, partitions among them, whose changes stand in the log. Generated columns are not sent with
-- changes. The key is what identifies a row in a delete: the index that was named for it, else the primary
-- key unless it is deferrable.
SELECT c.oid::bigint AS oid,
       c.relname AS name,
       c.relkind::text AS kind,
       c.relreplident::text AS identity,
       pg_relation_filenode(c.oid)::bigint AS file,
       CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END AS rows,
       coalesce(obj_description(c.oid, 'pg_class'), '') AS description,
       coalesce((SELECT jsonb_agg(jsonb_build_object(
                            'name', a.attname, 'number', a.attnum,
                            'type', a.atttypid::bigint, 'modifier', a.atttypmod,
                            'type_text', format_type(a.atttypid, a.atttypmod),
                            'is_filled', a.atthasdef OR a.atthasmissing OR a.attidentity <> '')
                        ORDER BY a.attnum)
                   FROM pg_attribute a
                  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''),
                '[]') AS columns,
       coalesce((SELECT jsonb_agg(a.attname ORDER BY k.place)
                   FROM pg_index i,
                        unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place),
                        pg_attribute a
                  WHERE i.indrelid = c.oid AND i.indisvalid
                    AND CASE c.relreplident
                        WHEN 'i' THEN i.indisreplident
                        WHEN 'd' THEN i.indisprimary AND i.indimmediate
                        WHEN 'f' THEN i.indisprimary
                        ELSE false END
                    AND k.place <= i.indnkeyatts
                    AND a.attrelid = c.oid AND a.attnum = k.number),
                '[]') AS key
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %(schema)s
   AND c.relpersistence = 'p'
   AND (c.relkind = 'r' OR c.relkind = 'p' AND c.relname = ANY(%(only)s))
   AND (%(only)s::text[] IS NULL OR c.relname = ANY(%(only)s))
 ORDER BY c.relname

-- types --
-- The domains and arrays among these types, with all that they stand on. Vectors of the catalog look like
-- arrays, but are not written like them.
WITH RECURSIVE used(oid) AS (
    SELECT unnest(%(oids)s::oid[])
     UNION
    SELECT CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END
      FROM used JOIN pg_type t ON t.oid = used.oid
     WHERE t.typtype = 'd' OR t.typelem <> 0 AND t.typcategory = 'A'
)
SELECT t.oid::bigint AS oid,
       CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE 0 END::bigint AS base,
       CASE WHEN t.typtype <> 'd' THEN t.typelem ELSE 0 END::bigint AS element,
       t.typtypmod AS modifier
  FROM used JOIN pg_type t ON t.oid = used.oid
 WHERE t.typtype = 'd'
    OR t.typelem <> 0 AND t.typcategory = 'A' AND t.oid NOT IN ('int2vector'::regtype, 'oidvector'::regtype)

-- publication --
-- `covered` are the table's columns that are published; servers before version 15 always publish all.
SELECT p.oid::bigint AS oid,
       p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate AS is_complete,
       t.tablename IS NOT NULL AS has_table,
       to_jsonb(t) ->> 'rowfilter' IS NOT NULL AS has_filter,
       to_jsonb(t) -> 'attnames' AS covered
  FROM pg_publication p
  LEFT JOIN pg_publication_tables t
    ON t.pubname = p.pubname AND t.schemaname = %(schema)s AND t.tablename = %(table)s
 WHERE p.pubname = %(name)s

-- slots --
SELECT slot_name AS name,
       plugin,
       database,
       coalesce(wal_status = 'lost', false) AS is_lost,
       (confirmed_flush_lsn - '0/0')::bigint AS confirmed,
       coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), restart_lsn), 0)::bigint AS held_bytes
  FROM pg_replication_slots
 WHERE slot_name = ANY(%(names)s)
   -- One that somebody is making in this moment has no plugin yet, which is not the same as none.
   AND plugin IS DISTINCT FROM ''
 ORDER BY slot_name

-- rights --
SELECT has_database_privilege(current_database(), 'CREATE') AS may_publish,
       current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots) AS free_slots

-- advance --
SELECT pg_replication_slot_advance(%(slot)s, %(lsn)s)

-- drop_slot --
SELECT pg_drop_replication_slot(%(slot)s)

-- snapshot --
SELECT pg_current_snapshot()::text AS snapshot
