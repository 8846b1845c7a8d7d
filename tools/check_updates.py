#!/usr/bin/env python3
"""Which libraries that porthole is linked with are installed in a version for which Debian has a security update: check_updates.py.

The libraries are those of the tables in docs/dependencies.md; what there is for them, apt's lists say: `apt-get update` fetches these. The exit
code is 1 if a library has an update, which is printed with the remedy.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging/linux"))
from materials import table  # noqa: E402

TABLES = ("Linked into porthole", "Linked into the Windows programs")


def linked_packages(text):
    return sorted({package for heading in TABLES for _, packages, _ in table(heading, text) for package in packages.split(", ")})


def policy(packages):
    return subprocess.run(["apt-cache", "policy", *packages], check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stdout


def security_updates(told):
    """{package: (installed version, that of the security archive)} of what `apt-cache policy` tells: newest versions first, `***` at the
    installed one."""
    found, package, newer = {}, "", ""
    for line in told.splitlines():
        if not line.startswith(" "):
            package, newer = line.rstrip(":"), ""
        elif version := re.match(r" (\*\*\*|   ) (\S+) -?\d+$", line):
            installed, version = version.group(1) == "***", version.group(2)
            if installed and newer:
                found[package] = (version, newer)
            if installed:
                package = ""  # older ones follow
            seen = version
        elif package and not newer and re.match(r" +-?\d+ \S+ \S+-security/", line):
            newer = seen
    return found


def main():
    packages = linked_packages((ROOT / "docs/dependencies.md").read_text())
    updates = security_updates(policy(packages))
    for package, (installed, newer) in updates.items():
        print(f"{package} {installed} is linked, and {newer} has security fixes", file=sys.stderr)
    if updates:
        sys.exit(f"remedy: apt-get install --only-upgrade {' '.join(updates)}, and build again")


if __name__ == "__main__":
    main()
