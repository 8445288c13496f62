-- Cache penetration: most requests ask for something that does not exist. No cache holds them, so
-- each one goes to the big table's index and finds nothing. A filter in front answers them.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/02_cache_penetration.sql
.mode markdown

-- 200,000 products with numbers of eight digits in no order (multiplying by a large number, modulo
-- another, scatters 1, 2, 3 …) …
CREATE TABLE products(number TEXT PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO products SELECT printf('P%08d', i * 2654435761 % 99999989), 'product ' || i FROM n;

-- … and 200,000 requests. One in twenty is for a product. The others are for numbers that don't
-- exist.
CREATE TABLE requests(id INTEGER PRIMARY KEY, number TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO requests
SELECT i, printf('P%08d', iif(i % 20 = 0, i, 1000000 + i) * 2654435761 % 99999989) FROM n;

CREATE VIRTUAL TABLE known USING cuckoo_filter(number TEXT, capacity = 2e5, fpr = 0.01, seed = 7);
INSERT INTO known SELECT number FROM products;

-- Without the filter: an index look-up for each of the 200,000 requests.
EXPLAIN QUERY PLAN SELECT count(*) FROM requests JOIN products USING (number);
.timer on
SELECT count(*) AS rows_without_filter FROM requests JOIN products USING (number);
.timer off

-- With it: WHERE asks the filter first, whatever else the query has. The rows are the same.
.timer on
SELECT count(*) AS rows_with_filter
FROM requests r JOIN products USING (number) WHERE filter_contains('known', r.number);
.timer off

-- probes: requests that the filter was asked for. positives: requests that it let through, each an
-- index look-up. 10,000 are for products. Of the other 190,000, one in a hundred may get through.
SELECT probes, positives, probes - positives AS look_ups_saved,
       positives - 10000 <= 0.01 * 190000 AS false_positives_as_asked FROM filter_info('known');

-- A Bloom filter instead: it is a little larger, and can't remove keys. With layout = blocked a
-- probe reads only a few cache lines. This filter loads the numbers from its source, and follows it.
CREATE VIRTUAL TABLE bloom USING bloom_filter(number, source = products(number), triggers = on,
  layout = blocked, capacity = 2e5, fpr = 0.01, seed = 7);
-- Here it is joined, in the order that CROSS JOIN keeps.
EXPLAIN QUERY PLAN
SELECT count(*) FROM requests CROSS JOIN bloom USING (number) CROSS JOIN products USING (number);
.timer on
SELECT count(*) AS rows_with_bloom_filter
FROM requests CROSS JOIN bloom USING (number) CROSS JOIN products USING (number);
.timer off
SELECT name, kind, items, round(bits_per_key, 1) AS bits_per_key, positives FROM filter_info;

-- A guard asks the filter by itself. Read it instead of products, in any query. The guard knows
-- the table from the source of `bloom`.
CREATE VIRTUAL TABLE guarded USING filter_guard(bloom);
EXPLAIN QUERY PLAN SELECT count(*) FROM requests JOIN guarded USING (number);
.timer on
SELECT count(*) AS rows_with_guard FROM requests JOIN guarded USING (number);
.timer off
SELECT substr(number, 1, 2) AS begins, count(*) AS requests
FROM requests JOIN guarded USING (number) GROUP BY 1 ORDER BY 1 LIMIT 2;

-- If a filter has no source, a view can hide it from queries.
CREATE VIEW answers AS
SELECT r.id, p.name FROM requests r CROSS JOIN products p ON p.number = r.number
WHERE filter_contains('known', r.number);
SELECT count(*) AS rows_of_the_view FROM answers;
