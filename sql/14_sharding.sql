-- Sharding: in which of several databases is a user's row? A hash ring tells from the key alone.
-- If a node is lost, only its rows move. With "id modulo nodes" nearly all rows would.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/14_sharding.sql
.mode markdown

-- Four nodes, each a database of its own (here in memory); the fourth has twice the disk.
ATTACH ':memory:' AS north;
ATTACH ':memory:' AS east;
ATTACH ':memory:' AS south;
ATTACH ':memory:' AS west;
CREATE TABLE north.users(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE east.users(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE south.users(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE west.users(id INTEGER PRIMARY KEY, name TEXT);

-- algorithm = slots has the most even shares, and is the fastest. share: the part of the key
-- space.
CREATE VIRTUAL TABLE ring USING hash_ring(key INTEGER, algorithm = slots);
INSERT INTO ring(node, weight) VALUES ('north', 1), ('east', 1), ('south', 1), ('west', 2);
SELECT node, weight, round(share, 6) AS share FROM ring;

-- 100,000 users. A view finds the node of each by a join.
CREATE TABLE signups(id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO signups SELECT i, printf('user%05d', i * 7919 % 100000) FROM n;
CREATE VIEW placed AS SELECT s.id, s.name, r.node FROM signups s JOIN ring r ON r.key = s.id;
INSERT INTO north.users SELECT id, name FROM placed WHERE node = 'north';
INSERT INTO east.users SELECT id, name FROM placed WHERE node = 'east';
INSERT INTO south.users SELECT id, name FROM placed WHERE node = 'south';
INSERT INTO west.users SELECT id, name FROM placed WHERE node = 'west';
CREATE TEMP VIEW stored AS
SELECT 'north' AS node, id, name FROM north.users UNION ALL
SELECT 'east', id, name FROM east.users UNION ALL
SELECT 'south', id, name FROM south.users UNION ALL
SELECT 'west', id, name FROM west.users;
SELECT node, count(*) AS users FROM stored GROUP BY node ORDER BY node;

-- Another machine that ran the same statements (here: another database) names the same owners.
CREATE VIRTUAL TABLE west.ring USING hash_ring(key INTEGER, algorithm = slots);
INSERT INTO west.ring(node, weight) VALUES ('north', 1), ('east', 1), ('south', 1), ('west', 2);
SELECT count(*) AS users, sum(here.node = there.node) AS same_owner FROM signups s
JOIN main.ring here ON here.key = s.id JOIN west.ring there ON there.key = s.id;

-- One user's node, and the next two: for copies, or if the first does not answer.
SELECT replica, node FROM ring WHERE key = 4711 AND replicas = 3;

-- What if we lose east? Asked before anything is done.
SELECT from_node, to_node, printf('%.1f %%', 100 * share) AS of_all_keys
FROM hash_ring_moves('ring', 'remove', 'east');

-- We lose it. Its users are read back from where they signed up and stored where they belong now.
CREATE TABLE before AS SELECT id, node FROM placed;
DELETE FROM ring WHERE node = 'east';
DELETE FROM east.users;
CREATE TABLE lost AS SELECT p.* FROM placed p JOIN before b USING (id) WHERE b.node = 'east';
INSERT INTO north.users SELECT id, name FROM lost WHERE node = 'north';
INSERT INTO south.users SELECT id, name FROM lost WHERE node = 'south';
INSERT INTO west.users SELECT id, name FROM lost WHERE node = 'west';

-- Only east's users moved. The others are where they were, and all users are found.
SELECT b.node AS from_node, p.node AS to_node, count(*) AS users
FROM before b JOIN placed p USING (id) WHERE b.node <> p.node GROUP BY 1, 2;
SELECT count(*) AS users, sum(s.node = r.node) AS where_they_belong
FROM stored s JOIN ring r ON r.key = s.id;

-- The same loss with "id modulo nodes".
SELECT 'modulo' AS method, count(*) AS users_that_change_node FROM signups WHERE id % 4 <> id % 3
UNION ALL
SELECT 'hash_ring', count(*) FROM before b JOIN placed p USING (id) WHERE b.node <> p.node;

-- North gets a larger disk. Users move only to north, and none between the other nodes.
SELECT from_node, to_node, printf('%.1f %%', 100 * share) AS of_all_keys
FROM hash_ring_moves('ring', 'weight', 'north', 3);
DELETE FROM before;
INSERT INTO before SELECT id, node FROM placed;
UPDATE ring SET weight = 3 WHERE node = 'north';
SELECT node, weight, round(share, 4) AS share FROM ring;
SELECT b.node AS from_node, p.node AS to_node, count(*) AS users
FROM before b JOIN placed p USING (id) WHERE b.node <> p.node GROUP BY 1, 2;

-- West missed all of that. Marks say whether two machines agree. An image hands the ring over.
SELECT hash_ring_mark('main.ring') = hash_ring_mark('west.ring') AS they_agree;
INSERT INTO west.ring(ring, node) SELECT 'import', hash_ring_export('main.ring');
SELECT hash_ring_mark('main.ring') = hash_ring_mark('west.ring') AS they_agree,
  sum(here.node = there.node) AS same_owner
FROM signups s JOIN main.ring here ON here.key = s.id JOIN west.ring there ON there.key = s.id;

-- Check what is stored. An error would say what is wrong.
INSERT INTO ring(ring) VALUES ('check');
