-- The life of a flash device, from its first erase to its last. Flash can't be overwritten: first
-- a block of sectors must be erased as a whole, and each erase wears it. Here every block is made
-- for only 100 erases, so that the end comes soon. 13 of 500 keys get all the writes. (The
-- simulation has a rule for which erases fail, see docs/FORMAT.md: none of a block's first 100,
-- then 10 in 110.)
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/15_flash_wear.sql
.mode markdown

-- 64 blocks of two sectors, 1 KB each.
CREATE VIRTUAL TABLE kv USING flash_kv(
  key INTEGER, value TEXT, sectors = 128, sector_size = 512, erase_block = 2, endurance = 100,
  seed = 1);
CREATE TABLE numbers(i INTEGER PRIMARY KEY);
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 999)
INSERT INTO numbers SELECT i FROM n;
INSERT INTO kv SELECT i, 'version 0' FROM numbers WHERE i < 500;

-- Each row in `ticks` makes 100 writes to the hot keys and notes the state of the device. This
-- goes on until bad blocks have left hardly more room than the data takes.
CREATE TABLE life(writes, erases, least, mean, most, bad, usable_bytes);
CREATE TABLE ticks(writes INTEGER PRIMARY KEY);
CREATE TRIGGER tick AFTER INSERT ON ticks
WHEN (SELECT usable_bytes > charged_bytes + 6000 FROM flash_kv_info('kv'))
BEGIN
  INSERT OR REPLACE INTO kv
  SELECT (new.writes + i) * 7919 % 13, 'version ' || (new.writes + i) FROM numbers WHERE i < 100;
  INSERT INTO life SELECT new.writes + 100, erases, erase_min, erase_avg, erase_max, bad_blocks,
                          usable_bytes FROM flash_kv_info('kv');
END;
INSERT INTO ticks SELECT i * 100 FROM numbers;

-- least, mean, most: erases of a block. They stay close together, though nearly all of the data
-- never changes. The reasons: the least-worn free block is used first, and data that never changes
-- is moved out of blocks that have few erases. So all blocks wear evenly, and then fail soon after
-- one another.
SELECT writes, erases, least, round(mean, 1) AS mean, most, bad, usable_bytes FROM life
WHERE writes % 10000 = 0 OR writes IN (SELECT min(writes) FROM life GROUP BY bad)
ORDER BY writes;

-- How many writes came before the first block failed? Three numbers are compared. The first is
-- computed for a store that rewrites each of the 13 keys in its place, in a block of its own:
-- after 13 times 100 writes, each block has 100 erases. The second is computed for a log that
-- never moves unchanged data, 487 records of 64 bytes: it wears only those of the 61 blocks (3
-- hold the anchors) that are not full of such data, at as many writes an erase as here. The third
-- is what happened.
SELECT 'rewritten at its place' AS how, 13 * 100 AS writes
UNION ALL
SELECT 'a log, still data stays',
       CAST(1.0 * writes / erases * 100 * (61 - 487 * 64 / 1024) / 1000 AS INTEGER) * 1000
FROM (SELECT writes, erases FROM life WHERE bad = 0 ORDER BY writes DESC LIMIT 1)
UNION ALL
SELECT 'flash_kv', max(writes) FROM life WHERE bad = 0;

-- The end. Failed blocks are bad. Nothing is lost, because their rows were copied before.
SELECT state, count(*) AS sectors, min(erase_count) AS least, max(erase_count) AS most
FROM flash_kv_sectors('kv') GROUP BY state ORDER BY state;
SELECT count(*) AS rows, sum(value = 'version 0') AS untouched FROM kv;
INSERT INTO kv(kv) VALUES ('check');

-- After some more writes, INSERT is an error: "full: kv: worn out: 12 of 64 erase blocks failed:
-- 64 bytes more don't fit: …". All rows can still be read, and 'resize' adds new blocks.
INSERT INTO kv(kv, key) VALUES ('resize', '128KB');
INSERT OR REPLACE INTO kv SELECT i % 13, 'new' FROM numbers;
SELECT count(*) AS rows, sum(value = 'new') AS new, sum(value = 'version 0') AS untouched FROM kv;
SELECT size_bytes, usable_bytes > (SELECT max(usable_bytes) FROM life) AS more_than_ever
FROM flash_kv_info('kv');
