#!/usr/bin/env bash
# Compiles controller-runtime's own tests, of the packages that lines of suites.txt begin with, each into a folder of its name: build.sh FOLDER.
# What else is in a line are arguments of that suite: apiutil leaves out what needs a server without aggregated discovery, and the tests of the
# manager's integration leave behind what only a new server does not have; client leaves out the three that want items of lists without a kind.
set -euo pipefail
cd "$(dirname "$0")"
read -r module version <module.txt
names=$(cut -d " " -f 1 suites.txt | uniq)
folder=$(GOFLAGS=-mod=mod go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cd "$folder"
for name in $names; do
    mkdir -p "$1/$name"
    CGO_ENABLED=0 nice go test -c -vet=off -trimpath -ldflags "-s -w" -o "$1/$name/suite" "./pkg/$name"
    [ ! -d "pkg/$name/testdata" ] || cp -r "pkg/$name/testdata" "$1/$name"
done
chmod -R u+w "$1"
