#!/usr/bin/env python3
"""Prints where the time of builds went: build_timings.py BUILD/.ninja_log... [--slowest 12].

Ninja's log has a line a finished step: start and end in milliseconds since its run began, a time stamp, the output, a hash of the command.
Only the last line of an output counts. A step's time is its time on the clock: steps that share the cores take longer.
"""

import argparse
import pathlib
import sys
from dataclasses import dataclass

KINDS = (("precompiled header", (".pch", ".gch")), ("compile", (".o", ".obj")), ("archive", (".a",)),
         ("link", (".exe", ".dll", "")))


@dataclass(frozen=True)
class Step:
    output: str
    seconds: float

    @property
    def kind(self):
        suffix = pathlib.PurePosixPath(self.output).suffix
        return next((kind for kind, suffixes in KINDS if suffix in suffixes), "other")


def read_log(text):
    """The steps of a log, in the order in which their outputs first appear."""
    steps = {}
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) == 5 and not line.startswith("#"):
            steps[words[3]] = Step(words[3], (int(words[1]) - int(words[0])) / 1000)
    return list(steps.values())


def report(name, steps, slowest):
    totals = {}
    for step in steps:
        count, seconds = totals.get(step.kind, (0, 0.0))
        totals[step.kind] = (count + 1, seconds + step.seconds)
    yield f"{name}: {len(steps)} steps, {sum(step.seconds for step in steps):.0f} s one after the other"
    for kind, (count, seconds) in sorted(totals.items(), key=lambda item: -item[1][1]):
        yield f"  {kind:<20}{count:6}{seconds:9.1f} s"
    for step in sorted(steps, key=lambda step: -step.seconds)[:slowest]:
        yield f"    {step.seconds:6.1f} s  {step.output}"


def main():
    arguments = argparse.ArgumentParser(description="prints where the time of builds went")
    arguments.add_argument("logs", type=pathlib.Path, nargs="+")
    arguments.add_argument("--slowest", type=int, default=12, help="how many of the slowest steps to list")
    options = arguments.parse_args()
    logs = [log for log in options.logs if log.exists()]
    if not logs:
        sys.exit("build_timings: nothing has been built yet: ./run build")
    for log in logs:
        print("\n".join(report(log.parent, read_log(log.read_text()), options.slowest)))


if __name__ == "__main__":
    main()
