"""Rows in which upstream's kube-apiserver is the peer: requests of the same clients, one server after the other.

No server has controllers or a scheduler: upstream's are not started, and ours are disabled. Ours runs three times: with the store of its data directory,
as it starts on two processors and with a thread for connections, and, like upstream's, on an etcd of its own.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time

import harness

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/takeover"))
import test_takeover  # noqa: E402
from control_plane_case import ControlPlane  # noqa: E402
from test_etcd_store import Etcd, make_certificates  # noqa: E402

IN_FLIGHT, CONNECTIONS = 64, 4
SECONDS = 4
ROUNDS = 3
LISTED = 5000
NAMESPACE = "bench"
CONTAINER = {"name": "main", "image": harness.IMAGE, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": {"schedulerName": "nobody", "containers": [CONTAINER]}}
UNENCRYPTED = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
               "resources": [{"resources": ["secrets"], "providers": [{"identity": {}}]}]}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}, "data": {"text": "x" * 1700}}


class Side:
    """One API server in a namespace of its own, and its answers by h2load with a service account's token."""

    def __init__(self, name, folder, start):
        self.name, self.folder = name, folder
        self.network = harness.Network(f"porthole-bench-{os.getpid()}-{folder.name}")
        self.folder.mkdir()
        make_certificates(self.folder / "tls")
        (self.folder / "encryption.yaml").write_text(json.dumps(UNENCRYPTED))
        self.etcd = self.server = None
        try:
            self.server = start(self)
            self.prepare()
        except BaseException:
            self.stop()
            raise

    def start_etcd(self):
        self.etcd = Etcd(self.network, self.folder)
        harness.eventually(self.etcd.healthy, 30, "etcd is healthy")
        return self.etcd

    def prepare(self):
        kubectl = self.server.kubectl
        kubectl("create", "namespace", NAMESPACE)
        kubectl("create", "serviceaccount", "default", "-n", NAMESPACE, check=False)  # the controller that does it is not here
        kubectl("create", "serviceaccount", "bench", "-n", NAMESPACE)
        kubectl("create", "clusterrolebinding", "bench", "--clusterrole=cluster-admin", f"--serviceaccount={NAMESPACE}:bench")
        self.token = kubectl("create", "token", "bench", "-n", NAMESPACE).stdout.strip()
        kubectl("create", "namespace", "list")
        kubectl("create", "serviceaccount", "default", "-n", "list", check=False)

    def load(self, path, body=None, in_flight=IN_FLIGHT, connections=CONNECTIONS, count=None):
        """Requests a second. Every answer has to be 2xx."""
        words = ["h2load", "-c", str(connections), "-m", str(in_flight // connections), "-H", f"authorization: Bearer {self.token}",
                 "-H", "accept: application/json"]
        words += ["-n", str(count)] if count else ["-D", str(SECONDS), "--warm-up-time=1"]
        if body:
            (self.folder / "body.json").write_text(json.dumps(body))
            words += ["-H", "content-type: application/json", "-d", self.folder / "body.json"]
        text = harness.run(self.network.inside([*map(str, words), f"https://127.0.0.1:6443{path}"]), seconds=120).stdout
        codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
        if not codes or int(codes[1]) == 0 or any(int(codes[n]) for n in (2, 3, 4)):
            raise AssertionError(f"{self.name} {path}: {text}")
        return float(re.search(r"finished in [\d.]+\w+, ([\d.]+) req/s", text)[1])

    def stop(self):
        if self.server:
            self.server.stop()
        if self.etcd:
            self.etcd.stop()
        self.network.delete()


def upstream(side):
    server = test_takeover.Upstream(side.network, side.folder, side.start_etcd())
    server.start()
    return server


def ours(side, *options):
    """With what upstream is started with: secrets are not encrypted, and pods need no service account."""
    server = ControlPlane(side.network, side.folder, harness.PORTHOLE)
    server.start("--encryption-provider-config", side.folder / "encryption.yaml", "--disable-admission-plugins", "ServiceAccount",
                 "--disable-controller-manager", "--disable-scheduler", *options)
    return server


def ours_with_connection_thread(side):
    return ours(side, "--connection-thread=true")


def ours_on_etcd(side):
    return ours(side, "--etcd-servers", side.start_etcd().urls(), "--endpoint-reconciler-type", "none")


PEER = "kube-apiserver"
SIDES = {"data directory": ours, "connection thread": ours_with_connection_thread, "etcd": ours_on_etcd, PEER: upstream}
ROWS = [
    (f"create a ConfigMap of 2 KB, {IN_FLIGHT} in flight", lambda side: side.load(f"/api/v1/namespaces/{NAMESPACE}/configmaps", CONFIG_MAP)),
    (f"create a pod, {IN_FLIGHT} in flight", lambda side: side.load(f"/api/v1/namespaces/{NAMESPACE}/pods", POD)),
    ("create a ConfigMap, one at a time", lambda side: side.load(f"/api/v1/namespaces/{NAMESPACE}/configmaps", CONFIG_MAP, 1, 1)),
    (f"get, {IN_FLIGHT} in flight", lambda side: side.load("/api/v1/namespaces/kube-system")),
    (f"list of {LISTED:,} pods, 8 in flight", lambda side: side.load("/api/v1/namespaces/list/pods", in_flight=8)),
]


def measure(sides, request):
    """The median of each side's rounds; the sides take turns, so that all have the machine as it was."""
    found = {side.name: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            found[side.name].append(request(side))
    return {name: statistics.median(rates) for name, rates in found.items()}


def run(table):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-bench-"))
    sides = []
    try:
        for name, start in SIDES.items():
            sides.append(Side(name, folder / name.replace(" ", "-"), start))
            sides[-1].load("/api/v1/namespaces/list/pods", POD, count=LISTED)
        time.sleep(5)  # what the writes have left to do
        for what, request in ROWS:
            rates = measure(sides, request)
            peer = rates.pop(PEER)
            for name, rate in rates.items():
                table.row(f"{what}, {name}", f"{rate:,.1f}/s", "", f"{PEER} {peer:,.1f}/s (× {rate / peer:.1f})")
    finally:
        for side in sides:
            side.stop()
        shutil.rmtree(folder, ignore_errors=True)
