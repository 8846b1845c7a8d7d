#!/usr/bin/env python3
"""Checks the IDs of requirements: check_requirements.py [--root .].

docs/requirements.md has one row per requirement, "| DNS-03 | sentence |". Refused are
  - an ID that is there twice, or without a sentence;
  - an ID in a test (tests/, *_test.cc and what they share) or a document that has no row;
  - an ID in any other source: code is explained in words.
"""

import re

import check_report

ROW = re.compile(r"^\| ([A-Z]{3}-\d{2}) \| *(.*?) *\|$", re.MULTILINE)
NAMED = re.compile(r"\b([A-Z]{3})-(\d{2})\b")
TEST = re.compile(r"^tests/|_test\.cc$|_fixture\.(h|cc)$|/sim/|/test/|test_support\.h$")
SUFFIXES = {".cc", ".h", ".py", ".md", ".txt", ".ps1", ".yaml"}


def rows_of(text):
    """(ID -> sentence, problems)."""
    sentences, problems = {}, []
    for name, sentence in ROW.findall(text):
        if name in sentences:
            problems.append(f"docs/requirements.md: {name} is there twice")
        if not sentence:
            problems.append(f"docs/requirements.md: {name} has no sentence")
        sentences[name] = sentence
    return sentences, problems


def check_file(path, text, known, areas):
    for number, line in enumerate(text.splitlines(), 1):
        for area, digits in NAMED.findall(line):
            name = f"{area}-{digits}"
            if area not in areas:
                continue
            if name not in known:
                yield f"{path}:{number}: {name} is not in docs/requirements.md"
            elif path.startswith("src/") and not TEST.search(path):
                yield f"{path}:{number}: say in words what {name} requires: IDs are for tests and documents"


def check(root):
    known, problems = rows_of((root / "docs/requirements.md").read_text())
    areas = {name[:3] for name in known}
    for top in ("src", "tests", "docs"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                problems += check_file(path.relative_to(root).as_posix(), path.read_text(), known, areas)
    return problems


def main():
    check_report.check_tree("checks the IDs of requirements", check)


if __name__ == "__main__":
    main()
