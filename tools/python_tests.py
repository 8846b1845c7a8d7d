#!/usr/bin/env python3
"""Runs the unittest files of a folder, one line a test: python_tests.py FOLDER [NAME...] [--at-once N] [--part K/N]
[--tries N] [--results FILE.xml].

A NAME selects the tests whose full name contains it. Class and module fixtures are not supported: a test stands alone, so that any of
them can run at the same time as any other. A class that says `alone = True` disturbs other tests of what it says as `shared`, for example
a cluster: its tests run one after another, after all that do not disturb. Where no other class shares it, they do not wait, unless the
class says `takes_processors = True`, too. What is shared and has a method end() is ended with the last of its tests. Of tests that say
`slow = True`, which start before others, --part K/N runs every Nth, from the Kth on.
With --tries N a test that fails is tried again at once, up to N times in all, and is named as one that passed only then: on a machine that is
busy, one of a thousand tests of real programs misses a time limit now and then. It is done for the first MOST_SECOND_TRIES tests that fail: where more
do, the machine is not the cause. Results are written as JUnit XML for tools/test_summary.py.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import sys
import threading
import time
import traceback
import unittest
import xml.etree.ElementTree as xml

PRINTABLE = re.compile(r"[^\t\n\x20-\uffff]")  # what XML can carry
MOST_SECOND_TRIES = 5
OUTCOMES = {"passed": "✓", "failed": "✗", "skipped": "-"}


class CaseResult(unittest.TestResult):
    """What became of one test."""

    def __init__(self, name):
        super().__init__()
        self.name, self.outcome, self.text, self.seconds, self.tries = name, "passed", "", 0.0, 1

    def addError(self, test, error):
        super().addError(test, error)
        self._failed(self.errors[-1][1])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failed(self.failures[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self._failed(f"{subtest.id()}: {(self.failures + self.errors)[-1][1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if self.outcome == "passed":
            self.outcome, self.text = "skipped", reason

    def _failed(self, text):
        self.outcome, self.text = "failed", f"{self.text}\n{text}".strip()


class Run:
    """Runs tests, prints a line for each as it ends, and keeps the results in the order of their ends."""

    def __init__(self, tries=1):
        self.results = []
        self.interrupted = False
        self._tries = tries
        self._tried_again = set()
        self._left = collections.Counter()  # tests of each `shared` that have not ended
        self._lock = threading.Lock()  # guards all of these, and the order of printed lines

    def run_all(self, tests, at_once):
        """`at_once` tests at a time, then those that are alone in what they share, half as many at a time, as they are the larger ones."""
        groups, others = {}, []
        self._left = collections.Counter(getattr(test, "shared", None) for test in tests)
        for test in tests:
            place = groups.setdefault(getattr(test, "shared", None), []) if getattr(test, "alone", False) else others
            place.append(test)
        busy = {getattr(test, "shared", None) for test in others}
        waits = lambda shared, group: shared in busy or any(getattr(test, "takes_processors", False) for test in group)
        longest_first = sorted(groups.items(), key=lambda item: len(item[1]), reverse=True)
        at_once_with_others = [group for shared, group in longest_first if not waits(shared, group)]
        self.run_groups(at_once_with_others + [[test] for test in sorted(others, key=is_slow, reverse=True)], at_once)
        self.run_groups([group for shared, group in longest_first if waits(shared, group)], max(1, at_once // 2))

    def run_groups(self, groups, at_once):
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            try:
                list(pool.map(self.run_group, groups))
            except KeyboardInterrupt:
                self.interrupted = True
                print("  interrupted: the tests that have begun clean up, the others are left out", flush=True)
                raise

    def run_group(self, tests):
        for test in tests:
            if not self.interrupted:
                self.run_one(test)
                self.end_shared(test)

    def end_shared(self, test):
        """A cluster that nobody uses any more takes memory and processor time, and at the end of the run one would end after the other."""
        shared = getattr(test, "shared", None)
        with self._lock:
            self._left[shared] -= 1
            is_last = not self._left[shared]
        if is_last and hasattr(shared, "end"):
            try:
                shared.end()
            except Exception:  # of no test
                traceback.print_exc()

    def run_one(self, test):
        for number in range(1, self._tries + 1):
            result, started = CaseResult(test.id()), time.monotonic()
            test.run(result)
            result.seconds, result.tries = time.monotonic() - started, number
            with self._lock:
                again = result.outcome == "failed" and number < self._tries and not self.interrupted and self._may_try_again(result.name)
                self._print(result, again)
                if not again:
                    self.results.append(result)
                    return

    def _may_try_again(self, name):
        if len(self._tried_again) < MOST_SECOND_TRIES:
            self._tried_again.add(name)
        return name in self._tried_again

    def _print(self, result, again):
        detail = f": {result.text}" if result.outcome == "skipped" else ", tried again" if again else f", at try {result.tries}" if result.tries > 1 else ""
        print(f"  {OUTCOMES[result.outcome]} {result.name} ({result.seconds:.1f}s){detail}", flush=True)
        if result.outcome == "failed":
            print("      " + result.text.replace("\n", "\n      "), flush=True)

    def write(self, path):
        suite = xml.Element("testsuite", name=path.stem)
        for result in self.results:
            case = xml.SubElement(suite, "testcase", classname=path.stem, name=result.name, time=f"{result.seconds:.3f}")
            if result.tries > 1:
                case.set("tries", str(result.tries))
            if result.outcome != "passed":
                kind = {"failed": "failure", "skipped": "skipped"}[result.outcome]
                xml.SubElement(case, kind, message=result.text[:200]).text = PRINTABLE.sub("?", result.text)
        xml.ElementTree(suite).write(path, encoding="utf-8")


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def is_slow(test):
    return getattr(getattr(test, test._testMethodName), "slow", False)


def without_other_parts(tests, part):
    """`part` is "K/N". The same tests for the same part, in whatever order they are found."""
    number, parts = map(int, part.split("/"))
    slow = sorted((test for test in tests if is_slow(test)), key=lambda test: test.id())
    left_out = {test.id() for at, test in enumerate(slow) if at % parts != number}
    return [test for test in tests if test.id() not in left_out]


def main():
    arguments = argparse.ArgumentParser(description="runs the unittest files of a folder")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--results", type=pathlib.Path)
    arguments.add_argument("--at-once", type=int, default=1)
    arguments.add_argument("--part", default="0/1")
    arguments.add_argument("--tries", type=int, default=1)
    options = arguments.parse_args()

    sys.path.insert(0, str(options.folder.resolve()))
    found = list(flatten(unittest.defaultTestLoader.discover(str(options.folder))))
    chosen = [test for test in found if not options.names or any(name in test.id() for name in options.names)]
    if not chosen:
        sys.exit(f"python_tests: no test of {options.folder} is named like {' '.join(options.names) or '*'}")
    of_part = without_other_parts(chosen, options.part)
    if len(of_part) < len(chosen):
        print(f"  {len(chosen) - len(of_part)} slow tests are left out: this is part {options.part} of them", flush=True)
    run = Run(options.tries)
    try:
        run.run_all(of_part, options.at_once)
    except KeyboardInterrupt:
        pass
    finally:
        if options.results:
            options.results.parent.mkdir(parents=True, exist_ok=True)
            run.write(options.results)
    if run.interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell goes on with its next command after a child that ended in any other way
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1 if any(result.outcome == "failed" for result in run.results) else 0)


if __name__ == "__main__":
    main()
