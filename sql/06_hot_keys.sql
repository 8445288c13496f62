-- Hot keys: which of many keys come at least 500 times? An exact table of counts holds every key,
-- also the many that come once. A counting filter holds counters only, and no key.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/06_hot_keys.sql
.mode markdown
PRAGMA page_size = 4096;  -- the default; sizes are counted in such pages below

CREATE TABLE requests(id INTEGER PRIMARY KEY, path TEXT);
CREATE TABLE hot(path TEXT PRIMARY KEY, since INTEGER);

-- Counters have four bits. A larger count is stored separately, so nothing overflows. capacity is
-- the number of different keys. The column count is never too low. At the rate fpr it is too high.
CREATE VIRTUAL TABLE hits USING bloom_filter(
  path TEXT, capacity = 150000, fpr = 0.01, counting = on, growth = off, seed = 1);

-- Every request is counted; the one that makes it 500 puts the path on the list.
CREATE TRIGGER request_counted AFTER INSERT ON requests BEGIN
  INSERT INTO hits VALUES (new.path);
  INSERT OR IGNORE INTO hot
  SELECT new.path, new.id FROM hits WHERE path = new.path AND count >= 500;
END;

-- 200,000 requests. One in four is for one of 40 pages, of which the first is the most popular.
-- The others are for search results that are hardly ever asked for twice. (Products modulo a
-- number stand for random numbers. The smaller of two is most often 0, then 1, and so on.)
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO requests
SELECT i, iif(i % 4 = 0, printf('/page/%02d', min(i / 4 * 7919 % 40, i / 4 * 104729 % 41)),
              printf('/search?q=%016x', i * 2654435761 % 148933 * 2654435761)) FROM n;

-- Exact counts, to compare.
CREATE TABLE sizes(what TEXT, pages INTEGER);
INSERT INTO sizes SELECT 'before', page_count FROM pragma_page_count;
CREATE TABLE exact(path TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
INSERT INTO exact SELECT path, count(*) FROM requests GROUP BY path;
INSERT INTO sizes SELECT 'after', page_count FROM pragma_page_count;

-- The list, the five hottest first, and what it should be.
SELECT h.path, h.since, hits.count, e.count AS exact
FROM hot h JOIN hits USING (path) JOIN exact e USING (path) ORDER BY e.count DESC, path LIMIT 5;
SELECT (SELECT count(*) FROM hot) AS listed, count(*) AS hot,
       sum(path NOT IN (SELECT path FROM hot)) AS missed
FROM exact WHERE count >= 500;

-- All counts: none is too low.
SELECT count(*) AS keys, sum(hits.count < e.count) AS too_low,
       sum(hits.count > e.count) <= 0.01 * count(*) AS too_high_as_asked
FROM exact e JOIN hits USING (path);

SELECT 'exact table' AS what, (max(pages) - min(pages)) * 4096 / 1000 AS kilobytes FROM sizes
UNION ALL SELECT 'counting filter', disk_bytes / 1000 FROM filter_info('hits');
