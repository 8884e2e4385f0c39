#!/bin/sh
# Makes docs/guide/view.png, the picture of README, from a real record. It needs chromium; arguments
# are passed on to it (as root: --no-sandbox).
set -eu
cd "$(dirname "$0")/../.."
docs=$PWD/docs/guide
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/stemma" ./cmd/stemma
src=$(go env GOROOT)/src/net
(cd "$tmp" && ./stemma run -o gofmt.stemma cmd/gofmt -l "$src" >/dev/null && ./stemma view -o page.html gofmt.stemma)
chromium --headless --disable-gpu --hide-scrollbars "$@" --window-size=1000,470 --virtual-time-budget=5000 \
	--screenshot="$docs/view.png" "file://$tmp/page.html#view=icicle"
