#!/bin/sh
# Adds the session in the folder `results` to the history of this repository, and judges the newest level.
#
#     sh ci/keep-history.sh [OPTION...]
#
# The history is one file on a branch of its own, so that it lasts, and everybody can read it. The options are
# those of `taskgrain history`, such as --margin 10% or --known COMMIT. Ends with 1 if a cell became slower, or
# failed; writes history.html and junit.xml in any case.
set -eu

branch=taskgrain-history
: "${GIT_AUTHOR_NAME:=taskgrain}" "${GIT_AUTHOR_EMAIL:=taskgrain@localhost}"
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"

# Where the branch is not there yet, it begins with an empty commit.
if ! git ls-remote --exit-code origin "refs/heads/$branch" >/dev/null; then
  first=$(git commit-tree -m "Begin the history" "$(git mktree </dev/null)")
  git push --quiet origin "$first:refs/heads/$branch"
fi
git fetch --quiet origin "$branch"
rm -rf history
git worktree prune
git worktree add --quiet --detach history FETCH_HEAD

# First it is kept, then it is judged: a session with a regression belongs to the history, too.
taskgrain history history/history.jsonl --add results --json >/dev/null
git -C history add history.jsonl
if ! git -C history diff --cached --quiet; then
  git -C history commit --quiet -m "Add $(git rev-parse --short HEAD)"
  git -C history push --quiet origin "HEAD:refs/heads/$branch"
fi

taskgrain history history/history.jsonl --junit junit.xml --output history.html --fail-on-regression "$@"
