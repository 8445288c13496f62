# shellcheck shell=bash
# Sourced, in the repository. Sets with which part of its work a random test begins: another one after each
# commit. It follows from the commit's time, because a shallow clone does not know how many there are.
time=$(git log -1 --format=%ct 2>/dev/null) || time=0
export CUCKOO_MODEL_FIRST="${CUCKOO_MODEL_FIRST:-$(((time % 1000000 + 1) * 1009))}"
