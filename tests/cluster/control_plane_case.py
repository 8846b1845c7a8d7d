"""A control plane of its own for a test: `porthole server` in a network namespace, without nodes."""

import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import CLIENTS, PORTHOLE, Network, eventually, patiently, raw_request, run


class ControlPlane:
    """`porthole server` with options, in a network namespace of its own."""

    def __init__(self, network, folder, porthole=PORTHOLE):
        self.network, self.folder, self.porthole = network, folder, porthole
        self.kubeconfig = folder / "data/admin.kubeconfig"
        self.process = None

    def start(self, *options):
        log = open(self.folder / "server.log", "w")
        self.process = subprocess.Popen(self.network.inside([str(self.porthole), "server", "--data", str(self.folder / "data"), *map(str, options)]),
                                        stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True)
        log.close()
        if not self.process.stdout.readline():
            raise AssertionError("the server did not start: " + (self.folder / "server.log").read_text())

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(120)
            self.process.stdout.close()

    def kubectl(self, *words, check=True, client="new", **options):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        return run(self.network.inside([str(CLIENTS[client]), *patiently(words)]), env=environment, check=check, **options)

    def raw(self, method, path, *options, body=""):
        """What the server answers a request of the administrator, or with `--token ""` of no one."""
        return json.loads(raw_request(self.network, self.kubeconfig, method, path, *options, body=body))

    def write_token_kubeconfig(self):
        """The same server for users who have nothing but a token."""
        view = json.loads(self.kubectl("config", "view", "--raw", "-o", "json").stdout)
        view["users"] = [{"name": user["name"], "user": {}} for user in view["users"]]
        path = self.folder / "token.kubeconfig"
        path.write_text(json.dumps(view))
        return path

    def wait_for_default_namespace(self, seconds=60):
        """Until controllers have begun, which is when pods can be created."""
        eventually(lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, seconds, "the namespace default")


class NetworkCase(unittest.TestCase):
    """A test with a folder and a network namespace of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.network = Network(f"porthole-test-{os.getpid()}-{secrets.token_hex(2)}")
        self.addCleanup(self.network.delete)


class ControlPlaneCase(NetworkCase):
    """A test with a control plane, which it starts."""

    def setUp(self):
        super().setUp()
        self.server = ControlPlane(self.network, self.folder)
        self.addCleanup(self.server.stop)
