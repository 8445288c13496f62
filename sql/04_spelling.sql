-- Spelling: a filter keeps each word of a dictionary in less than two bytes. A word that it does
-- not find is surely wrong. Only the few words that it finds are looked up in the dictionary
-- itself.
-- Reads /usr/share/dict/american-english (Debian: package wamerican); any list of words will do.
--   sqlite3 -cmd ".load build/release/cuckoo" <sql/04_spelling.sql
.mode markdown

CREATE TABLE raw(word TEXT);
.import /usr/share/dict/american-english raw
CREATE TABLE dictionary(word TEXT);
INSERT INTO dictionary SELECT DISTINCT lower(word) FROM raw WHERE word NOT LIKE '%''%';
DROP TABLE raw;

-- The filter is loaded from the dictionary, and made as large as that needs.
CREATE VIRTUAL TABLE spelling USING bloom_filter(word, source = dictionary(word), triggers = off, seed = 1);
SELECT items > 50000 AS many_words, round(bits_per_key / 8, 1) AS bytes_per_word
FROM filter_info('spelling');
SELECT count(*) AS words_not_found_again
FROM dictionary WHERE NOT filter_contains('spelling', word);

-- A text, cut into words: which are surely wrong?
CREATE TABLE text(id INTEGER PRIMARY KEY, word TEXT);
INSERT INTO text(word) SELECT value FROM json_each('["' || replace(
  'we recieve a definately small number of wrong words seperated by spaces and no punctuation '
  || 'becuase it is not neccessary to acheive our goal', ' ', '","') || '"]');
SELECT id, word AS wrong FROM text WHERE NOT filter_contains('spelling', word);

-- Suggestions: all words that differ from a wrong word by one changed, missing, added or swapped
-- letter.
CREATE TABLE candidates(wrong TEXT, word TEXT);
WITH RECURSIVE
  letter(a) AS (VALUES ('a') UNION ALL SELECT char(unicode(a) + 1) FROM letter WHERE a < 'z'),
  wrong(w) AS (SELECT word FROM text WHERE NOT filter_contains('spelling', word)),
  cut(w, i, head, tail) AS (
    SELECT w, 0, '', w FROM wrong
    UNION ALL SELECT w, i + 1, substr(w, 1, i + 1), substr(w, i + 2) FROM cut WHERE i < length(w))
INSERT INTO candidates
SELECT w, head || a || tail FROM cut, letter
UNION SELECT w, head || a || substr(tail, 2) FROM cut, letter WHERE tail <> ''
UNION SELECT w, head || substr(tail, 2) FROM cut WHERE tail <> ''
UNION SELECT w, head || substr(tail, 2, 1) || substr(tail, 1, 1) || substr(tail, 3) FROM cut
      WHERE length(tail) > 1;

-- The filter drops nearly all of them, so the dictionary needs no index.
CREATE TABLE maybe AS
SELECT wrong, word FROM candidates WHERE filter_contains('spelling', word);
SELECT (SELECT count(*) FROM candidates) AS candidates, count(*) < 20 AS nearly_all_dropped
FROM maybe;
SELECT wrong, group_concat(word, ' ') AS meant
FROM (SELECT * FROM maybe WHERE word IN (SELECT word FROM dictionary) ORDER BY wrong, word)
GROUP BY wrong ORDER BY wrong;
