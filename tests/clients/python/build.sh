#!/usr/bin/env bash
# Puts the checks and the newest client into a folder: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
cp checks.py "$1"
python3 -m venv "$1/python"
nice "$1/python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
