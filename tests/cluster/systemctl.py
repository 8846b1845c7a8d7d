#!/usr/bin/env python3
"""A stand-in for systemctl and journalctl on a machine of test_provision.py, which has no systemd: it runs the units in /etc/systemd/system.

A program whose SHA-256 is in /run/refused does not start, as one would that crashes. Nothing is started a second time by itself: a unit that
has ended counts as one that has ended many times.
"""

import hashlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

REFUSED = pathlib.Path("/run/refused")


def environment(name):
    """The variables of an EnvironmentFile; one whose name begins with a dash need not be there."""
    path = pathlib.Path(name.removeprefix("-") or "/none")
    if name.startswith("-") and not path.exists():
        return {}
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


class Unit:
    def __init__(self, name):
        self.name = name.removesuffix(".service")
        self.file = pathlib.Path(f"/etc/systemd/system/{self.name}.service")
        self.pid_file, self.log = pathlib.Path(f"/run/{self.name}.pid"), pathlib.Path(f"/run/{self.name}.log")

    def running(self):
        """Its pid, or 0."""
        try:
            pid = int(self.pid_file.read_text())
            os.kill(pid, 0)
        except (OSError, ValueError):
            return 0
        return pid

    def start(self):
        if self.running():
            return
        settings = dict(line.split("=", 1) for line in self.file.read_text().splitlines() if "=" in line and not line.startswith("#"))
        words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(settings["ExecStart"])]
        user = settings.get("User")
        with self.log.open("ab") as log:
            if REFUSED.exists() and hashlib.sha256(pathlib.Path(words[0]).read_bytes()).hexdigest() in REFUSED.read_text():
                log.write(b"this program is refused\n")
                return
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, user=user, group=user,
                                       extra_groups=[] if user else None, env={**os.environ, **environment(settings.get("EnvironmentFile", "-"))})
            self.pid_file.write_text(str(process.pid))

    def stop(self):
        pid = self.running()
        if pid:
            os.kill(pid, signal.SIGTERM)
        while self.running():
            time.sleep(0.05)


def main(program, verb, *words):
    if program == "journalctl":
        log = Unit(verb.removeprefix("_SYSTEMD_UNIT=")).log
        print(log.read_text(errors="replace").strip().rsplit("\n", 1)[-1] if log.exists() else "")
        return 0
    if verb == "daemon-reload":
        return 0
    unit = Unit(words[-1])
    if verb == "is-active":
        return 0 if unit.running() else 3
    if verb == "show":
        print(0 if unit.running() else 3)
    if verb in ("stop", "restart"):
        unit.stop()
    if verb in ("start", "restart"):
        unit.start()
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[0]).name, *sys.argv[1:]))
