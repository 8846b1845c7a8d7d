#!/usr/bin/env python3
"""Runs fuzz targets until each has had its processor time, and keeps account of it: fuzz_rounds.py SECONDS [TARGET...] [--at-once N].

Takes what the machine has left over (the scheduling class "idle"), so that a round may last for days next to other work; it may be ended at any
time and goes on where it was. Time counts as processor time of a target, since the time of the clock says nothing on a busy machine. The account is
tests/fuzz/rounds.txt; delete a target's line when its code has changed so much that it should begin again. Ends with 1 if a target has found
something, which is below build/fuzz/crashes.
"""

import argparse
import concurrent.futures
import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

ACCOUNT = pathlib.Path("tests/fuzz/rounds.txt")
HEAD = "# Fuzz targets, seconds of processor time that they have run with sanitizers, inputs, the last day. By tools/fuzz_rounds.py.\n"
PIECE = 120  # seconds after which the account is written
TICKS = os.sysconf("SC_CLK_TCK")


class Account:
    def __init__(self):
        lines = ACCOUNT.read_text().splitlines() if ACCOUNT.exists() else []
        self.rows = {name: (int(seconds), int(inputs), day) for name, seconds, inputs, day in
                     (line.split() for line in lines if line and not line.startswith("#"))}
        self.lock = threading.Lock()

    def seconds(self, target):
        return self.rows.get(target, (0, 0, ""))[0]

    def add(self, target, seconds, inputs):
        with self.lock:
            before = self.rows.get(target, (0, 0, ""))
            self.rows[target] = (before[0] + seconds, before[1] + inputs, datetime.date.today().isoformat())
            text = HEAD + "".join(f"{name} {row[0]} {row[1]} {row[2]}\n" for name, row in sorted(self.rows.items()))
            new = ACCOUNT.with_suffix(".new")
            new.write_text(text)
            new.replace(ACCOUNT)


def run_piece(target, seconds):
    """(seconds of processor time, inputs, whether something was found)."""
    folder = pathlib.Path("build/fuzz/corpus", target)
    folder.mkdir(parents=True, exist_ok=True)
    pathlib.Path("build/fuzz/crashes").mkdir(parents=True, exist_ok=True)
    seeds = [str(path) for path in [pathlib.Path("tests/fuzz/corpus", target)] if path.is_dir()]
    # As `./run fuzz` calls it. A busy machine may let an input wait for longer than its time.
    words = ["chrt", "--idle", "0", f"build/asan/fuzz/{target}", "-timeout=120", "-rss_limit_mb=2048", "-print_final_stats=1",
             f"-artifact_prefix=build/fuzz/crashes/{target}-", str(folder), *seeds]
    log = pathlib.Path("build/fuzz", target + ".log")
    with log.open("w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)
        used = 0
        try:
            while process.poll() is None and used < seconds:
                time.sleep(0.5)
                used = processor_seconds(process.pid) or used
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)  # libFuzzer ends in order
            code = process.wait()
    inputs = re.search(r"number_of_executed_units: (\d+)", log.read_text(errors="replace"))
    return round(used), int(inputs[1]) if inputs else 0, code != 0


def processor_seconds(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS  # utime and stime


def run_target(target, wanted, account):
    """Whether nothing was found."""
    while (left := wanted - account.seconds(target)) > 0:
        seconds, inputs, found = run_piece(target, min(left, PIECE))
        account.add(target, seconds, inputs)
        if found:
            print(f"✗ {target}: build/fuzz/{target}.log", flush=True)
            return False
    print(f"✓ {target}: {account.rows[target][0]} s, {account.rows[target][1]:,} inputs", flush=True)
    return True


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    arguments.add_argument("seconds", type=int, help="of processor time for each target, with what it has had")
    arguments.add_argument("targets", nargs="*", metavar="TARGET", help="default: all; those with the least time come first")
    arguments.add_argument("--at-once", type=int, default=os.cpu_count(), metavar="N")
    options = arguments.parse_args()
    account = Account()
    targets = options.targets or pathlib.Path("build/asan/fuzz_targets.txt").read_text().split()
    open_targets = sorted((target for target in targets if account.seconds(target) < options.seconds), key=account.seconds)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        clean = list(pool.map(lambda target: run_target(target, options.seconds, account), open_targets))
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
