-- A filter that keeps in step with a table: source says which column it holds, triggers = on makes
-- triggers that follow each INSERT, UPDATE and DELETE.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/09_source_and_triggers.sql
.mode markdown

CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO users SELECT i, printf('user%05d@example.org', i) FROM n;

-- It is loaded at once, and the key has the type of users.email.
CREATE VIRTUAL TABLE seen USING cuckoo_filter(
  email, source = users(email), triggers = on, seed = 1);
SELECT items, capacity >= items AS grown FROM filter_info('seen');
-- The names of the triggers end in eight digits, drawn at random.
SELECT substr(name, 1, length(name) - 9) AS name FROM sqlite_schema WHERE type = 'trigger';

-- What changes in the table changes in the filter, in the same transaction.
INSERT INTO users(email) VALUES ('ada@example.org'), (NULL);
UPDATE users SET email = 'bob@example.org' WHERE email = 'user00001@example.org';
DELETE FROM users WHERE email = 'user00002@example.org';
INSERT INTO users VALUES (3, 'cleo@example.org')
  ON CONFLICT (id) DO UPDATE SET email = excluded.email;
BEGIN;
DELETE FROM users;
SELECT count(*) AS keys_inside FROM seen;
ROLLBACK;
SELECT count(*) AS keys FROM seen;
SELECT email FROM seen WHERE email IN ('ada@example.org', 'bob@example.org', 'cleo@example.org',
  'user00001@example.org', 'user00002@example.org', 'user00003@example.org');

-- A gap in SQLite: REPLACE removes the old row without a DELETE trigger. Its key stays as one more
-- false positive. 'rebuild' loads the filter anew and repairs that.
REPLACE INTO users VALUES (4, 'dora@example.org');
SELECT filter_contains('seen', 'dora@example.org') AS dora,
       filter_contains('seen', 'user00004@example.org') AS user4_stale, count(*) AS keys FROM seen;
INSERT INTO seen(seen) VALUES ('rebuild');
SELECT filter_contains('seen', 'dora@example.org') AS dora,
       filter_contains('seen', 'user00004@example.org') AS user4, count(*) AS keys FROM seen;

-- With recursive_triggers there is no such gap.
PRAGMA recursive_triggers = on;
REPLACE INTO users VALUES (5, 'emil@example.org');
SELECT filter_contains('seen', 'emil@example.org') AS emil,
       filter_contains('seen', 'user00005@example.org') AS user5, count(*) AS keys FROM seen;

-- The triggers follow when the filter, the table or the column gets another name.
ALTER TABLE seen RENAME TO known;
ALTER TABLE users RENAME TO people;
ALTER TABLE people RENAME COLUMN email TO mail;
INSERT INTO people(mail) VALUES ('fay@example.org');
SELECT filter_contains('known', 'fay@example.org') AS fay;
SELECT substr(name, 1, length(name) - 9) AS name, tbl_name FROM sqlite_schema WHERE type = 'trigger';

-- A filter without triggers is as it was loaded. Run 'rebuild' now and then.
CREATE VIRTUAL TABLE nightly USING bloom_filter(
  mail, source = people(mail), triggers = off, layout = blocked, seed = 1);
DELETE FROM people WHERE id > 10000;
INSERT INTO nightly(nightly) VALUES ('rebuild');
SELECT name, items FROM filter_info;

-- Dropping the filter drops its triggers.
DROP TABLE known;
SELECT count(*) AS triggers_left FROM sqlite_schema WHERE type = 'trigger';
