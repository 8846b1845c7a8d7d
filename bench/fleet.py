"""The rows about a large cluster: one server without nodes of its own, and `porthole fleet` that plays them. Prints a table.

NODES and PODS come from the environment (PORTHOLE_BENCH_NODES, PORTHOLE_BENCH_PODS), because a small machine, or a busy one, does not play
10,000 nodes. Seconds are for reading; processor time and memory say more where the machine has other work.
"""

import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from control_plane_case import ControlPlane

NODES = int(os.environ.get("PORTHOLE_BENCH_NODES", "1000"))
PODS = int(os.environ.get("PORTHOLE_BENCH_PODS", "10000"))
DEPLOYMENTS = 10
PATIENCE = 1800  # seconds
STEADY = 30  # seconds of rest that are measured
TOLERATION = 5  # seconds for which a pod stays on a lost node
TICK = os.sysconf("SC_CLK_TCK")


class Process:
    """Processor time and memory of one process, threads included."""

    def __init__(self, pid):
        self.pid = pid

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self, field="VmRSS"):
        return int(re.search(rf"{field}:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text()).group(1)) * 1024


class FleetBench:
    def __init__(self, table):
        self.table = table
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-bench-"))
        self.network = harness.Network(f"porthole-bench-{os.getpid()}-{secrets.token_hex(2)}")
        self.plane = ControlPlane(self.network, self.folder)
        self.fleets = []

    def run(self):
        try:
            self.plane.start("--cluster-cidr", "100.64.0.0/10")  # the default has ranges for 256 nodes
            self.server = Process(self.plane.process.pid)
            self.kubectl("create", "namespace", "crowd")
            harness.eventually(lambda: self.get("/api/v1/namespaces/crowd/serviceaccounts/default").get("kind") == "ServiceAccount", 60)
            self.measure_start()
            self.measure_rest(f"at rest, {NODES:,} nodes")
            self.measure_pods()
            self.measure_rest(f"at rest, {NODES:,} nodes, {PODS:,} pods")
            self.measure_update()
            self.measure_loss()
            self.measure_deletion()
        finally:
            self.stop()

    # --- rows

    def measure_start(self):
        lost = NODES // 10
        with self.row(f"start of {NODES:,} nodes: registered, ready, without taints"):
            self.start_fleet("kept-", NODES - lost)
            self.start_fleet("lost-", lost)
            harness.eventually(lambda: self.ready_nodes() == NODES, PATIENCE, "all nodes ready", interval=1)

    def measure_rest(self, what):
        time.sleep(20)  # what the step before has left to do
        fleet = self.fleets[0]
        before, fleet_before = self.server.seconds(), fleet.seconds()
        time.sleep(STEADY)
        self.table.row(f"{what}: server", percent(self.server.seconds() - before), "", f"RSS {megabytes(self.server.memory())}")
        self.table.row(f"{what}: fleet of {NODES - NODES // 10:,}", percent(fleet.seconds() - fleet_before), "", f"RSS {megabytes(fleet.memory())}")

    def measure_pods(self):
        with self.row(f"{PODS:,} pods created by {DEPLOYMENTS} Deployments, scheduled, running"):
            for number in range(DEPLOYMENTS):
                self.apply(self.deployment(number))
            harness.eventually(lambda: self.replicas("readyReplicas") == PODS, PATIENCE, "all pods ready", interval=1)

    def measure_update(self):
        """Of one Deployment: a tenth of the pods."""
        with self.row(f"rolling update of {PODS // DEPLOYMENTS:,} pods"):
            self.apply(self.deployment(0, image="nowhere.invalid/app:2"))
            harness.eventually(lambda: self.is_updated(0), PATIENCE, "the update", interval=0.5)

    def measure_loss(self):
        """From the end of the nodes' heartbeats. Most is waiting: the node controller waits for 40 s and taints 0.1 nodes a second, as
        upstream's, and each pod stays for TOLERATION seconds."""
        with self.row(f"loss of {NODES // 10:,} nodes: all pods replaced ({40 + NODES + TOLERATION:,} s are waiting)"):
            self.end_fleet(self.fleets.pop())
            harness.eventually(lambda: self.replicas("readyReplicas") < PODS, PATIENCE, "nodes taken for lost", interval=0.2)
            harness.eventually(lambda: self.replicas("readyReplicas") == PODS, PATIENCE, "pods replaced", interval=0.5)

    def measure_deletion(self):
        with self.row(f"deletion of the namespace with {PODS:,} pods"):
            self.kubectl("delete", "namespace", "crowd", "--wait=false")
            # The pods of lost nodes have no kubelet that confirms their end: they are removed with their nodes.
            self.kubectl("delete", "nodes", "-l", "porthole.dev/fleet=lost", "--wait=false", seconds=PATIENCE)
            harness.eventually(lambda: self.get("/api/v1/namespaces/crowd").get("code") == 404, PATIENCE, "the namespace gone", interval=0.5)

    def row(self, what):
        return Row(self, what)

    # --- the cluster

    def start_fleet(self, prefix, nodes):
        log = open(self.folder / f"{prefix}fleet.log", "w")
        words = [str(harness.PORTHOLE), "fleet", "--kubeconfig", str(self.plane.kubeconfig), "--nodes", str(nodes), "--name-prefix", prefix]
        if self.fleets:
            words += ["--node-cidr", "198.19.0.0/16"]
        process = subprocess.Popen(self.network.inside(words), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        fleet = Process(process.pid)
        fleet.handle = process
        self.fleets.append(fleet)

    def end_fleet(self, fleet):
        fleet.handle.send_signal(signal.SIGTERM)
        fleet.handle.wait(60)

    def stop(self):
        for fleet in self.fleets:
            self.end_fleet(fleet)
        self.plane.stop()
        self.network.delete()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kubectl(self, *words, **options):
        return self.plane.kubectl(*words, **options).stdout

    def apply(self, thing):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(thing))

    def get(self, path):
        text = harness.raw_request(self.network, self.plane.kubeconfig, "GET", path, check=False)
        return json.loads(text or "{}")

    def ready_nodes(self):
        nodes = self.get("/api/v1/nodes?labelSelector=porthole.dev/fleet").get("items", [])
        return sum(1 for node in nodes if not node["spec"].get("taints") and node["spec"].get("podCIDR")
                   and any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"]))

    def deployment(self, number, image="nowhere.invalid/app:1"):
        labels = {"app": f"app-{number}"}
        taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        tolerations = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION} for key in taints]
        container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"app-{number}", "namespace": "crowd", "labels": labels},
                "spec": {"replicas": PODS // DEPLOYMENTS, "selector": {"matchLabels": labels},
                         "template": {"metadata": {"labels": labels}, "spec": {"tolerations": tolerations, "containers": [container]}}}}

    def deployments(self):
        return self.get("/apis/apps/v1/namespaces/crowd/deployments").get("items", [])

    def replicas(self, field):
        return sum(one.get("status", {}).get(field, 0) for one in self.deployments())

    def is_updated(self, number):
        one = self.get(f"/apis/apps/v1/namespaces/crowd/deployments/app-{number}")
        status, wanted = one["status"], PODS // DEPLOYMENTS
        return status.get("observedGeneration") == one["metadata"]["generation"] and all(
            status.get(field) == wanted for field in ("replicas", "updatedReplicas", "availableReplicas"))


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


def percent(seconds):
    return f"{100 * seconds / STEADY:.1f} % of one cpu"


def megabytes(number):
    return f"{number / 1e6:.0f} MB"
