#!/usr/bin/env bash
# The runner of tests/ext/**/*.test must fail where a case is wrong, and say in which line: runs cases
# that fail on purpose.
# usage: sql_cases_test.sh ext_tests
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/sample.test" <<'CASES'
SELECT 'before any case';

# SqlCasesSample
CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);

# SqlCasesSample.passes
SELECT a, NULL FROM t; ---- 1|NULL,2|NULL
SELECT a FROM t WHERE a > 2; ---- none
SELECT a FROM t;
----
1
2

SELECT sum(i) FROM numbers(3, 5); ---- 12
foreach {a} {b} | 1 | one
| 2 | two
SELECT {a} || '{b}'; ---- {a}{b}
end
SELECT count(*) FROM t; ---- as {rows}
foreach {} | 1..2
SELECT {} < {rows} + 1; ---- 1
end
INSERT INTO t SELECT {rows} + 1; SELECT max(a) FROM t; ---- 3
SELECT missing; ---- error: no such column | missing
since SQLite 3.8
before SQLite 3.999
SELECT count(*) FROM t; ---- 3
since SQLite 3.999
SELECT 1; ---- 2

# SqlCasesSample.connections_share_a_file
@b SELECT count(*) FROM t; ---- 2
@b/other.db CREATE TABLE t(a); SELECT count(*) FROM t; ---- 0
@a BEGIN IMMEDIATE;
@b INSERT INTO t VALUES (3); ---- BUSY: locked
close @a
@b INSERT INTO t VALUES (3); SELECT count(*) FROM t; ---- 3
new database
@b SELECT count(*) FROM sqlite_schema; ---- 0

# SqlCasesSample.ends_before_newer_versions
SELECT count(*) FROM t; ---- 2
before SQLite 3.8
SELECT 1; ---- 2

# SqlCasesSample.gives_other_rows
SELECT a FROM t; ---- 1

# SqlCasesSample.has_no_rows
SELECT a FROM t WHERE a > 2; ---- 1

# SqlCasesSample.fails
SELECT nothing;
SELECT 1; ---- 1

# SqlCasesSample.fails_where_rows_are_expected
SELECT nothing; ---- 1

# SqlCasesSample.does_not_fail
SELECT 1; ---- error

# SqlCasesSample.fails_with_another_text
SELECT nothing; ---- error: something

# SqlCasesSample.fails_with_another_code
SELECT nothing; ---- BUSY

# SqlCasesSample.fails_before_the_last_statement
SELECT nothing; SELECT 1; ---- error

# SqlCasesSample.expects_nothing
SELECT 1;

# SqlCasesSample.keeps_and_expects_nothing
SELECT 1; ---- as {one}

# SqlCasesSample.expects_nothing_of_a_statement
SELECT 1; ----

# SqlCasesSample.has_no_statement
---- 1

# SqlCasesSample.has_a_directive_that_is_unknown
repeat 3
SELECT 1; ---- 1

# SqlCasesSample.has_too_few_cells
foreach {a} {b} | 1 | 2 | 3
SELECT {a}; ---- {a}
end

# SqlCasesSample.passes
SELECT 1; ---- 1
CASES

expected='1 SqlCases.sample
47 SqlCasesSample.gives_other_rows
50 SqlCasesSample.has_no_rows
54 SqlCasesSample.fails
57 SqlCasesSample.fails_where_rows_are_expected
60 SqlCasesSample.does_not_fail
63 SqlCasesSample.fails_with_another_text
66 SqlCasesSample.fails_with_another_code
69 SqlCasesSample.fails_before_the_last_statement
73 SqlCasesSample.expects_nothing
76 SqlCasesSample.keeps_and_expects_nothing
78 SqlCasesSample.expects_nothing_of_a_statement
81 SqlCasesSample.has_no_statement
85 SqlCasesSample.has_a_directive_that_is_unknown
88 SqlCasesSample.has_too_few_cells
92 SqlCasesSample.passes_again'
rc=0
output=$(CUCKOO_SQL_CASES=$folder CUCKOO_KEEP_GOING=1 "$program" --gtest_brief=1 \
  --gtest_filter='SqlCases*') || rc=$?
found=$(sed -nE 's/^.*sample\.test:([0-9]+): Failure$/\1/p; s/^\[  FAILED  \] (SqlCases[A-Za-z_.]*) .*/ \1/p' \
  <<<"$output" | tr -d '\n' | sed -E 's/ (SqlCases[A-Za-z_.]*)/ \1\n/g')
if [ "$rc" -ne 1 ] || [ "$(sort -n <<<"$found")" != "$expected" ]; then
  printf 'exit code %d, expected 1; expected:\n%s\nfound:\n%s\n' "$rc" "$expected" "$found"
  exit 1
fi
echo 'each wrong case fails in its line'
