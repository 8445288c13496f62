#!/usr/bin/env bash
# Sixteen machines with a database each, of which four join one day after another; a ring on each that
# says which of them has a key, and that heard of them in an order of its own; and a router that asks
# a machine only where the answer may be yes. Each machine keeps a filter of its keys; the router has
# copies of them, which it keeps up to date by changes: once a day, some lost, some sent twice, an
# image where a filter grew. Prints look-ups saved, bytes shipped, and what a copy does not know yet.
#
#   tests/cluster/router.sh [KEYS [DAYS]]     250,000 keys a machine, 5 days: a minute or two
set -euo pipefail

keys=${1:-250000}
days=${2:-5}
case "$keys$days" in
  *[!0-9]*)
    echo "usage: $0 [KEYS [DAYS]]" >&2
    exit 2
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/cluster/setup.sh
prepare python3
run_for $((900 + days * 10)) /usr/bin/python3 tests/cluster/router.py "$work" "$keys" "$days"
