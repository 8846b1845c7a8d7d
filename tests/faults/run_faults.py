#!/usr/bin/env python3
"""Three servers on three members of etcd under faults: run_faults.py [--minutes N] [--seed S] [--fault PART-OF-A-NAME] [--results FILE.xml].

In each round clients of all servers write, read and watch while a fault of faults.py holds; it ends when the servers that it leaves alone
have answered more, all servers must then answer again, and what all clients were told must be explained by one order of the writes, with
watches that show each write once (tests/linearizability). Every fault comes once before one comes again. A round that fails keeps the
logs of all processes and ends the run. The seed chooses the order of faults and their victims; times are the machine's own.
"""

import argparse
import pathlib
import random
import secrets
import shutil
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

from faults import FAULTS
from machines import NAMES, Machines, eventually, run

GOES_ON, BACK = 10, 20  # seconds on an idle machine: until others answer beside a fault, and all of them after it
HELD = (1.0, 6.0)  # seconds for which a fault holds on


class Rounds:
    def __init__(self, machines, seed):
        self.machines, self.random = machines, random.Random(seed)
        self.number, self.cases = 0, []

    def run(self, name):
        self.number += 1
        started, outcome, told = time.monotonic(), "passed", ""
        try:
            told = self.round(FAULTS[name])
        except unittest.SkipTest as error:
            outcome, told = "skipped", str(error)
        except AssertionError as error:
            outcome, told = "failed", str(error)
        print(f"  {dict(passed='✓', skipped='-', failed='✗')[outcome]} round {self.number}: {name} ({time.monotonic() - started:.1f}s): {told}", flush=True)
        self.cases.append((f"round {self.number}: {name}", outcome, told))
        return outcome != "failed"

    def round(self, fault):
        self.ask(f"begin round-{self.number}")
        self.more_answers(NAMES, GOES_ON)
        with fault(self.machines, self.random) as touched:
            self.more_answers(set(NAMES) - touched, GOES_ON)
            time.sleep(self.random.uniform(*HELD))
        started = time.monotonic()
        self.more_answers(NAMES, BACK)
        back = time.monotonic() - started
        return f"{', '.join(sorted(touched)) or 'all'}; all answered after {back:.1f} s; {self.ask('end').removeprefix('ok ')}"

    def ask(self, line):
        answer = self.machines.ask_clients(line)
        if not answer.startswith("ok"):
            raise AssertionError(answer or "the clients have ended: see above")
        return answer

    def more_answers(self, names, seconds):
        """Each of these servers answers five more requests."""
        before = self.machines.answers()
        silent = lambda: [name for name, count in self.machines.answers().items() if name in names and count < before[name] + 5]
        eventually(lambda: not silent(), seconds, f"more answers of the servers {', '.join(sorted(names))}")

    def write(self, path):
        suite = xml.Element("testsuite", name="faults")
        for name, outcome, told in self.cases:
            case = xml.SubElement(suite, "testcase", classname="faults", name=name)
            if outcome != "passed":
                xml.SubElement(case, "failure" if outcome == "failed" else "skipped", message=told[:200]).text = told
        path.parent.mkdir(parents=True, exist_ok=True)
        xml.ElementTree(suite).write(path, encoding="utf-8")


def names_of_rounds(order, chosen):
    """Without end: all in a random order, then all in another one."""
    while True:
        names = [name for name in FAULTS if chosen in name]
        order.shuffle(names)
        yield from names


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    arguments.add_argument("--fault", default="")
    arguments.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("build/faults"))
    arguments.add_argument("--results", type=pathlib.Path)
    options = arguments.parse_args()
    if not any(options.fault in name for name in FAULTS):
        sys.exit(f"run_faults: no fault is named like '{options.fault}'; there are: {'; '.join(FAULTS)}")
    print(f"  seed {options.seed}", flush=True)

    folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    run(["mount", "-t", "tmpfs", "names", "/run/netns"])  # the namespace of mounts is our own: no name outlives us
    machines = Machines(folder)
    rounds = Rounds(machines, options.seed)
    ends, fine = time.monotonic() + 60 * options.minutes, False
    try:
        machines.start()
        machines.start_clients()
        for name in names_of_rounds(random.Random(options.seed), options.fault):
            fine = rounds.run(name)
            if not fine or time.monotonic() >= ends:
                break
    finally:
        machines.end()
        if options.results:
            rounds.write(options.results)
        if not fine:
            keep_logs(folder, options.logs)
        shutil.rmtree(folder)
    sys.exit(0 if fine else 1)


def keep_logs(folder, kept):
    shutil.rmtree(kept, ignore_errors=True)
    for log in folder.glob("*/*.log"):
        (kept / log.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(log, kept / log.parent.name)
    print(f"  logs of all processes: {kept}", flush=True)


if __name__ == "__main__":
    main()
