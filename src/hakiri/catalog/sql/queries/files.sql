-- known_files --
-- CROSS JOIN, here and below: SQLite then begins with the list, and looks up each of it.
SELECT file.* FROM json_each(:files) AS listed CROSS JOIN main.scout_files AS file
 WHERE file.file_id = listed.value ->> 0;

-- drop_files --
DELETE FROM main.scout_files WHERE file_id IN (SELECT listed.value ->> 0 FROM json_each(:files) AS listed);

-- see_files --
-- The latest scan counts, by whatever clock: one that runs behind must not make a file look as if it were gone.
UPDATE main.scout_files SET last_seen = CASE WHEN last_seen < :now THEN :now ELSE last_seen END, gone_at = NULL
 WHERE file_id IN (SELECT listed.value ->> 0 FROM json_each(:files) AS listed);

-- tag_files --
INSERT INTO main.scout_file_tags (tag, file_id)
SELECT CAST(:tag AS TEXT), listed.value ->> 0 FROM json_each(:files) AS listed WHERE true
ON CONFLICT (tag, file_id) DO NOTHING;

-- mark_gone --
UPDATE main.scout_files SET gone_at = :now
 WHERE source = :source AND last_seen < :not_seen_since AND gone_at IS NULL;

-- file --
SELECT * FROM main.scout_files WHERE file_id = :file;

-- tags_of_files --
SELECT tagged.file_id, tagged.tag FROM json_each(:files) AS listed CROSS JOIN main.scout_file_tags AS tagged
 WHERE tagged.file_id = listed.value ->> 0;

-- files_in_time --
-- How many files of a source are of that time, as far as it matters: the count ends at `enough`.
SELECT count(*) AS files
  FROM (SELECT 1 FROM main.scout_files
         WHERE source = :source AND modified_at >= :modified_from AND modified_at < :modified_before
         LIMIT :enough) AS of_time;

-- find_files --
SELECT file.* FROM main.scout_files AS file
 WHERE file.file_id > :after AND file.gone_at IS NULL
   AND (CAST(:source AS TEXT) IS NULL OR file.source = :source)
   AND (CAST(:ext AS TEXT) IS NULL OR file.ext = :ext)
   AND file.modified_at >= :modified_from AND file.modified_at < :modified_before
 ORDER BY file.file_id LIMIT :limit;

-- find_files_with_tag --
SELECT file.* FROM main.scout_file_tags AS tagged JOIN main.scout_files AS file ON file.file_id = tagged.file_id
 WHERE tagged.tag = :tag AND tagged.file_id > :after AND file.file_id > :after AND file.gone_at IS NULL
   AND (CAST(:source AS TEXT) IS NULL OR file.source = :source)
   AND (CAST(:ext AS TEXT) IS NULL OR file.ext = :ext)
   AND file.modified_at >= :modified_from AND file.modified_at < :modified_before
 ORDER BY tagged.file_id LIMIT :limit;

-- find_files_in_time --
-- By the index of times and sorted after that: right for few files, however many the catalog knows. There are fewer
-- than `enough`; the inner limit only keeps the databases from walking by id instead.
SELECT * FROM (SELECT file.* FROM main.scout_files AS file
                 LEFT JOIN main.scout_file_tags AS tagged
                   ON tagged.tag = CAST(:tag AS TEXT) AND tagged.file_id = file.file_id
                WHERE file.source = :source
                  AND file.modified_at >= :modified_from AND file.modified_at < :modified_before
                  AND file.gone_at IS NULL
                  AND (CAST(:ext AS TEXT) IS NULL OR file.ext = :ext)
                  AND (CAST(:tag AS TEXT) IS NULL OR tagged.tag = :tag)
                LIMIT :enough) AS of_time
 WHERE file_id > :after ORDER BY file_id LIMIT :limit;

-- learn_files --
-- For databases that plan by statistics: right after many files came, theirs are of before.
SELECT 1;
