#!/usr/bin/env bash
# Compiles the terminal console kdash from its crate, with the crate's own lock file: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
read -r crate <crate.txt
export CARGO_TARGET_DIR=$1/target CARGO_PROFILE_DEV_DEBUG=0
nice cargo install --quiet --locked --debug --no-track --root "$1" "$crate"
rm -r "$1/target"
