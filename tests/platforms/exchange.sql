-- Tables of each kind, changed, grown, removed from and collected; and each kind of image.
CREATE TABLE keys(k);
INSERT INTO keys WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  SELECT CASE i % 4 WHEN 0 THEN i * 7919 WHEN 1 THEN 'key ' || i WHEN 2 THEN i / 3.0
                    ELSE CAST('é' || i AS BLOB) END FROM n;

CREATE VIRTUAL TABLE cuckoo USING cuckoo_filter(k, seed = 7);
CREATE VIRTUAL TABLE cuckoo_wide USING cuckoo_filter(k, seed = 8, capacity = 3000, fpr = 1e-7);
CREATE VIRTUAL TABLE cuckoo_fixed USING cuckoo_filter(k, seed = 9, capacity = 30000, growth = off);
CREATE VIRTUAL TABLE cuckoo_window USING cuckoo_filter(k, seed = 10, generations = 3);
CREATE VIRTUAL TABLE bloom USING bloom_filter(k, seed = 11);
CREATE VIRTUAL TABLE bloom_blocked USING bloom_filter(k, seed = 12, capacity = 25000, layout = blocked, fpr = 0.02);
CREATE VIRTUAL TABLE bloom_counting USING bloom_filter(k, seed = 13, counting = on);
CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '4MB', seed = 14);
CREATE VIRTUAL TABLE ring USING hash_ring(seed = 15);
CREATE VIRTUAL TABLE slots USING hash_ring(algorithm = slots, seed = 16);
CREATE VIRTUAL TABLE ketama USING hash_ring(algorithm = ketama);
CREATE VIRTUAL TABLE clients USING hash_ring(algorithm = ketama, dialect = consistent, key_hash = one_at_a_time);

INSERT INTO cuckoo SELECT k FROM keys;
INSERT INTO cuckoo_wide SELECT k FROM keys;
INSERT INTO cuckoo_fixed SELECT k FROM keys;
INSERT INTO cuckoo_window SELECT k FROM keys WHERE rowid <= 7000;
INSERT INTO cuckoo_window(cuckoo_window) VALUES ('rotate');
INSERT INTO cuckoo_window SELECT k FROM keys WHERE rowid > 7000;
INSERT INTO bloom SELECT k FROM keys;
INSERT INTO bloom_blocked SELECT k FROM keys;
INSERT INTO bloom_counting SELECT k FROM keys;
DELETE FROM cuckoo WHERE k IN (SELECT k FROM keys WHERE rowid % 3 = 0);
DELETE FROM cuckoo_fixed WHERE k IN (SELECT k FROM keys WHERE rowid % 5 = 0);
DELETE FROM bloom_counting WHERE k IN (SELECT k FROM keys WHERE rowid % 7 = 0);

INSERT INTO kv SELECT k, 'value of ' || rowid || substr(hex(k), 1, 100) FROM keys WHERE rowid <= 4000;
INSERT OR REPLACE INTO kv SELECT k, rowid FROM keys WHERE rowid <= 4000 AND rowid % 2 = 0;
DELETE FROM kv WHERE k IN (SELECT k FROM keys WHERE rowid <= 4000 AND rowid % 9 = 0);
INSERT OR REPLACE INTO kv SELECT k, zeroblob(300) FROM keys WHERE rowid <= 4000 AND rowid % 3 = 0;

INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2.5), ('ç', 0.3), ('d', 7);
INSERT INTO slots(node, weight) VALUES ('a', 1), ('b', 2.5), ('ç', 0.3), ('d', 7), ('e', 1.1);
INSERT INTO ketama(node, weight) VALUES ('10.0.1.1:11211', 600), ('10.0.1.2:11211', 300),
  ('10.0.1.3:11211', 200), ('10.0.1.4:11211', 350);
INSERT INTO clients(node) SELECT node FROM ketama;
DELETE FROM slots WHERE node = 'b';
UPDATE ring SET weight = 3 WHERE node = 'a';

SELECT name, items, capacity, fpr, printf('%.6f', load_factor), disk_bytes, mark FROM filter_info ORDER BY name;
SELECT 'found', count(*), sum(filter_contains('cuckoo', k)), sum(filter_contains('cuckoo_wide', k)),
  sum(filter_contains('cuckoo_fixed', k)), sum(filter_contains('bloom', k)),
  sum(filter_contains('bloom_blocked', k)), sum(filter_contains('bloom_counting', k)) FROM keys;
SELECT 'false', sum(filter_contains('cuckoo', -rowid)), sum(filter_contains('bloom', -rowid)),
  sum(filter_contains('bloom_blocked', -rowid)) FROM keys;
SELECT 'rows', count(*), sum(length(v)), sum(typeof(v) = 'integer') FROM kv;
SELECT node, weight, printf('%.9f', share) FROM ring;
SELECT node, weight, printf('%.9f', share) FROM slots;
SELECT node, weight, printf('%.9f', share) FROM ketama;
SELECT 'owners', group_concat((SELECT node FROM ring WHERE key = keys.k), ''),
  group_concat((SELECT node FROM slots WHERE key = keys.k), ''),
  group_concat((SELECT node FROM ketama WHERE key = keys.k), ' ') FROM keys WHERE rowid < 200;
SELECT from_node, to_node, printf('%.9f', share) FROM hash_ring_moves('slots', 'remove', 'd');
SELECT from_node, to_node, printf('%.9f', share) FROM hash_ring_moves('ring', 'weight', 'd', 3);
SELECT hash_ring_mark('ring'), hash_ring_mark('slots'), hash_ring_mark('ketama'), hash_ring_mark('clients');
SELECT layout, bits_per_key, hashes, cell_bytes, disk_bytes_growth_on, disk_bytes_growth_off, image_bytes
  FROM filter_plan(123456, 0.003);
SELECT hex(filter_mark('cuckoo'));

SELECT writefile(t.name || '.image', filter_export(t.name)) FROM filter_info AS t
  WHERE name <> 'cuckoo_window';
SELECT writefile(t.name || '_hashes.image', filter_export(t.name, 'hashes')) FROM filter_info AS t
  WHERE name NOT IN ('cuckoo_window', 'cuckoo_fixed', 'bloom_counting');
SELECT writefile(column1 || '_ring.image', hash_ring_export(column1))
  FROM (VALUES ('ring'), ('slots'), ('ketama'), ('clients'));
SELECT writefile('built.image', (SELECT cuckoo_build(k) FROM keys));
SELECT writefile('built_bloom.image', (SELECT bloom_build(k, 0.001) FROM keys));
