#!/usr/bin/env bash
# Measures two revisions of the repository in the working directory, and compares them. action.yml runs it; so can any
# other CI. The environment has what to do:
#
#   BASE        the revision to compare with
#   PROGRAM     a package and its arguments, for stemma run; or
#   TESTS       packages, for stemma test, with
#   BENCHMARKS  a pattern of benchmarks to run instead of their tests
#   METRICS     for -metrics
#   LIMITS      flags for stemma diff, -gate if it is empty
#
# GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name files, as on GitHub; they may be unset. The exit code is that of stemma
# diff: 3 if a limit is exceeded.
set -euo pipefail

out=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/stemma-compare-XXXXXX")
here=$(git rev-parse --show-prefix)
git worktree add --quiet --detach "$out/tree" "${BASE:?set BASE to the revision to compare with}"
trap 'git worktree remove --force "$out/tree"' EXIT

# words TEXT prints the words of a text, one a line. Quotes keep a word together; a shell would also expand what is in it.
words() { xargs printf '%s\n' <<<"$1"; }

# measure DIR FILE records what is asked for in one state of the sources.
measure() (
	cd "$1"
	flags=(-deterministic "-metrics=${METRICS:-calls,alloc,ops}" -o "$2")
	if [ -n "${PROGRAM:-}" ]; then
		mapfile -t program < <(words "$PROGRAM")
		stemma run "${flags[@]}" "${program[@]}"
	else
		[ -z "${BENCHMARKS:-}" ] || flags+=(-run '^$' -bench "$BENCHMARKS")
		mapfile -t packages < <(words "${TESTS:-./...}")
		stemma test "${flags[@]}" "${packages[@]}"
	fi
)
measure "$out/tree/$here" "$out/base.stemma"
measure . "$out/new.stemma"

code=0
mapfile -t limits < <(words "${LIMITS:--gate}")
stemma diff "${limits[@]}" -markdown -annotate "$out/base.stemma" "$out/new.stemma" >"$out/summary.md" || code=$?
case $code in
0) result=kept ;;
3) result=exceeded ;;
*) result=failed ;;
esac
cat "$out/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
cat >>"${GITHUB_OUTPUT:-/dev/null}" <<END
result=$result
summary=$out/summary.md
base=$out/base.stemma
new=$out/new.stemma
END
exit $code
