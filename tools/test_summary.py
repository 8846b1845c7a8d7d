#!/usr/bin/env python3
"""Adds up JUnit XML files and ends with what failed and why, and the line `N passed, N failed`: test_summary.py FOLDER.

The folder holds what the steps of `./run test` left: GoogleTest's file per program (cases), ctest's own (programs; only
those that ended without a GoogleTest file count, since they crashed), and python_tests.py's. Ends with 1 when anything
failed or nothing ran.
"""

import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as xml


LINES = 15  # of a failure's text
RAISED = re.compile(r"\s*\w+(\.\w+)*(Error|Exception|Expired): ")


def excerpt(text):
    """What the last exception of a traceback says; where there is none, the end."""
    lines = text.strip().splitlines()
    raised = [number for number, line in enumerate(lines) if RAISED.match(line)]
    start = raised[-1] if raised else max(0, len(lines) - LINES)
    return "\n".join(line[:300] for line in lines[start:start + LINES])


class Totals:
    def __init__(self):
        self.passed, self.skipped, self.failed = 0, 0, []

    def add_program(self, case):
        """A program that left no file of its own: whatever ctest thinks of it, its cases did not all run."""
        self.failed.append(f"{case.get('name')} (the whole program: it crashed, hung or is missing)")

    def add_case(self, case):
        name = f"{case.get('classname', '')}.{case.get('name')}".lstrip(".")
        problem = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
        if problem is not None:
            self.failed.append(f"{name}\n{textwrap.indent(excerpt(problem.text or problem.get('message', '')), '    ')}".rstrip())
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            self.skipped += 1
        else:
            self.passed += 1


def read(folder):
    totals = Totals()
    for path in sorted(folder.rglob("*.xml")):
        try:
            tree = xml.parse(path)
        except xml.ParseError:
            continue  # a crashed program's half-written file: ctest counts the program
        from_ctest = path.name == "ctest.xml"
        for case in tree.iter("testcase"):
            if not from_ctest:
                totals.add_case(case)
            elif not is_complete(path.with_name(case.get("name") + ".xml")):
                totals.add_program(case)
    return totals


def is_complete(path):
    try:
        xml.parse(path)
        return True
    except (OSError, xml.ParseError):
        return False


def main():
    totals = read(pathlib.Path(sys.argv[1]))
    for name in totals.failed:
        print(f"failed: {name}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed" + (f", {totals.skipped} skipped" if totals.skipped else ""))
    sys.exit(1 if totals.failed or not totals.passed else 0)


if __name__ == "__main__":
    main()
