#!/usr/bin/env python3
"""Packs the programs of a Windows node: make_zip.py OUTPUT.zip PORTHOLE.EXE; or test programs: make_zip.py OUTPUT.zip FOLDER

The same input gives the same bytes. Text has the line ends that Windows' own editors and cmd.exe expect.
"""

import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = "porthole"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


def contents(program):
    """Names in the zip, and their bytes."""
    yield "porthole.exe", pathlib.Path(program).read_bytes()
    yield "LICENSE.txt", text(HERE.parents[1] / "LICENSE")
    for path in sorted([HERE / "README.txt", *HERE.glob("scripts/*"), *HERE.glob("examples/*")]):
        yield str(path.relative_to(HERE)), text(path)


def tests(folder):
    for path in sorted(pathlib.Path(folder).glob("*_test.exe")):
        yield f"tests/{path.name}", path.read_bytes()


def text(path):
    return path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\n", "\r\n").encode()


def write(output, source):
    output = pathlib.Path(output)
    partial = output.with_suffix(".new")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in tests(source) if pathlib.Path(source).is_dir() else contents(source):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    partial.replace(output)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(*sys.argv[1:])
