#!/usr/bin/env bash
# Compiles the checks and gathers the libraries that they need in a folder: build.sh FOLDER.
set -euo pipefail
cp -r "$(dirname "$0")"/{pom.xml,src} "$1"
cd "$1"
nice mvn -q -B package dependency:copy-dependencies -DoutputDirectory=libraries
mv target/checks-1.jar libraries
rm -r target src
