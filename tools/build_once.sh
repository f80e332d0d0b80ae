# Sourced by the `setup` of a system that must be built or fetched: once for all checkouts of a user, in $XDG_CACHE_HOME or ~/.cache.
#
#     begin NAME KEY "$@"    with `--where` says where it is, or would be, and ends; ends, too, if it is there; else goes to a
#                            new folder. KEY is what the build is made of, such as a version.
#     logged WORDS…          runs a command whose words are only shown if it fails
#     finish                 puts ./stage$where in its place, $where: install with that prefix, and DESTDIR=$work/stage
#
# A build that fails leaves nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
# Without a home, as in a container, the checkout keeps it.
[[ -n $cache ]] && mkdir -p "$cache/taskgrain" 2>/dev/null || cache=$(dirname "${BASH_SOURCE[0]}")/../build/cache
cache=$(realpath --canonicalize-missing "$cache/taskgrain")  # holds in every folder

say() { printf '\033[1m%s:\033[0m %s\n' "$system" "$*" >&2; }

begin() {
  system=$1
  where=$cache/$1-$2
  [[ ${3:-} == --where ]] && echo "$where" && exit
  [[ -d $where ]] && exit
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/$1-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  cd "$work"
}

logged() {
  if ! "$@" >>"$work/build.log" 2>&1; then
    tail -n 20 "$work/build.log" >&2
    exit 1
  fi
}

finish() {
  # Another set-up may have been faster.
  mv --no-target-directory "$work/stage$where" "$where" 2>/dev/null || [[ -d $where ]]
  say "built"
}
