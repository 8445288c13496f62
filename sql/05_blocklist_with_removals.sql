-- A blocklist whose entries expire: addresses come from several sources, and are removed again. A
-- cuckoo filter counts occurrences. So if two sources list an address and one of them removes it,
-- the address stays.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/05_blocklist_with_removals.sql
.mode markdown

CREATE TABLE reports(source TEXT, address TEXT, PRIMARY KEY (source, address));
CREATE VIRTUAL TABLE blocked USING cuckoo_filter(address TEXT, capacity = 10000, fpr = 1e-6, seed = 3);

-- Triggers on the ordinary table keep the filter in step with it. (The options source and triggers
-- would write them, too.)
CREATE TRIGGER report_added AFTER INSERT ON reports BEGIN
  INSERT INTO blocked VALUES (new.address);
END;
CREATE TRIGGER report_removed AFTER DELETE ON reports BEGIN
  DELETE FROM blocked WHERE address = old.address;
END;

-- Two sources, 6000 reports, 1000 addresses in both.
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
INSERT INTO reports
SELECT 'honeypot', printf('10.0.%d.%d', i / 250, i % 250) FROM n
UNION ALL SELECT 'mail', printf('10.0.%d.%d', (i + 2000) / 250, i % 250) FROM n;
SELECT count(*) AS reports, count(DISTINCT address) AS addresses FROM reports;
SELECT count(*) AS keys FROM blocked;

-- count: how often an address was added.
SELECT address, count FROM blocked WHERE address IN ('10.0.1.1', '10.0.9.9', '10.0.99.1');

-- One source withdraws all of its reports.
DELETE FROM reports WHERE source = 'honeypot';
SELECT count(*) AS keys FROM blocked;
SELECT filter_contains('blocked', '10.0.1.1') AS only_honeypot,
       filter_contains('blocked', '10.0.9.9') AS both,
       filter_contains('blocked', '10.0.15.5') AS only_mail;
SELECT count(*) AS reported_but_not_blocked
FROM reports WHERE NOT filter_contains('blocked', address);

-- To remove a key that was never added changes nothing, because the filter sees that it is absent.
-- (Once in a million, the rate fpr, it removes another key's fingerprint. So don't rely on it.)
DELETE FROM blocked WHERE address = '192.0.2.1';
SELECT changes() AS removed;

-- A part of a transaction that is rolled back leaves no trace.
BEGIN;
INSERT INTO reports VALUES ('admin', '192.0.2.7');
SAVEPOINT cleaning;
DELETE FROM reports WHERE source = 'mail';
SELECT count(*) AS keys_inside FROM blocked;
ROLLBACK TO cleaning;
COMMIT;
SELECT count(*) AS keys_after FROM blocked;

-- Many at once, one occurrence for each row: the command 'delete'.
INSERT INTO blocked(blocked, address)
SELECT 'delete', address FROM reports WHERE address LIKE '10.0.8.%';
SELECT count(*) AS keys FROM blocked;

-- Every page, counter and log entry is as it must be; otherwise this is an error that says what is
-- wrong. Then empty it.
INSERT INTO blocked(blocked) VALUES ('check');
INSERT INTO blocked(blocked) VALUES ('clear');
SELECT count(*) AS keys FROM blocked;
