-- Shipping a filter: a server knows 100,000 revoked certificates. Its clients need a quick first
-- answer without the list. The server sends its filter as one BLOB, an image: 1.6 bytes a key.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/08_shipping_a_filter.sql
.mode markdown

CREATE TABLE revoked(serial TEXT PRIMARY KEY, authority TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO revoked
SELECT printf('%016x', i * 2654435761 % 4294967296 * 65537), printf('authority %d', i % 3) FROM n;
CREATE VIRTUAL TABLE bad USING cuckoo_filter(
  serial, source = revoked(serial), triggers = on, capacity = 100000, seed = 1);

-- The client's database, here in memory. It gets the image and nothing else.
ATTACH ':memory:' AS client;
CREATE TABLE client.filters(name TEXT PRIMARY KEY, image BLOB);
INSERT INTO client.filters VALUES ('bad', filter_export('bad'));
SELECT f.name, kind, items, fpr, round(length(image) / 1e5, 1) AS bytes_per_key
FROM client.filters f, filter_info(f.image);

-- For one question, ask the BLOB itself.
SELECT filter_contains(image, (SELECT serial FROM revoked WHERE rowid = 1)) AS revoked,
       filter_contains(image, '0123456789abcdef') AS not_revoked
FROM client.filters WHERE name = 'bad';

-- For many questions, import it into a table, because SQLite would copy the BLOB for each row. Of
-- 100,000 certificates, one in 100 is revoked. For which must the client ask the server?
CREATE TABLE client.certificates(serial TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO client.certificates
SELECT printf('%016x', iif(i % 100 = 0, i, 1000000 + i) * 2654435761 % 4294967296 * 65537) FROM n;
CREATE VIRTUAL TABLE temp.bad_here USING cuckoo_filter(serial TEXT);
INSERT INTO bad_here(bad_here, serial)
SELECT 'import', image FROM client.filters WHERE name = 'bad';
SELECT count(*) AS certificates, sum(filter_contains('bad_here', serial)) AS to_ask,
       sum(serial IN (SELECT serial FROM revoked)) AS revoked
FROM client.certificates;

-- Two statements keep the client up to date. The first one runs at the server, with the mark of
-- the client's copy. It gives what was added and removed since, or the image if nothing else
-- helps. The second one runs at the client, and applies that.
INSERT INTO revoked VALUES ('fffffffffffffffe', 'authority 0'), ('ffffffffffffffff', 'authority 1');
DELETE FROM revoked WHERE rowid = 1;
CREATE TEMP TABLE message AS
SELECT filter_behind('bad', filter_mark('bad_here')) AS changes,
       filter_changes('bad', filter_mark('bad_here')) AS bytes;
INSERT INTO bad_here(bad_here, serial) SELECT 'apply', bytes FROM message;
SELECT changes, length(bytes) AS bytes, filter_contains('bad_here', 'ffffffffffffffff') AS revoked,
       filter_mark('bad_here') = filter_mark('bad') AS up_to_date
FROM message;

-- Without any filter table: an aggregate makes an image of rows, here one for each authority.
-- Images with one fpr and one capacity, large enough for all keys, can be united, wherever they
-- were made.
INSERT INTO client.filters
SELECT authority, bloom_build(serial, 0.001, 100000) FROM revoked GROUP BY authority;
INSERT INTO client.filters
SELECT 'all authorities', filter_union(image) FROM client.filters WHERE name LIKE 'authority %';
SELECT f.name, kind, printf('%.0f', items / 1000.0) AS thousands
FROM client.filters f, filter_info(f.image)
WHERE f.name LIKE '%authorit%';
SELECT count(*) AS asked, sum(filter_contains(image, serial)) AS found
FROM client.filters CROSS JOIN revoked WHERE name = 'all authorities' AND revoked.rowid % 100 = 0;

-- An image with hashes becomes a table that you can go on using: it takes new keys, removes
-- others, and grows. (An image without hashes is smaller, and full at its capacity.)
CREATE VIRTUAL TABLE client.mine USING cuckoo_filter(serial TEXT);
INSERT INTO mine(mine, serial) VALUES ('import', filter_export('bad', 'hashes'));
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO mine SELECT 'own ' || i FROM n;
DELETE FROM mine WHERE serial = 'own 1';
SELECT items, capacity >= items AS grown, fpr_now <= fpr AS as_asked
FROM filter_info('client.mine');

-- Two tables with one seed can be merged, whatever their sizes. The image brought its seed along.
CREATE VIRTUAL TABLE more USING cuckoo_filter(serial TEXT, seed_of = 'client.mine');
INSERT INTO more VALUES ('one'), ('two');
INSERT INTO mine(mine, serial) VALUES ('merge', 'main.more');
SELECT items, filter_contains('client.mine', 'two') AS two FROM filter_info('client.mine');
