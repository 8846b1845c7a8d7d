"""Waits until the scheduler has bound a number of pods: await_bound.py KUBECONFIG COUNT SECONDS. Prints the Unix time of the answer that said so.

Asks over one connection, because on a machine with two processors a process for each question would take from what is measured."""

import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
from raw_request import connect  # noqa: E402

PAUSE = 0.05  # seconds


def bound(metrics):
    """How many pods have been bound, by the answer of /metrics."""
    found = re.search(r'scheduler_schedule_attempts_total\{[^}]*result="scheduled"\} (\d+)', metrics)
    return int(found.group(1)) if found else 0


def main():
    kubeconfig, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    connection = connect(kubeconfig, timeout=seconds)
    deadline = time.monotonic() + seconds
    while True:
        connection.request("GET", "/metrics")
        found = bound(connection.getresponse().read().decode())
        if found >= count:
            return print(time.time())
        if time.monotonic() > deadline:
            sys.exit(f"{found} of {count} pods bound after {seconds:.0f} s")
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
