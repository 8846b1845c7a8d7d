"""What tests of pods on a Windows node share."""

import contextlib
import pathlib

from manifests import container
from test_windows_node import WindowsPodCase, windows_pod

import windows_probe

FETCH = "C:\\web\\fetch.exe"
PROBE = "C:\\app\\probe.exe"
ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]


class ProbeCase(WindowsPodCase):
    """Pods whose program is the tests' own: src/winhost/cri/test/probe.c says what it can do."""

    loaded = set()  # the clusters that have the image

    def setUp(self):
        super().setUp()
        if self.cluster not in ProbeCase.loaded:
            archive = self.cluster.folder / "windows-probe.tar"
            windows_probe.make(archive)
            self.cluster.porthole("image", "load", archive)
            ProbeCase.loaded.add(self.cluster)

    def probe(self, name, *words, memory=None, container_fields=None, **fields):
        bounds = {"resources": {"limits": {"memory": memory}}} if memory else {}
        return windows_pod(name, [PROBE, *words], container_fields={"image": windows_probe.NAME, **bounds, **(container_fields or {})}, **fields)

    def status_of(self, name, container="main"):
        statuses = self.get("pod", name)["status"].get("containerStatuses", [])
        return next((status for status in statuses if status["name"] == container), {})

    def last_end(self, name, seconds=60):
        return self.eventually(lambda: self.status_of(name).get("lastState", {}).get("terminated"), seconds, f"{name} was restarted")


def processes_with(mark):
    """Process ids of this machine whose program was given `mark`."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            if mark in words and "probe.exe" in words and "kubectl" not in words and "launch.exe" not in words:
                found.append(int(entry.name))
    return found
