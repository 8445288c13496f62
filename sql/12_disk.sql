-- Disk: what a filter of 1,000,000 keys costs, beside an index on the same column.
-- docs/benchmarks.md and docs/filters.md quote these figures. Bytes are whole database pages.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/12_disk.sql
.mode markdown
PRAGMA page_size = 4096;  -- the default; sizes are counted in such pages below

-- The keys: 64-bit numbers and 20-byte texts in no order.
CREATE TABLE keys(number INTEGER, name TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
INSERT INTO keys
SELECT i * 2654435761 % 4294967296 << 31 | i, printf('user%016x', i * 2654435761 % 4294967296) FROM n;
CREATE TABLE sizes(what TEXT, pages INTEGER);

-- Two ordinary indexes.
INSERT INTO sizes SELECT 'before', page_count FROM pragma_page_count;
CREATE INDEX keys_number ON keys(number);
INSERT INTO sizes SELECT 'index on numbers', page_count FROM pragma_page_count;
CREATE INDEX keys_name ON keys(name);
INSERT INTO sizes SELECT 'index on texts', page_count FROM pragma_page_count;
DROP INDEX keys_number;
DROP INDEX keys_name;

-- Two filters. The sort of key makes no difference, because a filter keeps hashes.
CREATE VIRTUAL TABLE seen USING cuckoo_filter(name TEXT, capacity = 1e6, fpr = 0.001, seed = 1);
CREATE VIRTUAL TABLE fixed USING cuckoo_filter(
  name TEXT, capacity = 1e6, fpr = 0.001, growth = off, seed = 1);
INSERT INTO seen SELECT name FROM keys;
INSERT INTO fixed SELECT name FROM keys;

SELECT what, round(4096.0 * (pages - lag(pages) OVER (ORDER BY rowid)) / 1e6, 1) AS bytes_per_key
FROM sizes LIMIT -1 OFFSET 1;
SELECT 'growth = on, as inserted' AS filter, printf('about %.0f', disk_bytes / 1e6) AS bytes_per_key
FROM filter_info('seen');

-- 'rebuild' makes it as small as it can be, as CREATE would make it for these keys.
INSERT INTO seen(seen) VALUES ('rebuild');
SELECT 'growth = on, compacted' AS filter, round(disk_bytes / 1e6, 1) AS bytes_per_key
FROM filter_info('seen')
UNION ALL SELECT 'growth = off', round(disk_bytes / 1e6, 1) FROM filter_info('fixed');

-- The filters themselves, without a log: bits per key at each rate. A filter is made for its
-- capacity, even if it is empty, so empty images show its size. Counting takes four times as many
-- bits as standard. No aggregate makes a blocked image, so that layout needs a table for each
-- rate: one of fixed size, as an image is.
CREATE TABLE rates(fpr REAL PRIMARY KEY);
INSERT INTO rates VALUES (0.25), (0.03), (0.01), (0.001), (0.0001), (1e-6);
CREATE VIRTUAL TABLE b1 USING bloom_filter(capacity = 1e6, fpr = 0.25, layout = blocked, growth = off);
CREATE VIRTUAL TABLE b2 USING bloom_filter(capacity = 1e6, fpr = 0.03, layout = blocked, growth = off);
CREATE VIRTUAL TABLE b3 USING bloom_filter(capacity = 1e6, fpr = 0.01, layout = blocked, growth = off);
CREATE VIRTUAL TABLE b4 USING bloom_filter(capacity = 1e6, fpr = 0.001, layout = blocked, growth = off);
CREATE VIRTUAL TABLE b5 USING bloom_filter(capacity = 1e6, fpr = 0.0001, layout = blocked, growth = off);
CREATE VIRTUAL TABLE b6 USING bloom_filter(capacity = 1e6, fpr = 1e-6, layout = blocked, growth = off);
WITH empty AS (
  SELECT fpr, cuckoo_build(NULL, fpr, 1e6) AS cuckoo, bloom_build(NULL, fpr, 1e6) AS standard
  FROM rates GROUP BY fpr)
SELECT printf('%g %%', 100 * empty.fpr) AS fpr,
       (SELECT printf('%.2f', bits_per_key) FROM filter_info(cuckoo)) AS cuckoo,
       (SELECT printf('%.2f', bits_per_key) FROM filter_info(standard)) AS standard,
       (SELECT printf('%.2f', 4 * bits_per_key) FROM filter_info(standard)) AS counting,
       printf('%.2f', bits_per_key) AS blocked
FROM empty JOIN filter_info b ON b.fpr = empty.fpr AND b.name LIKE 'b_' ORDER BY empty.fpr DESC;
