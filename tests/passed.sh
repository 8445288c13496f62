# shellcheck shell=bash
# Sourced. Remembers on this machine, for all clones, what has passed: a check's name, and a number that
# stands for all bytes that the check read. What was not asked for in 30 days is forgotten.
#
#   has_passed check number
#   note_passed check number

passed_dir=${XDG_CACHE_HOME:-$HOME/.cache}/sqlite-cuckoo
mkdir -p "$passed_dir"
find "$passed_dir" -type f -mtime +30 -delete

has_passed() {
  [ -e "$passed_dir/$1-$2" ] && touch "$passed_dir/$1-$2"
}

note_passed() {
  : >"$passed_dir/$1-$2"
}

export -f has_passed note_passed
export passed_dir
