#!/usr/bin/env python3
"""Simulated hours of three servers, a process for each processor: run_simulated.py PROGRAM [--hours H] [--seed S] [--fault PART-OF-A-NAME].

Seeds S, S+1, ... have at most SEED_HOURS each, so that a run of fewer hours is one seed. A seed that fails ends, and the others go on;
the last line of each tells how to repeat it. Ctrl-C or SIGTERM ends all of them, and the summary has what was done until then.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
import threading
import time

SEED_HOURS = 10
SILENCE = 30 * 60  # seconds for which a process that runs may say nothing, in the slowest of builds
HOURS = re.compile(r"([\d.]+) simulated hours")
STRUCK = re.compile(r"\s*(\d+) times: (.*)")


class Seed:
    """A process with its seed, until it ends."""

    def __init__(self, command):
        self.command, self.hours, self.struck, self.told = command, 0.0, {}, collections.deque(maxlen=30)
        # In a group of its own: a terminal's Ctrl-C ends it by Summary.stop() alone.
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", process_group=0)

    def run(self, tell):
        """"" or why it failed."""
        silent = threading.Event()
        for line in self.lines(silent):
            if found := STRUCK.fullmatch(line):
                self.struck[found[2]] = int(found[1])
                continue
            self.told.append(line)
            if found := HOURS.match(line):
                self.hours = float(found[1])
                tell(line)
        status = self.process.wait()
        if silent.is_set():
            return f"nothing was said for {SILENCE} s\n" + "\n".join(self.told)
        return "" if status == 0 else f"status {status}\n" + "\n".join(self.told)

    def lines(self, silent):
        def give_up():
            silent.set()
            self.process.kill()

        while True:
            watch = threading.Timer(SILENCE, give_up)
            watch.daemon = True
            watch.start()
            line = self.process.stdout.readline()
            watch.cancel()
            if not line:
                return
            yield line.rstrip("\n")


class Summary:
    def __init__(self):
        self.began, self.hours, self.struck, self.failed = time.monotonic(), 0.0, collections.Counter(), []
        self._lock = threading.Lock()
        self.stopped, self._running = False, set()

    def tell(self, line):
        with self._lock:
            print(f"  {time.strftime('%H:%M:%S')} {line}", flush=True)

    def run(self, number, command):
        with self._lock:
            if self.stopped:
                return
            seed = Seed(command)
            self._running.add(seed)
        why = seed.run(lambda line: self.tell(f"seed {number}: {line}"))
        with self._lock:
            self._running.remove(seed)
            self.hours += seed.hours
            self.struck.update(seed.struck)
            failed = why and not self.stopped
            if failed:
                self.failed.append(number)
        if failed:
            self.tell(f"seed {number} ({' '.join(command)}) failed: {why}")

    def stop(self):
        with self._lock:
            self.stopped = True
            for seed in self._running:
                seed.process.terminate()

    def print(self):
        for name, times in sorted(self.struck.items(), key=lambda item: (item[1], item[0])):
            print(f"  {times:6} times: {name}" if times else f"   never: {name}")
        seconds, usage = time.monotonic() - self.began, resource.getrusage(resource.RUSAGE_CHILDREN)
        each = (usage.ru_utime + usage.ru_stime) / max(self.hours, 0.1)
        print(f"  {self.hours:.1f} simulated hours in {seconds:.0f} s, {each:.1f} s of a processor each; "
              f"failed seeds: {', '.join(map(str, self.failed)) or 'none'}", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--hours", type=float, default=1)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    arguments.add_argument("--fault", default="")
    arguments.add_argument("--at-once", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    summary = Summary()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as executor:
        runs, left, number = [], options.hours, options.seed
        while left > 0:
            command = [options.program, f"{min(left, SEED_HOURS):g}", str(number)] + ([options.fault] if options.fault else [])
            runs.append(executor.submit(summary.run, number, command))
            left, number = left - SEED_HOURS, number + 1
        try:
            for run in runs:
                run.result()
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM):  # once is enough
                signal.signal(number, signal.SIG_IGN)
            summary.stop()
    summary.print()
    sys.exit(1 if summary.failed else 130 if summary.stopped else 0)


if __name__ == "__main__":
    main()
