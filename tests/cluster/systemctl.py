#!/usr/bin/env python3
"""A stand-in for systemctl on a machine of test_provision.py, which has no systemd: it runs the one unit that `porthole join` writes.

A program whose SHA-256 is in /run/refused does not start, as one would that crashes.
"""

import hashlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

UNIT = pathlib.Path("/etc/systemd/system/porthole-agent.service")
PID, LOG, REFUSED = map(pathlib.Path, ("/run/agent.pid", "/run/agent.log", "/run/refused"))


def running():
    """The agent's pid, or 0."""
    try:
        pid = int(PID.read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return 0
    return pid


def start():
    if running():
        return
    line = next(line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart="))
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line.removeprefix("ExecStart="))]
    if REFUSED.exists() and hashlib.sha256(pathlib.Path(words[0]).read_bytes()).hexdigest() in REFUSED.read_text():
        return
    with LOG.open("ab") as log:
        PID.write_text(str(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True).pid))


def stop():
    pid = running()
    if pid:
        os.kill(pid, signal.SIGTERM)
    while running():
        time.sleep(0.05)


def main(verb):
    if verb == "is-active":
        return 0 if running() else 3
    if verb in ("stop", "restart"):
        stop()
    if verb in ("start", "restart"):
        start()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
