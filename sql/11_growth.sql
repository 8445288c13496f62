-- Growth: a filter made for 1000 keys gets 200,000. With growth = on (the default) it makes itself
-- larger from the hashes in its log: no key is given again, and the false positive rate still holds.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/11_growth.sql
.mode markdown

CREATE VIRTUAL TABLE seen USING cuckoo_filter(id INTEGER, capacity = 1000, fpr = 0.001, seed = 5);
SELECT items, capacity, fpr FROM filter_info('seen');

WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO seen SELECT i FROM n;
SELECT items, capacity >= items AS grown, fpr, fpr_now <= fpr AS holds FROM filter_info('seen');

-- All 200,000 are found. Of 1,000,000 absent keys, no more are found than the rate allows.
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
SELECT count(*) AS found FROM n CROSS JOIN seen ON seen.id = n.i;
WITH RECURSIVE n(i) AS (VALUES (1000001) UNION ALL SELECT i + 1 FROM n WHERE i < 2000000)
SELECT count(*) <= 0.001 * 1000000 AS false_positives_as_asked
FROM n CROSS JOIN seen ON seen.id = n.i;

-- One key any number of times costs one entry, and grows nothing.
CREATE VIRTUAL TABLE hits USING cuckoo_filter(path TEXT, capacity = 1000, fpr = 0.001, seed = 5);
INSERT INTO hits VALUES ('/about');
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO hits SELECT '/index' FROM n;
SELECT items, capacity FROM filter_info('hits');
SELECT path, count FROM hits WHERE path IN ('/index', '/about', '/none');

-- Smaller again: remove most keys, then ask for a size.
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 199000)
INSERT INTO seen(seen, id) SELECT 'delete', i FROM n;
INSERT INTO seen(seen, id) VALUES ('resize', 1000);
SELECT items, capacity, fpr_now <= fpr AS holds FROM filter_info('seen');
WITH RECURSIVE n(i) AS (VALUES (199001) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
SELECT count(*) AS found FROM n CROSS JOIN seen ON seen.id = n.i;

-- growth = off: fixed size, smallest on disk (no log of hashes is kept), full at its capacity.
CREATE VIRTUAL TABLE small USING cuckoo_filter(id INTEGER, capacity = 1000, growth = off, seed = 5);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO small SELECT i FROM n;
SELECT items, capacity FROM filter_info('small');

-- A Bloom filter grows in the same way, in either layout.
CREATE VIRTUAL TABLE met USING bloom_filter(id INTEGER, capacity = 1000, layout = blocked, seed = 5);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO met SELECT i FROM n;
SELECT items BETWEEN 99900 AND 100000 AS all_keys, capacity >= items AS grown, fpr_now <= fpr AS holds
FROM filter_info('met');
