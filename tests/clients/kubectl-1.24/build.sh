#!/usr/bin/env bash
# Compiles kubectl of the version in go.mod, which it says of itself: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
export GOFLAGS=-mod=readonly CGO_ENABLED=0
version=$(go list -m -f '{{.Version}}' k8s.io/kubectl) # v0.24.17 is kubectl 1.24.17
version=1.${version#v0.}
nice go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" -o "$1/kubectl" .
"$1/kubectl" version --client 2>&1 | grep -q "v$version"
