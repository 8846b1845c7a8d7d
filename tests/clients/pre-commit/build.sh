#!/usr/bin/env bash
# Puts pre-commit into a folder: build.sh FOLDER.
set -euo pipefail
cd "$(dirname "$0")"
python3 -m venv "$1/python"
nice "$1/python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
