-- A sliding window: who has been here in the last seven days? A filter of seven generations takes
-- today's visitors into the newest. Once a day 'rotate' begins a new generation and forgets the
-- oldest as a whole: no key is looked up and removed one by one. It takes the day's number, and
-- does nothing where the newest generation has that number. So any number of workers may ask.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/07_sliding_window.sql
.mode markdown

-- capacity: the keys of one day. fpr holds for all seven days together.
CREATE VIRTUAL TABLE recent USING cuckoo_filter(
  visitor INTEGER, generations = 7, capacity = 10000, fpr = 0.001, seed = 1);

-- 1000 visits on day 1, 2000 on day 2, and so on; 200 visitors of each day come again on the next.
CREATE TABLE visits(day INTEGER, visitor INTEGER);
WITH RECURSIVE
  day(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM day WHERE d < 9),
  n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
INSERT INTO visits
SELECT d, iif(d > 1 AND i <= 200, (d - 1) * 100000 + 500 + i, d * 100000 + i)
FROM day JOIN n ON i <= d * 1000;

-- What a nightly job does: a day begins, and its visitors come. With real days the number would be
-- unixepoch() / 86400.
CREATE TABLE days(day INTEGER PRIMARY KEY);
CREATE TRIGGER day_begins AFTER INSERT ON days BEGIN
  INSERT INTO recent(recent, visitor) VALUES ('rotate', new.day);
  INSERT INTO recent SELECT visitor FROM visits WHERE day = new.day;
END;

-- A week, the newest day first.
INSERT INTO days VALUES (1), (2), (3), (4), (5), (6), (7);
SELECT generations, rotation, generation_items, items FROM filter_info('recent');
SELECT count(*) AS day_1, sum(filter_contains('recent', visitor)) AS known
FROM visits WHERE day = 1;

-- Day 8 begins and day 1 is forgotten, except for the 200 visitors who came again on day 2.
-- (Others are found only by chance: one in a thousand, the rate that was asked for.)
INSERT INTO days VALUES (8);
SELECT generations, generation_items, items FROM filter_info('recent');
SELECT count(*) AS day_1, sum(filter_contains('recent', visitor)) AS known
FROM visits WHERE day = 1;
SELECT count(*) AS days_2_to_8, sum(filter_contains('recent', visitor)) AS known
FROM visits WHERE day BETWEEN 2 AND 8;

-- Who is new on day 9, and who has been here in the last seven days?
SELECT count(*) AS day_9, sum(NOT filter_contains('recent', visitor)) AS new
FROM visits WHERE day = 9;

-- Another process keeps a copy. It asks with its own mark, and gets new visitors and new days.
CREATE VIRTUAL TABLE copy USING cuckoo_filter(visitor INTEGER, generations = 7);
INSERT INTO copy(copy, visitor) SELECT 'import', filter_export('recent');
INSERT INTO days VALUES (9);
SELECT filter_behind('recent', filter_mark('copy')) AS behind;
INSERT INTO copy(copy, visitor) SELECT 'apply', filter_changes('recent', filter_mark('copy'));
SELECT generation_items, filter_mark('copy') = filter_mark('recent') AS same
FROM filter_info('copy');

-- 'clear' empties all generations. DELETE and UPDATE are errors: in a window they could lose a key.
INSERT INTO recent(recent) VALUES ('clear');
SELECT generations, generation_items, items FROM filter_info('recent');
