"""The Go modules that a program was built of, and the texts of their licences."""

import os
import pathlib
import re
import subprocess

LICENCE_FILE = re.compile(r"^(LICEN[CS]E|COPYING|NOTICE)", re.IGNORECASE)
# What only the text of that licence says, or whoever grants it. Some modules are under several.
PHRASES = {
    "Apache-2.0": r"apache license,? version 2\.0",
    "MIT": r"permission is hereby granted, free of charge",
    "ISC": r"permission to use, copy, modify, and(/or)? distribute this software for any purpose",
    "MPL-2.0": r"mozilla public license,? version 2\.0",
    "BSD-3-Clause": r"redistribution and use in source and binary forms.*endorse or promote products",
    "BSD-2-Clause": r"redistribution and use in source and binary forms(?!.*endorse or promote products)",
}


def modules(program):
    """Version of the module k8s.io/kubectl, and name and version of each module in the program."""
    text = subprocess.run(["go", "version", "-m", program], check=True, capture_output=True, text=True).stdout
    found = [tuple(fields[1:3]) for fields in (line.split() for line in text.splitlines()) if fields[:1] == ["dep"]]
    version = dict(found)["k8s.io/kubectl"]
    return re.sub(r"^v0\.", "v1.", version), sorted(found)


def cache_name(name):
    """As the module cache spells it: upper case is marked."""
    return re.sub(r"[A-Z]", lambda letter: "!" + letter[0].lower(), name)


def licence_files(found):
    """Name and version of each module with the texts of its licence files, by file name."""
    cache = pathlib.Path(subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip())
    for name, version in found:
        folder = cache / f"{cache_name(name)}@{version}"
        if not folder.is_dir():
            raise SystemExit(f"package: no sources of {name}@{version} in {cache}: ./run clients fetches them")
        yield name, version, {file: (folder / file).read_text(errors="replace") for file in sorted(os.listdir(folder))
                              if LICENCE_FILE.match(file) and (folder / file).is_file()}


def expression(name, files):
    """The module's licence as SPDX writes it. One that is not known stops the packages: somebody has to read it."""
    # Of the documentation alone, which is not in the program.
    plain = " ".join(re.sub(r"\s+", " ", text).lower() for file, text in files.items() if not file.endswith(".docs"))
    licences = [licence for licence, phrase in PHRASES.items() if re.search(phrase, plain)]
    if not licences:
        raise SystemExit(f"package: the licence of {name} is not known: read it and add it to PHRASES of packaging/linux/kubectl_licences.py")
    return " AND ".join(licences)


def texts(modules):
    """Of all licences, for the package's record of them."""
    parts = ["kubectl is built from these Go modules. Each is followed by its own licence.\n"]
    for name, version, files in modules:
        parts.append("=" * 80 + f"\n{name} {version} ({expression(name, files)})\n" + "=" * 80 + "\n")
        parts += files.values()
    return "\n".join(parts)
