"""What the benches of large clusters have in common: one `porthole server` without nodes of its own, in a network namespace."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

import harness
from control_plane_case import ControlPlane

TICK = os.sysconf("SC_CLK_TCK")
CREATORS = 4  # connections that create objects


class Process:
    """Processor time of one process, with its threads and the children that have ended, and its memory."""

    def __init__(self, pid):
        self.pid = pid

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK

    def memory(self, field="VmRSS"):
        return int(re.search(rf"{field}:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text()).group(1)) * 1024


class PlaneBench:
    """Its objects are in the namespace `crowd`."""

    def __init__(self, table):
        self.table = table
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-bench-"))
        self.network = harness.Network(f"porthole-bench-{os.getpid()}-{secrets.token_hex(2)}")
        self.plane = ControlPlane(self.network, self.folder)
        self.server = None

    def start_server(self, *options):
        self.plane.start(*options)
        self.server = Process(self.plane.process.pid)

    def make_namespace(self):
        self.kubectl("create", "namespace", "crowd")
        harness.eventually(lambda: self.get("/api/v1/namespaces/crowd/serviceaccounts/default").get("kind") == "ServiceAccount", 60)

    def stop(self):
        self.plane.stop()
        self.network.delete()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kubectl(self, *words, **options):
        return self.plane.kubectl(*words, **options).stdout

    def get(self, path):
        text = harness.raw_request(self.network, self.plane.kubeconfig, "GET", path, check=False)
        return json.loads(text or "{}")

    def create(self, things):
        """`things`: (path, object)."""
        lines = [f"{path} {json.dumps(thing)}\n" for path, thing in things]
        words = [sys.executable, str(pathlib.Path(__file__).with_name("create_objects.py")), str(self.plane.kubeconfig)]
        creators = []
        try:
            for first in range(CREATORS):
                part = self.folder / f"objects-{first}"
                part.write_text("".join(lines[first::CREATORS]))
                with open(part) as text:
                    creators.append(subprocess.Popen(self.network.inside(words), stdin=text, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            for creator in creators:
                errors = creator.communicate()[1]
                if creator.returncode:
                    raise AssertionError(errors)
        finally:
            for creator in creators:
                creator.kill()
                creator.wait()

    def row(self, what):
        return Row(self, what)


class Row:
    """Times what its block does, with the server's processor time and memory."""

    def __init__(self, bench, what):
        self.bench, self.what = bench, what

    def __enter__(self):
        self.started, self.before = time.monotonic(), self.bench.server.seconds()

    def __exit__(self, kind, *rest):
        if kind:
            return
        seconds = time.monotonic() - self.started
        used = self.bench.server.seconds() - self.before
        self.bench.table.row(self.what, f"{seconds:.1f} s", f"server used {used:.1f} s", f"RSS {megabytes(self.bench.server.memory())}")


def megabytes(number):
    return f"{number / 1e6:.0f} MB"


def is_ready(node):
    """With a range of pods' addresses too, and without the taint that a new node has."""
    return (not node["spec"].get("taints") and bool(node["spec"].get("podCIDR"))
            and any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"]))
