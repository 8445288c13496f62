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

-- In WHERE it comes before the look-up of the users, and spares it for what is absent.
CREATE TABLE requests(email TEXT);
INSERT INTO requests VALUES ('eve@example.org'), ('bob@example.org'), ('mallory@example.org');
SELECT u.id, u.email FROM requests r JOIN users u USING (email)
WHERE filter_contains('seen', r.email) ORDER BY u.id;

-- The same as a join. CROSS JOIN keeps the order: with JOIN and ORDER BY, SQLite may ask the filter
-- last, when all look-ups are made.
EXPLAIN QUERY PLAN
SELECT u.id, u.email FROM requests r CROSS JOIN seen USING (email) CROSS JOIN users u USING (email)
ORDER BY u.id;
SELECT u.id, u.email FROM requests r CROSS JOIN seen USING (email) CROSS JOIN users u USING (email)
ORDER BY u.id;

-- Which requests are definitely new?
SELECT email FROM requests WHERE NOT filter_contains('seen', email);
SELECT r.email FROM requests r LEFT JOIN seen s ON s.email = r.email WHERE s.email IS NULL;

-- Removing takes out one occurrence, and never hurts another key that is there.
DELETE FROM seen WHERE email = 'bob@example.org';
SELECT changes() AS removed;
SELECT count(*) AS keys, filter_contains('seen', 'bob@example.org') AS bob,
       filter_contains('seen', 'ada@example.org') AS ada FROM seen;

-- It follows transactions as any table does.
BEGIN;
INSERT INTO seen VALUES ('eve@example.org');
SELECT filter_contains('seen', 'eve@example.org') AS eve_before_rollback;
ROLLBACK;
SELECT filter_contains('seen', 'eve@example.org') AS eve_after_rollback;

-- What it is made of.
SELECT name, kind, items, capacity, fpr, fingerprint_bits FROM filter_info('seen');
