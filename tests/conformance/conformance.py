#!/usr/bin/env python3
"""Upstream's conformance tests against a cluster of Porthole's: conformance.py [FOCUS] --programs FOLDER --results FILE.xml --logs FOLDER.

The cluster has two Linux nodes in a network namespace without an uplink; a registry next to it answers for registry.k8s.io (images.py). Tests
run in `--at-once` processes, then the serial ones alone. Ends with 1 when a test of must_pass.txt did not pass. FOCUS is a regular expression
on names; `--tenth N` takes every tenth of must_pass.txt. `--others SEED` takes a random tenth of the suite's tests that are not for conformance
and that others_left_out.txt does not name, and ends with 1 when fewer than 95 of 100 pass.

`--windows ARCHIVE` runs what upstream runs on Windows nodes instead, [sig-windows] and [Conformance] without [LinuxOnly], on two emulated
ones; ARCHIVE has their images, and ../upstream_windows the lists.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import sys
import threading
import zlib
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[0] / "cluster"), str(HERE.parents[1] / "tools")]
import harness  # noqa: E402
from python_tests import OUTCOMES, PRINTABLE  # noqa: E402

MARK = "[Conformance]"
SHOWN = 300  # characters of a failure
BATCH = 6  # tests in one process
OTHERS_THAT_PASS = 0.95


@dataclasses.dataclass
class Test:
    name: str
    serial: bool
    outcome: str = ""
    text: str = ""
    seconds: float = 0.0


def lines_of(path):
    """Lines of a file of names without comments."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def reasons_to_leave_out(file):
    """Name -> why it cannot pass here, whatever Porthole does."""
    entries = (line.partition(" # ") for line in lines_of(file))
    return {name.strip(): reason for name, _, reason in entries}


class Suite:
    """The compiled tests, and the options that they need: `options` on this kind of cluster."""

    def __init__(self, programs, logs, options):
        self.program, self.logs, self.options = programs / "e2e.test", logs, options
        logs.mkdir(parents=True, exist_ok=True)

    def tests(self):
        reports = self.logs / "list.json"
        harness.run([self.program, "--ginkgo.dry-run", "--ginkgo.json-report", reports, "--provider=skeleton", *self.options], seconds=300)
        specs = [spec for spec in json.loads(reports.read_text())[0]["SpecReports"] if spec["State"] == "passed" and spec["LeafNodeType"] == "It"]
        return [Test(name, "[Serial]" in name) for name in sorted(map(name_of, specs))]

    def run(self, tests, cluster, limit):
        """Runs tests one after another in one process, as starting it takes seconds, and sets what became of them. Ginkgo's own limit cleans
        up; ours comes later and does not. A test that was not reached, as one before it crashed or hung, has no outcome afterwards."""
        # The names of tests that run at the same time may differ in their ends only.
        stem = re.sub("[^A-Za-z0-9]+", "-", tests[0].name)[:140].strip("-") + f"-{zlib.crc32(tests[0].name.encode()):08x}"
        report, log = self.logs / f"{stem}.json", self.logs / f"{stem}.log"
        report.unlink(missing_ok=True)
        focus = "(" + "|".join(re.escape(test.name) for test in tests) + ")$"
        command = cluster.network.inside([
            self.program, "--ginkgo.focus", focus, "--ginkgo.timeout", f"{limit * len(tests)}s", "--ginkgo.json-report", report, "--ginkgo.no-color",
            "--ginkgo.silence-skips", "--ginkgo.grace-period", "20s", "--kubeconfig", cluster.kubeconfig, "--provider=skeleton",
            "--kubectl-path", harness.CLIENTS[harness.NEWEST_CLIENT], "--num-nodes=2", "--allowed-not-ready-nodes=0", "--dump-logs-on-failure=false",
            "--disable-log-dump", "--delete-namespace-on-failure=true", *self.options])
        with log.open("w") as output:
            try:
                subprocess.run([str(word) for word in command], env=cluster.environment(), stdin=subprocess.DEVNULL, stdout=output,
                               stderr=subprocess.STDOUT, timeout=limit * len(tests) + 60)
            except subprocess.TimeoutExpired:
                pass  # the report is missing
        ended = outcomes_in(report)
        for test in tests:
            test.outcome, test.text, test.seconds = ended.get(test.name, ("", "it did not end within its limit, or crashed", limit))
        if all(test.outcome == "passed" for test in tests):
            log.unlink()
        report.unlink(missing_ok=True)


def name_of(spec):
    """As --ginkgo.focus sees it."""
    return " ".join(filter(None, [*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]]))


def outcomes_in(report):
    """Name -> (passed, failed or skipped, why, seconds) of the tests that ran, from a report of Ginkgo's."""
    try:
        specs = json.loads(report.read_text())[0]["SpecReports"]
    except (OSError, ValueError):
        return {}
    ended = {}
    for spec in specs:
        why = spec.get("Failure", {}).get("Message", "")
        if spec["LeafNodeType"] != "It" or spec["State"] == "pending" or (spec["State"] == "skipped" and not why):
            continue
        outcome = spec["State"] if spec["State"] in ("passed", "skipped") else "failed"
        ended[name_of(spec)] = (outcome, why, spec["RunTime"] / 1e9)
    return ended


class LinuxCluster(harness.Cluster):
    """Linux nodes that pull from a registry beside them whatever names registry.k8s.io."""

    def __init__(self, programs, nodes="linux=2"):
        super().__init__(nodes)
        self.images = programs

    def start(self):
        self.up()
        self.start_mirror("registry.k8s.io")


class WindowsCluster(LinuxCluster):
    """Two emulated Windows nodes that have the images already, and a Linux one with the taint by which upstream keeps what names no system
    away from its control plane."""

    def __init__(self, programs, archive):
        super().__init__(programs, "linux=1,windows=2")
        self.archive = archive

    def start(self):
        super().start()
        self.kubectl(harness.NEWEST_CLIENT, "taint", "node", "linux-1", "node-role.kubernetes.io/control-plane:NoSchedule")
        self.porthole("image", "load", self.archive, seconds=600)
        for node in ("windows-1", "windows-2"):
            self.set_gate(node)

    def set_gate(self, node):
        """WindowsSubPath on, as an administrator does it: in the command line of the service."""
        key = ["HKLM\\System\\CurrentControlSet\\Services\\kubelet", "/v", "ImagePath"]
        command = re.search(r"REG_(?:EXPAND_)?SZ\s+(.*)", self.on_host(node, "reg", "query", *key)).group(1).strip()
        self.on_host(node, "reg", "add", *key, "/t", "REG_EXPAND_SZ", "/d", command + " --feature-gates=WindowsSubPath=true", "/f")
        # Wine reads the command lines of services once, when the host starts.
        harness.run(self.network.inside([harness.PORTHOLE, "winhost", "reboot", "--data", self.data / "nodes" / node]), seconds=240, env=self.environment())
        gates = lambda: self.kubectl(harness.NEWEST_CLIENT, "get", "--raw", f"/api/v1/nodes/{node}/proxy/configz", check=False).stdout
        harness.eventually(lambda: '"WindowsSubPath":true' in gates(), 120, f"the kubelet of {node} has its gate")

    def on_host(self, node, *command, check=True):
        folder = self.data / "nodes" / node
        return harness.run(self.network.inside([harness.PORTHOLE, "winhost", "exec", "--data", folder, "--", *command]), check=check, seconds=120,
                           env=self.environment()).stdout


@dataclasses.dataclass(frozen=True)
class Kind:
    """Of nodes that the tests are about: where its lists are, and what selects its tests."""

    name: str
    lists: pathlib.Path
    options: tuple
    expression: str


LINUX = Kind("conformance", HERE, (), re.escape(MARK))
# What is named in --ginkgo.skip takes the place of upstream's default, which leaves out everything with [Feature:...].
WINDOWS = Kind("upstream-windows", HERE.parent / "upstream_windows", ("--node-os-distro=windows", r"--ginkgo.skip=\[LinuxOnly\]"),
               r"^(?!.*\[LinuxOnly\]).*(\[sig-windows\]|\[Conformance\])")


class Results:
    """Prints a line for each test as it ends; results are written after each, so that a run that is ended has them."""

    def __init__(self, suite, path, total, must_pass):
        self.suite, self.path, self.total, self.must_pass, self.ended, self.lock = suite, path, total, must_pass, [], threading.Lock()

    def add(self, test):
        with self.lock:
            self.ended.append(test)
            reason = "" if test.outcome == "passed" else f"  {first_line(test.text)}"
            print(f"{OUTCOMES[test.outcome]} {len(self.ended)}/{self.total} {test.name} ({test.seconds:.0f} s){reason}", flush=True)
            self.write()

    def write(self):
        suite = xml.Element("testsuite", name=self.suite, tests=str(len(self.ended)))
        for test in sorted(self.ended, key=lambda each: each.name):
            case = xml.SubElement(suite, "testcase", classname=area(test.name), name=test.name, time=f"{test.seconds:.1f}")
            if test.outcome != "passed":
                # A failure is one where the test has passed before: others are open work, and no news.
                known = test.outcome == "failed" and test.name not in self.must_pass
                kind = "failure" if test.outcome == "failed" and not known else "skipped"
                message = ("fails, and is not in must_pass.txt: " if known else "") + first_line(test.text)
                xml.SubElement(case, kind, message=PRINTABLE.sub("?", message)).text = PRINTABLE.sub("?", test.text)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        xml.ElementTree(suite).write(self.path, encoding="utf-8", xml_declaration=True)

    def print_table(self):
        areas = {}
        for test in self.ended:
            areas.setdefault(area(test.name), []).append(test.outcome)
        print(f"\n{'area':<24}{'passed':>8}{'failed':>8}{'left out':>10}")
        for name, outcomes in [*sorted(areas.items()), ("all", [test.outcome for test in self.ended])]:
            print(f"{name:<24}{outcomes.count('passed'):>8}{outcomes.count('failed'):>8}{outcomes.count('skipped'):>10}")
        for outcome, title in (("failed", "failed"), ("skipped", "left out")):
            for test in sorted((each for each in self.ended if each.outcome == outcome), key=lambda each: each.name):
                print(f"{title}: {test.name}\n    {first_line(test.text)}")


def area(name):
    return re.match(r"\[(sig-[a-z-]+)\]", name).group(1)


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:SHOWN]


def others(tests, seed):
    unfit = re.compile("|".join(reasons_to_leave_out(HERE / "others_left_out.txt")))
    fit = [test for test in tests if not unfit.search(test.name)]
    return random.Random(seed).sample(fit, len(fit) // 10)


def chosen(tests, must_pass, focus, tenth):
    if tenth is not None:
        names = set(sorted(must_pass)[tenth % 10::10])
        return [test for test in tests if test.name in names]
    return [test for test in tests if re.search(focus, test.name)]


def run_all(suite, cluster, tests, reasons, results, at_once, limit):
    for test in tests:
        if test.name in reasons:
            test.outcome, test.text = "skipped", reasons[test.name]
            results.add(test)

    def run(batch):
        suite.run(batch, cluster, limit)
        for test in batch:
            if not test.outcome and len(batch) > 1:
                suite.run([test], cluster, limit)
            test.outcome = test.outcome or "failed"
            results.add(test)

    def batches(tests):
        return [tests[begin:begin + BATCH] for begin in range(0, len(tests), BATCH)]

    waiting = [test for test in tests if not test.outcome]
    pool = concurrent.futures.ThreadPoolExecutor(at_once)
    try:
        list(pool.map(run, batches([test for test in waiting if not test.serial])))
    finally:
        pool.shutdown(cancel_futures=True)  # matters where this is interrupted
    for batch in batches([test for test in waiting if test.serial]):
        run(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("focus", nargs="?", default="")
    parser.add_argument("--tenth", type=int)
    parser.add_argument("--others", type=int, metavar="SEED")
    parser.add_argument("--windows", type=pathlib.Path, metavar="ARCHIVE")
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--logs", type=pathlib.Path, required=True)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one test")
    words = parser.parse_args()

    kind = WINDOWS if words.windows else LINUX
    suite = Suite(words.programs.resolve(), words.logs.resolve(), kind.options)
    must_pass = set(lines_of(kind.lists / "must_pass.txt"))
    all_tests = suite.tests()
    known = [test for test in all_tests if re.search(kind.expression, test.name)]
    unknown = must_pass - {test.name for test in known}
    if words.others is not None:
        tests = chosen(others([test for test in all_tests if MARK not in test.name], words.others), must_pass, words.focus, None)
    else:
        tests = chosen(known, must_pass, words.focus, words.tenth)
    if unknown or not tests:
        sys.exit(f"conformance.py: {'no test is called ' + min(unknown) if unknown else 'no test matches ' + words.focus}")
    results = Results(kind.name, words.results, len(tests), must_pass)
    cluster = WindowsCluster(words.programs.resolve(), words.windows.resolve()) if words.windows else LinuxCluster(words.programs.resolve())
    try:
        cluster.start()
        run_all(suite, cluster, tests, reasons_to_leave_out(kind.lists / "left_out.txt"), results, words.at_once, words.limit)
    finally:
        left = cluster.stop()
    results.print_table()
    missed = sorted(test.name for test in tests if test.name in must_pass and test.outcome != "passed")
    for name in missed:
        print(f"must pass: {name}")
    for line in left:
        print(f"left behind: {line}")
    passed = sum(test.outcome == "passed" for test in tests)
    too_few = words.others is not None and passed < OTHERS_THAT_PASS * sum(test.outcome != "skipped" for test in tests)
    sys.exit(1 if missed or too_few else 0)


if __name__ == "__main__":
    main()
