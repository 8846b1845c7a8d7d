#!/usr/bin/env bash
# Compiles the programs that go.mod calls tools: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
GOFLAGS=-mod=readonly CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w" -o "$1/" tool
