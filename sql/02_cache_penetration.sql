-- Cache penetration: most requests ask for something that does not exist. No cache holds them, so
-- each one goes to the big table's index and finds nothing. A filter in front answers them.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/02_cache_penetration.sql
.mode markdown

-- 50,000 products with sparse numbers …
CREATE TABLE products(number TEXT PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
INSERT INTO products SELECT printf('P%08d', i * 7919 % 100000000), 'product ' || i FROM n;

-- … and 200,000 requests, of which one in twenty is for a product.
CREATE TABLE requests(id INTEGER PRIMARY KEY, number TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO requests
SELECT i, iif(i % 20 = 0, printf('P%08d', i / 4 * 7919 % 100000000), printf('X%08d', i)) FROM n;

CREATE VIRTUAL TABLE known USING cuckoo_filter(number TEXT, capacity = 50000, fpr = 0.01, seed = 7);
INSERT INTO known SELECT number FROM products;

-- Without the filter: an index look-up for each of the 200,000 requests.
EXPLAIN QUERY PLAN SELECT count(*) FROM requests JOIN products USING (number);
SELECT count(*) AS rows_without_filter FROM requests JOIN products USING (number);

-- With it: the planner asks the filter first. The rows are the same.
EXPLAIN QUERY PLAN
SELECT count(*) FROM requests JOIN known USING (number) JOIN products USING (number);
SELECT count(*) AS rows_with_filter
FROM requests JOIN known USING (number) JOIN products USING (number);

-- probes: requests that came by; positives: those let through, each an index look-up.
SELECT probes, positives, probes - positives AS look_ups_saved FROM filter_info('known');

-- Of the 190,000 absent numbers fewer than the 1 % asked for were let through.
SELECT count(*) AS false_positives, count(*) <= 0.01 * 190000 AS as_asked
FROM requests JOIN known USING (number) WHERE number LIKE 'X%';

-- A view hides the filter from those who need not know.
CREATE VIEW answers AS
SELECT r.id, p.name FROM requests r CROSS JOIN products p ON p.number = r.number
WHERE filter_contains('known', r.number);
SELECT count(*) AS rows_of_the_view FROM answers;
