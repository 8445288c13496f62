-- A crawler must not fetch a page twice. Pages link to the same pages over and over: most of
-- 250,000 links lead to a page that it has seen. A filter remembers a page in ten bits, however
-- long its address is.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/03_crawler_urls.sql
.mode markdown
PRAGMA page_size = 4096;  -- the default; sizes are counted in such pages below

CREATE TABLE links(id INTEGER PRIMARY KEY, url TEXT);
CREATE TABLE to_fetch(id INTEGER PRIMARY KEY, url TEXT);
CREATE VIRTUAL TABLE met USING bloom_filter(
  url TEXT, capacity = 60000, fpr = 0.01, layout = blocked, growth = off, seed = 1);

-- One link after the other: if the crawler has not met an address before, it fetches the page.
CREATE TRIGGER link_found AFTER INSERT ON links WHEN NOT filter_contains('met', new.url) BEGIN
  INSERT INTO to_fetch(url) VALUES (new.url);
  INSERT INTO met VALUES (new.url);
END;

-- 250,000 links, some pages linked to once, some many times: a random number below a random limit
-- is more often small than large. (Products modulo a number stand for random numbers.)
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 250000)
INSERT INTO links
SELECT i, printf('https://www.example.org/articles/%07d.html',
                 i * 2654435761 % 4294967296 % (1 + i * 40503 % 65521)) FROM n;

-- The exact way, to compare: a table of all addresses, each with its full text.
CREATE TABLE sizes(what TEXT, pages INTEGER);
INSERT INTO sizes SELECT 'before', page_count FROM pragma_page_count;
CREATE TABLE visited(url TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO visited SELECT url FROM links;
INSERT INTO sizes SELECT 'after', page_count FROM pragma_page_count;

-- No page is fetched twice. A page that is a false positive is never fetched. These are fewer than
-- one in a hundred, the rate that was asked for, and far fewer while the filter fills.
SELECT (SELECT count(*) FROM links) AS links, (SELECT count(*) FROM visited) AS pages,
       count(*) AS to_fetch, count(*) - count(DISTINCT url) AS fetched_twice,
       (SELECT count(*) FROM visited) - count(*) AS missed FROM to_fetch;

-- Kilobytes on disk, which must all be in memory for a quick answer.
SELECT 'exact table' AS what, (max(pages) - min(pages)) * 4096 / 1000 AS kilobytes FROM sizes
UNION ALL SELECT 'filter', disk_bytes / 1000 FROM filter_info('met');

-- Without a crawler: a Bloom filter skips what it has, so it counts different keys.
CREATE VIRTUAL TABLE different USING bloom_filter(url TEXT, capacity = 60000, seed = 1);
INSERT INTO different SELECT url FROM links;
SELECT count(*) AS different_pages FROM different;
