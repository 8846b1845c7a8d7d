#!/usr/bin/env python3
"""Adds up JUnit XML files and ends with what failed and why, and the line `N passed, N failed`: test_summary.py FOLDER.

The folder holds what the steps of `./run test` left: GoogleTest's file per program (cases), ctest's own (programs; only
those that ended without a GoogleTest file count, since they crashed, and those that failed after the last of their cases),
python_tests.py's, and `failed_steps`, the titles of steps that failed, a line each: a step without cases, such as a check,
counts as one. Tests that passed only when tried again are named: `tries` of a case, and two results of one program in `ctest.log`.
Ends with 1 when anything failed or nothing ran.
"""

import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as xml


LINES = 15  # of a failure's text
RAISED = re.compile(r"\s*\w+(\.\w+)*(Error|Exception|Expired): ")
FAILED_ONCE = re.compile(r"^.*Test +#\d+: (\S+) .*\*\*\*", re.MULTILINE)


def excerpt(text):
    """What the last exception of a traceback says; where there is none, the end."""
    lines = text.strip().splitlines()
    raised = [number for number, line in enumerate(lines) if RAISED.match(line)]
    start = raised[-1] if raised else max(0, len(lines) - LINES)
    return "\n".join(line[:300] for line in lines[start:start + LINES])


class Totals:
    def __init__(self):
        self.passed, self.skipped, self.failed, self.tried_again = 0, 0, [], []

    def add_program(self, case, cases):
        """A program by what ctest saw of it; `cases`: its own file, None when it left none, so that its cases did not all run."""
        if cases is None:
            self.failed.append(f"{case.get('name')} (the whole program: it crashed, hung or is missing)")
        elif case.find("failure") is not None and not any(failures_of(one) for one in cases.iter("testcase")):
            self.failed.append(f"{case.get('name')} (the whole program: all its cases passed, and it ended with an error)")

    def add_case(self, case):
        name = f"{case.get('classname', '')}.{case.get('name')}".lstrip(".")
        problem = next(iter(failures_of(case)), None)
        if problem is not None:
            self.failed.append(f"{name}\n{textwrap.indent(excerpt(problem.text or problem.get('message', '')), '    ')}".rstrip())
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            self.skipped += 1
        else:
            self.passed += 1
            if case.get("tries"):
                self.tried_again.append(name)


def failures_of(case):
    return case.findall("failure") + case.findall("error")


def latest(path):
    """Of a program that was tried again: GoogleTest does not overwrite NAME.xml, and writes NAME_1.xml."""
    again = path.with_name(path.stem + "_1.xml")
    return again if again.exists() else path


def read(folder):
    totals = Totals()
    for path in sorted(folder.rglob("*.xml")):
        if latest(path) != path:
            continue
        tree = parsed(path)
        if tree is None:
            continue  # a crashed program's half-written file: ctest counts the program
        from_ctest = path.name == "ctest.xml"
        for case in tree.iter("testcase"):
            if not from_ctest:
                totals.add_case(case)
            else:
                totals.add_program(case, parsed(latest(path.with_name(case.get("name") + ".xml"))))
                if case.get("status") == "run" and case.get("name") in failed_once(path.with_suffix(".log")):
                    totals.tried_again.append(case.get("name"))
    return totals


def parsed(path):
    """None for a file that is not there or ends in the middle."""
    try:
        return xml.parse(path)
    except (OSError, xml.ParseError):
        return None


def failed_once(log):
    """Programs with a line of failure in ctest's log, whatever became of them after it."""
    return set(FAILED_ONCE.findall(log.read_text(errors="replace"))) if log.exists() else set()


def failed_steps(folder):
    path = folder / "failed_steps"
    return path.read_text().splitlines() if path.exists() else []


def main():
    folder = pathlib.Path(sys.argv[1])
    totals, steps = read(folder), failed_steps(folder)
    for name in totals.tried_again:
        print(f"passed only when tried again: {name}")
    for name in totals.failed:
        print(f"failed: {name}")
    for title in steps:
        print(f"failed step: {title}")
    failed = len(totals.failed) or len(steps)
    print(f"{totals.passed} passed, {failed} failed" + (f", {totals.skipped} skipped" if totals.skipped else ""))
    sys.exit(1 if failed or not totals.passed else 0)


if __name__ == "__main__":
    main()
