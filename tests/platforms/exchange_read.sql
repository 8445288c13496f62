-- Reads and changes what exchange.sql left, made on another processor. A row each that says "ok" when
-- all is well.
PRAGMA integrity_check;
SELECT iif(count(*) = 12 AND group_concat(DISTINCT cuckoo_check(column1)) = 'ok', 'ok', 'not checked')
  FROM (VALUES ('cuckoo'), ('cuckoo_wide'), ('cuckoo_fixed'), ('cuckoo_window'), ('bloom'),
  ('bloom_blocked'), ('bloom_counting'), ('kv'), ('ring'), ('slots'), ('ketama'), ('clients'));
SELECT 'kept', sum(filter_contains('cuckoo', k)), sum(filter_contains('cuckoo_wide', k)),
  sum(filter_contains('cuckoo_window', k)), sum(filter_contains('bloom', k)) FROM keys;
SELECT 'rows', count(*), sum(length(v)), sum(typeof(v) = 'integer') FROM kv;
SELECT 'owners', group_concat((SELECT node FROM ring WHERE key = keys.k), ''),
  group_concat((SELECT node FROM slots WHERE key = keys.k), ''),
  group_concat((SELECT node FROM ketama WHERE key = keys.k), ' ') FROM keys WHERE rowid < 200;

-- The other side's images.
SELECT name, sum(filter_contains(image, k)) FROM keys,
  (SELECT column1 AS name, readfile(column1 || '.image') AS image FROM (VALUES ('cuckoo'),
  ('cuckoo_hashes'), ('bloom'), ('bloom_blocked'), ('bloom_counting'), ('built'), ('built_bloom')))
  GROUP BY name ORDER BY name;
CREATE VIRTUAL TABLE ring_copy USING hash_ring;
INSERT INTO ring_copy(ring_copy, node) VALUES ('import', readfile('ring_ring.image'));
SELECT hash_ring_mark('ring'), iif(hash_ring_mark('ring_copy') = hash_ring_mark('ring'), 'ok', 'other owners');
INSERT INTO ring_copy(ring_copy, node) VALUES ('import', readfile('slots_ring.image'));
SELECT hash_ring_mark('slots'), iif(hash_ring_mark('ring_copy') = hash_ring_mark('slots'), 'ok', 'other owners');
INSERT INTO ring_copy(ring_copy, node) VALUES ('import', readfile('ketama_ring.image'));
SELECT hash_ring_mark('ketama'), iif(hash_ring_mark('ring_copy') = hash_ring_mark('ketama'), 'ok', 'other owners');
INSERT INTO ring_copy(ring_copy, node) VALUES ('import', readfile('clients_ring.image'));
SELECT hash_ring_mark('clients'), iif(hash_ring_mark('ring_copy') = hash_ring_mark('clients'), 'ok', 'other owners');
CREATE VIRTUAL TABLE imported USING cuckoo_filter(k, seed_of = cuckoo);
INSERT INTO imported(imported, k) VALUES ('import', readfile('cuckoo_hashes.image'));
SELECT hex(sha1(readfile('cuckoo_hashes.image'))), hex(filter_mark('imported'));

INSERT INTO cuckoo SELECT 'later ' || k FROM keys WHERE typeof(k) = 'text';
INSERT INTO bloom SELECT 'later ' || k FROM keys WHERE typeof(k) = 'text';
DELETE FROM cuckoo_wide WHERE k IN (SELECT k FROM keys WHERE rowid < 500);
INSERT INTO imported(imported, k) SELECT 'apply', filter_changes('cuckoo', filter_mark('imported'));
INSERT OR REPLACE INTO kv SELECT k, rowid FROM keys WHERE rowid % 2 = 0 AND rowid < 3000;
INSERT INTO slots(node) VALUES ('f');
UPDATE ketama SET weight = 700 WHERE node = '10.0.1.2:11211';
SELECT node, printf('%.9f', share) FROM slots UNION ALL SELECT node, printf('%.9f', share) FROM ketama;
SELECT name, items, capacity, hex(mark) FROM filter_info ORDER BY name;
