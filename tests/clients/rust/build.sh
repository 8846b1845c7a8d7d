#!/usr/bin/env bash
# Compiles the checks into a folder: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
CARGO_TARGET_DIR=$1/target nice cargo build --locked
mv "$1/target/debug/checks" "$1"
rm -r "$1/target"
