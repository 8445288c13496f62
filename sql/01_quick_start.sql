-- Quick start: add keys to a filter, ask, join, remove.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/01_quick_start.sql
.mode markdown

CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
INSERT INTO users(email) VALUES ('ada@example.org'), ('bob@example.org'), ('cleo@example.org');

-- A filter is a table of keys that answers one question: may this key be in it? It keeps some
-- twelve bits of each key (for a false positive rate of 0.1 %) and a log of hashes, never the key.
-- The seed is fixed here so that each run gives the same rows; leave it out in real life.
CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, capacity = 1000, fpr = 0.001, seed = 1);
INSERT INTO seen SELECT email FROM users;

-- No row: the key is definitely absent. A row: it is probably present.
SELECT email FROM seen WHERE email = 'ada@example.org';
SELECT count(*) AS rows_for_an_absent_key FROM seen WHERE email = 'eve@example.org';

-- The same question as a function.
SELECT filter_contains('seen', 'bob@example.org') AS bob,
       filter_contains('seen', 'eve@example.org') AS eve,
       filter_contains('seen', NULL) IS NULL AS null_for_null;

-- In WHERE, SQLite asks the filter first. So absent keys are never looked up among the users.
CREATE TABLE requests(email TEXT);
INSERT INTO requests VALUES ('eve@example.org'), ('bob@example.org'), ('mallory@example.org');
SELECT u.id, u.email FROM requests r JOIN users u USING (email)
WHERE filter_contains('seen', r.email) ORDER BY u.id;

-- The same as a join. CROSS JOIN keeps the order. With JOIN and ORDER BY, SQLite may ask the
-- filter last, after all look-ups.
EXPLAIN QUERY PLAN
SELECT u.id, u.email FROM requests r CROSS JOIN seen USING (email) CROSS JOIN users u USING (email)
ORDER BY u.id;
SELECT u.id, u.email FROM requests r CROSS JOIN seen USING (email) CROSS JOIN users u USING (email)
ORDER BY u.id;

-- Which requests are definitely new?
SELECT email FROM requests WHERE NOT filter_contains('seen', email);
SELECT r.email FROM requests r LEFT JOIN seen s ON s.email = r.email WHERE s.email IS NULL;

-- DELETE removes one occurrence of a key that was added. All other keys stay.
DELETE FROM seen WHERE email = 'bob@example.org';
SELECT changes() AS removed;
SELECT count(*) AS keys, filter_contains('seen', 'bob@example.org') AS bob,
       filter_contains('seen', 'ada@example.org') AS ada FROM seen;

-- A filter follows transactions as any table does.
BEGIN;
INSERT INTO seen VALUES ('eve@example.org');
SELECT filter_contains('seen', 'eve@example.org') AS eve_before_rollback;
ROLLBACK;
SELECT filter_contains('seen', 'eve@example.org') AS eve_after_rollback;

-- How large it is, and how it is made.
SELECT name, kind, items, capacity, fpr, fingerprint_bits FROM filter_info('seen');
