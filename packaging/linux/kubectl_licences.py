"""The Go modules that a program was built of, and the texts of their licences."""

import os
import pathlib
import re
import subprocess

LICENCE_FILE = re.compile(r"^(LICEN[CS]E|COPYING|NOTICE)", re.IGNORECASE)


def modules(program):
    """Version of the module k8s.io/kubectl, and name and version of each module in the program."""
    text = subprocess.run(["go", "version", "-m", program], check=True, capture_output=True, text=True).stdout
    found = [tuple(fields[1:3]) for fields in (line.split() for line in text.splitlines()) if fields[:1] == ["dep"]]
    version = dict(found)["k8s.io/kubectl"]
    return re.sub(r"^v0\.", "v1.", version), sorted(found)


def cache_name(name):
    """As the module cache spells it: upper case is marked."""
    return re.sub(r"[A-Z]", lambda letter: "!" + letter[0].lower(), name)


def texts(found):
    cache = pathlib.Path(subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip())
    parts = ["kubectl is built from these Go modules. Each is followed by its own licence.\n"]
    for name, version in found:
        folder = cache / f"{cache_name(name)}@{version}"
        if not folder.is_dir():
            raise SystemExit(f"package: no sources of {name}@{version} in {cache}: ./run clients fetches them")
        files = [file for file in sorted(os.listdir(folder)) if LICENCE_FILE.match(file) and (folder / file).is_file()]
        if not files:
            raise SystemExit(f"package: {name}@{version} has no licence file")
        parts.append("=" * 80 + f"\n{name} {version}\n" + "=" * 80 + "\n")
        parts += [(folder / file).read_text(errors="replace") for file in files]
    return "\n".join(parts)
