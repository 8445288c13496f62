-- The legacy Bloom file: a filter that other programs write and read, bit for bit. hash = murmur2
-- makes a table that hashes as they do; docs/FORMAT.md has the layout of the file.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/10_legacy_bloom_file.sql
.mode markdown

CREATE VIRTUAL TABLE urls USING bloom_filter(
  url TEXT, hash = 'murmur2', capacity = 1000, fpr = 0.01, seed = 7);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO urls SELECT 'https://www.example.org/' || i FROM n;
SELECT items, capacity, fpr, hashes, bits_per_key FROM filter_info('urls');

-- Out: a header of 64 bytes, then the bits.
SELECT writefile('urls.bloom', filter_export('urls', 'legacy')) AS bytes;
SELECT hex(substr(readfile('urls.bloom'), 1, 24)) AS header;

-- Ask the file itself.
WITH file(image) AS MATERIALIZED (SELECT readfile('urls.bloom'))
SELECT filter_contains(image, 'https://www.example.org/500') AS present,
       filter_contains(image, 'https://www.example.org/5000') AS absent FROM file;

-- In: the table takes over the file's size, hashes and seed.
CREATE VIRTUAL TABLE theirs USING bloom_filter(url TEXT, hash = 'murmur2');
INSERT INTO theirs(theirs, url) VALUES ('import', readfile('urls.bloom'));
SELECT items, capacity, fpr, hashes, bits_per_key FROM filter_info('theirs');
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT count(*) AS found FROM n CROSS JOIN theirs ON url = 'https://www.example.org/' || i;

-- And out again: the same bytes.
SELECT filter_export('theirs', 'legacy') = readfile('urls.bloom') AS same;
.shell rm urls.bloom
