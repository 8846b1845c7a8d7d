#!/usr/bin/env python3
"""Runs the unittest files of a folder, one line a test: python_tests.py FOLDER [NAME...] [--results FILE.xml].

A NAME selects the tests whose full name contains it. Results are written as JUnit XML for tools/test_summary.py.
"""

import argparse
import pathlib
import sys
import time
import unittest
import xml.etree.ElementTree as xml

OUTCOMES = {"passed": "✓", "failed": "✗", "skipped": "-"}


class LineResult(unittest.TestResult):
    """Prints each test as it ends and keeps what the report needs."""

    def __init__(self):
        super().__init__()
        self.cases = []  # (name, outcome, seconds, text)
        self._started = 0.0
        self._outcome = None

    def startTest(self, test):
        super().startTest(test)
        self._started, self._outcome = time.monotonic(), ("passed", "")

    def stopTest(self, test):
        super().stopTest(test)
        self._record(test.id(), *self._outcome, time.monotonic() - self._started)

    def addError(self, test, error):
        super().addError(test, error)
        self._failed(test, self.errors[-1][1])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failed(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            text = (self.failures or self.errors)[-1][1]
            self._outcome = ("failed", f"{self._outcome[1]}\n{subtest.id()}: {text}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            self._outcome = ("skipped", reason)
        else:
            self._record(test.id(), "skipped", reason, 0.0)

    def _failed(self, test, text):
        if isinstance(test, unittest.TestCase):
            self._outcome = ("failed", text)
        else:  # a failing setUpClass or setUpModule stands for all tests that it kept from running
            self._record(test.id(), "failed", text, 0.0)

    def _record(self, name, outcome, text, seconds):
        self.cases.append((name, outcome, seconds, text))
        detail = f": {text}" if outcome == "skipped" else ""
        print(f"  {OUTCOMES[outcome]} {name} ({seconds:.1f}s){detail}", flush=True)
        if outcome == "failed":
            print("      " + text.strip().replace("\n", "\n      "), flush=True)

    def write(self, path):
        suite = xml.Element("testsuite", name=path.stem)
        for name, outcome, seconds, text in self.cases:
            case = xml.SubElement(suite, "testcase", classname=path.stem, name=name, time=f"{seconds:.3f}")
            if outcome != "passed":
                xml.SubElement(case, {"failed": "failure", "skipped": "skipped"}[outcome], message=text[:200]).text = text
        xml.ElementTree(suite).write(path, encoding="utf-8")


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def main():
    arguments = argparse.ArgumentParser(description="runs the unittest files of a folder")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--results", type=pathlib.Path)
    options = arguments.parse_args()

    sys.path.insert(0, str(options.folder.resolve()))
    found = list(flatten(unittest.defaultTestLoader.discover(str(options.folder))))
    chosen = [test for test in found if not options.names or any(name in test.id() for name in options.names)]
    if not chosen:
        sys.exit(f"python_tests: no test of {options.folder} is named like {' '.join(options.names) or '*'}")
    result = LineResult()
    try:
        unittest.TestSuite(chosen).run(result)
    finally:
        if options.results:
            options.results.parent.mkdir(parents=True, exist_ok=True)
            result.write(options.results)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
