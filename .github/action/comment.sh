#!/usr/bin/env bash
# Writes the file SUMMARY as a comment of the pull request NUMBER of the repository GITHUB_REPOSITORY, or over the
# comment that an earlier run has written about the same: WHAT tells apart what is compared. gh has to be logged in.
set -euo pipefail

marker="<!-- stemma $(cksum <<<"$WHAT" | tr ' ' -) -->"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
	echo "$marker"
	cat "$SUMMARY"
} >"$body"
comments=repos/$GITHUB_REPOSITORY/issues
id=$(gh api --paginate "$comments/$NUMBER/comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | tail -n 1)
if [ -n "$id" ]; then
	gh api --method PATCH "$comments/comments/$id" --field "body=@$body" --silent
else
	gh pr comment "$NUMBER" --repo "$GITHUB_REPOSITORY" --body-file "$body"
fi
