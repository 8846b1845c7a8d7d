#!/usr/bin/env python3
"""Upstream's tests of devices against clusters of Porthole's: devices.py [FOCUS] --programs FOLDER --results FILE.xml --logs FOLDER.

Of `[DRA]` all that left_out.txt does not name and that is not for conformance; FOCUS is a regular expression on names. The tests' driver is
deployed with one folder of the kubelet's for all nodes, so its tests have a cluster of one node, the others of two. Ends with 1 when a test of
must_pass.txt did not pass. ../conformance/conformance.py has what runs a test.
"""

import argparse
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parent / "upstream_storage")]
import conformance  # noqa: E402
import storage  # noqa: E402

# Tests that write themselves what a driver would.
WITHOUT_DRIVER = r"\[DRA\] (control plane|ResourceSlice Controller) "


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("focus", nargs="?", default="")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="of the conformance tests")
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--logs", type=pathlib.Path, required=True)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one test")
    words = parser.parse_args()

    place, _lock = storage.take_place()
    # Upstream's own default skips what needs a feature.
    options = ("--ginkgo.skip=^$", "--ginkgo.label-filter=DRA", f"--kubelet-root-dir={place}/nodes/linux-1/kubelet")
    suite = conformance.Suite(words.programs.resolve(), words.logs.resolve(), options)
    unfit = conformance.reasons_to_leave_out(HERE / "left_out.txt")
    must_pass = set(conformance.lines_of(HERE / "must_pass.txt"))
    known = [test for test in suite.tests() if conformance.MARK not in test.name]
    unknown = must_pass - {test.name for test in known}
    unused = [expression for expression in unfit if not any(re.search(expression, test.name) for test in known)]
    tests = [test for test in known if not any(re.search(expression, test.name) for expression in unfit) and re.search(words.focus, test.name)]
    if unknown or unused or not tests:
        sys.exit(f"devices.py: no test is called or matches {next(iter([*unknown, *unused, words.focus]))}")
    results = conformance.Results("upstream-devices", words.results, len(tests), must_pass)
    without_driver = [test for test in tests if re.search(WITHOUT_DRIVER, test.name)]
    left = []
    for nodes, chosen in ((2, without_driver), (1, [test for test in tests if test not in without_driver])):
        if chosen:
            suite.options = (*options, f"--num-nodes={nodes}")
            left += storage.run_part(suite, storage.StorageCluster(words.programs.resolve(), f"linux={nodes}", place), chosen, results, words)
    results.print_table()
    missed = sorted(test.name for test in tests if test.name in must_pass and test.outcome != "passed")
    for line in [f"must pass: {name}" for name in missed] + [f"left behind: {line}" for line in left]:
        print(line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
