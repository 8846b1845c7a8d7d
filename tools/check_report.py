"""How the checks of the tree end: each problem is a line, and the exit code is 1 when there is one."""

import argparse
import pathlib
import sys


def report(problems):
    found = list(problems)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


def check_tree(description, check):
    """Reports what `check` finds below --root, which is this repository unless given."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    report(check(arguments.parse_args().root))
