-- Content-addressed chunks: files are cut into pieces of 1004 bytes, each piece is stored once
-- under the SHA-1 of its bytes, and a manifest says which pieces make a file. Read back, every file
-- must be what it was, byte for byte. `sql/demo.sh FILE` does it with any file.
-- Reads /usr/share/common-licenses/GPL-3 (Debian: package base-files), a text that never changes.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/13_content_addressed_chunks.sql
.mode markdown

CREATE TABLE numbers(i INTEGER PRIMARY KEY);
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 10444)
INSERT INTO numbers SELECT i FROM n;

-- The files: a real text, every length at which a cut could go wrong, and 10 MB of the same 35
-- pieces over and over, every 50th of them changed.
CREATE TABLE files(name TEXT PRIMARY KEY, content BLOB);
INSERT INTO files VALUES ('GPL-3', readfile('/usr/share/common-licenses/GPL-3'));
WITH sizes(bytes) AS (VALUES (0), (1), (1003), (1004), (1005), (5020), (16384))
INSERT INTO files SELECT bytes || ' bytes', substr(content, 1, bytes)
FROM sizes JOIN files ON name = 'GPL-3';
INSERT INTO files
SELECT '10 MB', CAST(substr(group_concat(piece, ''), 1, 10485760) AS BLOB) FROM (
  SELECT iif(i % 50 = 0, printf('%-1004d', i), substr(content, i % 35 * 1004 + 1, 1004)) AS piece
  FROM numbers JOIN files ON name = 'GPL-3' ORDER BY i);

-- Cut the files into slices of 100 pieces first, and then into pieces. In one step, SQLite would
-- copy the whole file for each piece.
CREATE TABLE slices AS
SELECT name AS file, i AS slice, substr(content, i * 100400 + 1, 100400) AS content
FROM files JOIN numbers ON i * 100400 < length(content);
CREATE VIEW pieces AS
SELECT file, slice * 100 + i AS number, substr(content, i * 1004 + 1, 1004) AS piece
FROM slices JOIN numbers ON i < 100 AND i * 1004 < length(content);

-- The store. The key is left out, so it becomes the digest of the value; OR IGNORE skips a piece
-- that is there already. Values up to an eighth of an erase block are one record of the log.
CREATE VIRTUAL TABLE chunks USING flash_kv(
  address TEXT, piece BLOB, size = 2 MB, erase_block = 16, seed = 1);
CREATE TABLE manifest(file TEXT, number INTEGER, address TEXT, PRIMARY KEY (file, number))
  WITHOUT ROWID;
BEGIN;
INSERT OR IGNORE INTO chunks(piece) SELECT piece FROM pieces;
INSERT INTO manifest SELECT file, number, sha1(piece) FROM pieces;
COMMIT;

-- How much room that saved.
SELECT pieces, stored, printf('%.1f %%', 100.0 - 100.0 * stored / pieces) AS duplicates
FROM (SELECT count(*) AS pieces FROM manifest), (SELECT count(*) AS stored FROM chunks);
SELECT (SELECT sum(length(content)) FROM files) AS bytes_of_files, bytes_written, live_bytes
FROM flash_kv_info('chunks');

-- Read back: make each file from its pieces, and compare it with the original. How many records of
-- the log did a look-up read?
CREATE TEMP TABLE before AS SELECT record_reads AS reads FROM flash_kv_info('chunks');
CREATE TABLE restored AS
SELECT name, (
    SELECT CAST(coalesce(group_concat(piece, ''), '') AS BLOB) FROM (
      SELECT piece FROM manifest CROSS JOIN chunks USING (address)
      WHERE file = name ORDER BY number)) AS content
FROM files;
SELECT printf('%.3f', 1.0 * (record_reads - reads) / (SELECT count(*) FROM manifest))
         AS reads_per_look_up
FROM flash_kv_info('chunks'), before;
SELECT writefile('restored.txt', content) AS written FROM restored WHERE name = 'GPL-3';
SELECT f.name, length(f.content) AS bytes,
       (SELECT count(*) FROM manifest WHERE file = f.name) AS pieces,
       iif(f.content = r.content AND (f.name <> 'GPL-3' OR readfile('restored.txt') = f.content),
           'equal', 'DIFFERENT') AS restored
FROM files f JOIN restored r USING (name) ORDER BY bytes, f.name;

-- For a piece that no file has, the flash is not read, because the index has no entry for it.
DELETE FROM before;
INSERT INTO before SELECT record_reads FROM flash_kv_info('chunks');
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
SELECT count(*) AS found FROM n CROSS JOIN chunks ON address = sha1('nobody has ' || i);
SELECT record_reads - reads AS reads_for_10000_absent FROM flash_kv_info('chunks'), before;

-- The index: 8 bytes a slot, and how full it was filled.
SELECT entries, printf('%.2f', load_factor) AS index_load, index_bytes, expansions
FROM flash_kv_info('chunks');

-- Delete a file, and those of its pieces that no other file has. Collection makes their room free.
DELETE FROM manifest WHERE file = '10 MB';
DELETE FROM chunks WHERE address NOT IN (SELECT address FROM manifest);
INSERT INTO chunks(chunks) VALUES ('collect');
SELECT entries, dead_bytes < 10000 AS collected FROM flash_kv_info('chunks');

-- The flash sectors as a picture, for any browser.
SELECT writefile('map.svg', flash_kv_map('chunks')) > 1000 AS map_saved;
INSERT INTO chunks(chunks) VALUES ('check');
.shell rm restored.txt map.svg
