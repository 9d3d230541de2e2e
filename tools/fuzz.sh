#!/usr/bin/env bash
# Runs every fuzz target of the named packages, one after the other: tools/fuzz.sh 10m ./...
set -euo pipefail
time=$1
shift
# Lists the files that hold targets first, so that packages without any are not compiled.
go list -f '{{$p := .ImportPath}}{{$d := .Dir}}{{range .TestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}' "$@" |
	while read -r package file; do
		[ -n "$file" ] || continue
		sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file" | while read -r target; do
			echo "== $package $target"
			go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
		done
	done
