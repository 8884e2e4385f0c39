#!/usr/bin/env bash
# Writes the file SUMMARY as a comment of the pull request NUMBER of the repository GITHUB_REPOSITORY, or over the
# comment that an earlier run has written about the same: WHAT tells apart what is compared. gh has to be logged in.
# The limits are the job's result: if there can be no comment, as with the read-only token of a fork's pull request,
# this is a warning.
set -euo pipefail

# GitHub takes 65,536 characters. The last ones say that there are more.
most=65000

marker="<!-- stemma $(cksum <<<"$WHAT" | tr ' ' -) -->"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
	echo "$marker"
	LC_ALL=C awk -v most=$((most - 200)) '
		(n += length($0) + 1) > most { cut = 1; exit }
		{ print }
		END { if (cut) print "\nThe rest is too long for a comment. The summary of the job has all of it." }' "$SUMMARY"
} >"$body"
comments=repos/$GITHUB_REPOSITORY/issues

# write writes the comment.
write() {
	local id
	id=$(gh api --paginate "$comments/$NUMBER/comments" \
		--jq ".[] | select(.body | startswith(\"$marker\")) | .id") || return
	id=${id##*$'\n'} # the last one
	if [ -n "$id" ]; then
		gh api --method PATCH "$comments/comments/$id" --field "body=@$body" --silent
	else
		gh pr comment "$NUMBER" --repo "$GITHUB_REPOSITORY" --body-file "$body"
	fi
}

if ! write; then
	echo "::warning title=stemma::no comment was written to pull request ${NUMBER:-(no number)}; the job needs" \
		"pull-requests: write, which a pull request of a fork does not give it. The summary of the job has the result."
fi
