#!/usr/bin/env bash
# Measures two revisions of the repository in the working directory, and compares them. action.yml runs it; so can any
# other CI. The environment has what to do:
#
#   BASE        the revision to compare with
#   PULL        the head of a pull request, if what is checked out is it or its merge: then it is compared with what it
#               is merged into, or with where it left BASE
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
temporary=$(mktemp -d)
result=failed

# report says what came of it, whatever that is: who reads an earlier result must not take it for this one's.
report() {
	if [ $result = failed ]; then # what diff has printed until it failed is no result
		printf '❌ stemma could not compare this revision with %s: see the log of this job.\n' "${BASE:-no BASE}" \
			>"$out/summary.md"
	fi
	if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
		cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
	else
		cat "$out/summary.md" # /dev/stdout, opened anew, would have a place of its own in a file
	fi
	cat >>"${GITHUB_OUTPUT:-/dev/null}" <<-END
		result=$result
		summary=$out/summary.md
		base=$out/base.stemma
		new=$out/new.stemma
	END
	[ ! -d "$out/tree" ] || git worktree remove --force "$out/tree" || true
	chmod -R u+rwX "$temporary" && rm -rf "$temporary" || true
}
trap report EXIT
: "${BASE:?set BASE to the revision to compare with}"
if [ -n "${PULL:-}" ]; then
	# BASE may be older than what GitHub has merged the pull request into.
	if [ "$(git rev-parse --quiet --verify HEAD^2 || true)" = "$PULL" ]; then
		BASE=HEAD^1
	else
		BASE=$(git merge-base HEAD "$BASE" 2>/dev/null || echo "$BASE")
	fi
fi

git worktree add --quiet --detach "$out/tree" "$BASE"

# words NAME TEXT makes NAME the array of the words of a text. Quotes keep a word together, as in a shell, which would
# also expand what is in it. What is no list of words ends the script.
words() {
	local list
	list=$(xargs -r printf '%s\n' <<<"$2") || {
		echo "$1: cannot take this apart into words; close each quote: $2" >&2
		return 1
	}
	mapfile -t "$1" < <([ -z "$list" ] || printf '%s\n' "$list")
}

# measure DIR FILE records what is asked for in one state of the sources. Names of temporary files repeat as well: what
# one run leaves would be in the way of the other.
measure() (
	mkdir "$temporary/t"
	export TMPDIR=$temporary/t
	cd "$1"
	flags=(-deterministic "-metrics=${METRICS:-calls,alloc,ops}" -o "$2")
	if [ -n "${PROGRAM:-}" ]; then
		words program "$PROGRAM"
		stemma run "${flags[@]}" "${program[@]}"
	else
		[ -z "${BENCHMARKS:-}" ] || flags+=(-run '^$' -bench "$BENCHMARKS")
		words packages "${TESTS:-./...}"
		stemma test "${flags[@]}" "${packages[@]}"
	fi
)
words limits "${LIMITS:--gate}"
measure "$out/tree/$here" "$out/base.stemma"
mv "$temporary/t" "$temporary/base"
measure . "$out/new.stemma"

code=0
stemma diff "${limits[@]}" -markdown -annotate "$out/base.stemma" "$out/new.stemma" >"$out/summary.md" || code=$?
case $code in
0) result=kept ;;
3) result=exceeded ;;
*) result=failed ;;
esac
exit $code
