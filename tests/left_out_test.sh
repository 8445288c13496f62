#!/usr/bin/env bash
# After failures the test programs leave tests out (tests/support/main.cpp): which ones, and that the
# program fails all the same.
# usage: left_out_test.sh failing_sample
set -euo pipefail
program=$1

# runs name, expected exit code, options...: the tests that failed, and the lines about those left out.
runs() {
  local name=$1 expected=$2 rc=0 output
  shift 2
  output=$("$program" --gtest_brief=1 --gtest_print_time=0 "$@") || rc=$?
  if [ "$rc" -ne "$expected" ]; then
    printf '%s: exit code %d, expected %d:\n%s\n' "$name" "$rc" "$expected" "$output" >&2
    exit 1
  fi
  sed -nE 's/^\[  FAILED  \] ([^,]*).*/\1/p; s/^(.* left out).*/\1/p; /more failures|^the end/p' <<<"$output"
}

compare() {  # compare name expected found
  if [ "$2" != "$3" ]; then
    printf '%s: expected:\n%s\nfound:\n%s\n' "$1" "$2" "$3"
    exit 1
  fi
}

some='Typed/0.fails
Plain.fails_1
Plain.fails_2
Plain.fails_3
the end
10 more failures
Talkative.fails_often
Kinds/Parameterised.fails_from_two_on/2
Kinds/FailingFixture.fails/0
Kinds/FailingFixture.fails/2
FailingFixture: 2 left out
Parameterised: 7 left out
Plain: 2 left out
Typed: 2 left out'
once=$(runs 'one run' 1)
compare 'one run' "$some" "$once"
twice=$(runs 'two runs' 1 --gtest_repeat=2)
compare 'two runs' "$some"$'\n'"$some" "$twice"
passing=$(runs 'passing tests' 0 --gtest_filter='*.passes*')
compare 'passing tests' '' "$passing"

all=$(CUCKOO_KEEP_GOING=1 runs 'all' 1)
compare 'all' 19 "$(wc -l <<<"$all")"
compare 'all' '' "$(grep -E 'left out|more' <<<"$all")"
echo 'leaves out what it should'
