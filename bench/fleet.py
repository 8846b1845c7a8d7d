"""The rows about a large cluster: one server without nodes of its own, and `porthole fleet` that plays them. Prints a table.

NODES, PODS and SERVICES come from the environment (PORTHOLE_BENCH_NODES, PORTHOLE_BENCH_PODS, PORTHOLE_BENCH_SERVICES), because a small machine, or a
busy one, does not play 10,000 nodes. Seconds are for reading; processor time and memory say more where the machine has other work.
"""

import datetime
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse

import harness
from plane_bench import PlaneBench, Process, is_ready, megabytes

NODES = int(os.environ.get("PORTHOLE_BENCH_NODES", "1000"))
PODS = int(os.environ.get("PORTHOLE_BENCH_PODS", "10000"))
DEPLOYMENTS = 10
SERVICES = max(DEPLOYMENTS, int(os.environ.get("PORTHOLE_BENCH_SERVICES", "5000")))
PATIENCE = 1800 + (NODES + PODS) // 10  # seconds
LISTING = 1 + (NODES + PODS) / 50000  # seconds between two lists of all nodes or endpoints, which take a part of the machine
STEADY = 30  # seconds of rest that are measured
TOLERATION = 5  # seconds for which a pod stays on a lost node
GRACE = 50  # seconds without a heartbeat
EVICTION_RATE = max(0.1, NODES / 1000)  # nodes a second: a tenth of them is tainted within 100 s
CLUSTER_CIDR = "100.64.0.0/10"  # the default has ranges for 256 nodes, this one for 16,384
PROXY_HEALTH = "127.0.0.1:10256"


class FleetBench(PlaneBench):
    def __init__(self, table):
        super().__init__(table)
        self.fleets = []
        self.proxy = None

    def run(self):
        try:
            self.start_server("--cluster-cidr", CLUSTER_CIDR, "--node-eviction-rate", EVICTION_RATE)
            self.make_namespace()
            self.measure_start()
            self.measure_rest(f"at rest, {NODES:,} nodes")
            self.measure_pods()
            self.measure_rest(f"at rest, {NODES:,} nodes, {PODS:,} pods")
            self.measure_update(f"rolling update of {PODS // DEPLOYMENTS:,} pods", image=2)
            self.measure_services()
            self.measure_proxy()
            self.measure_update(f"the same, with a service and its {PODS // DEPLOYMENTS:,} endpoints", image=3)
            self.end_proxy()
            self.measure_loss()
            self.measure_collection()
            self.measure_deletion()
        finally:
            self.stop()

    # --- rows

    def measure_start(self):
        lost = NODES // 10
        with self.row(f"start of {NODES:,} nodes: registered, ready, without taints"):
            self.start_fleet("kept-", NODES - lost)
            self.start_fleet("lost-", lost)
            harness.eventually(lambda: self.ready_nodes() == NODES, PATIENCE, "all nodes ready", interval=LISTING)

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

    def measure_update(self, what, image):
        """Of one Deployment: a tenth of the pods."""
        proxy_before = self.proxy.seconds() if self.proxy else 0
        with self.row(what):
            self.apply(self.deployment(0, image))
            harness.eventually(lambda: self.is_updated(0), PATIENCE, "the update", interval=0.5)
            if self.proxy:
                harness.eventually(lambda: self.ready_endpoints() == endpoints(), PATIENCE, "the endpoints of the update", interval=LISTING)
        if self.proxy:
            self.table.row("…: kube-proxy", f"{self.proxy.seconds() - proxy_before:.1f} s of processor", "", f"RSS {megabytes(self.proxy.memory())}")

    def measure_services(self):
        with self.row(f"{len(lone_pods()):,} pods without a controller created, running"):
            self.create(("/api/v1/namespaces/crowd/pods", pod(name)) for name in lone_pods())
            harness.eventually(lambda: not self.has_pods("status.phase!=Running"), PATIENCE, "all pods running", interval=1)
        with self.row(f"{SERVICES:,} services created, slices with {endpoints():,} endpoints written"):
            self.create(("/api/v1/namespaces/crowd/services", service(name)) for name in app_names() + lone_pods())
            harness.eventually(lambda: self.ready_endpoints() == endpoints(), PATIENCE, "all endpoints", interval=LISTING)

    def measure_proxy(self):
        """From its start until the kernel has the whole table. It writes into the bench's own network namespace."""
        words = [harness.PORTHOLE, "kube-proxy", "--kubeconfig", self.plane.kubeconfig, "--hostname-override", "kept-0", "--cluster-cidr", CLUSTER_CIDR,
                 "--healthz-bind-address", PROXY_HEALTH]
        started = time.time()
        self.proxy = self.start("proxy", words)
        harness.eventually(lambda: self.proxy_synced() > started, PATIENCE, "the proxy's table", interval=0.1)
        self.table.row(f"kube-proxy: {SERVICES:,} services, {endpoints():,} endpoints", f"{self.proxy_synced() - started:.1f} s",
                       f"used {self.proxy.seconds():.1f} s", f"RSS {megabytes(self.proxy.memory())}")

    def measure_loss(self):
        """From the end of the nodes' heartbeats. Most is waiting: the node controller waits for GRACE and taints EVICTION_RATE nodes a second, and
        each pod stays for TOLERATION."""
        lost = NODES // 10
        with self.row(f"loss of {lost:,} nodes: all pods replaced ({GRACE + lost / EVICTION_RATE + TOLERATION:,.0f} s are waiting)"):
            self.end_process(self.fleets.pop())
            harness.eventually(lambda: self.replicas("readyReplicas") < PODS, PATIENCE, "nodes taken for lost", interval=0.2)
            harness.eventually(lambda: self.replicas("readyReplicas") == PODS, PATIENCE, "pods replaced", interval=0.5)

    def measure_collection(self):
        """The pods of lost nodes have no kubelet that confirms their end: they are removed after their nodes, in turns of 20 s."""
        with self.row("pods of the lost nodes removed, which are deleted"):
            self.kubectl("delete", "nodes", "-l", "porthole.dev/fleet=lost", "--wait=false", seconds=PATIENCE)
            harness.eventually(lambda: self.pods() == self.ready_endpoints(), PATIENCE, "no pods of lost nodes", interval=LISTING)

    def measure_deletion(self):
        with self.row(f"deletion of the namespace with {self.pods():,} pods and {SERVICES:,} services"):
            self.kubectl("delete", "namespace", "crowd", "--wait=false")
            harness.eventually(lambda: self.get("/api/v1/namespaces/crowd").get("code") == 404, PATIENCE, "the namespace gone", interval=0.5)

    # --- the cluster

    def start_fleet(self, prefix, nodes):
        words = [harness.PORTHOLE, "fleet", "--kubeconfig", self.plane.kubeconfig, "--nodes", nodes, "--name-prefix", prefix]
        if self.fleets:
            words += ["--node-cidr", "198.19.0.0/16"]
        self.fleets.append(self.start(prefix + "fleet", words))

    def start(self, name, words):
        with open(self.folder / f"{name}.log", "w") as log:
            handle = subprocess.Popen(self.network.inside(map(str, words)), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        process = Process(handle.pid)
        process.handle = handle
        return process

    def end_process(self, process):
        process.handle.send_signal(signal.SIGTERM)
        process.handle.wait(60)

    def end_proxy(self):
        if self.proxy:
            self.end_process(self.proxy)
            self.proxy = None

    def stop(self):
        self.end_proxy()
        for fleet in self.fleets:
            self.end_process(fleet)
        super().stop()

    def apply(self, thing):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(thing))

    def ready_nodes(self):
        return sum(map(is_ready, self.get("/api/v1/nodes?labelSelector=porthole.dev/fleet").get("items", [])))

    def deployment(self, number, image=1):
        labels = {"app": app_names()[number]}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": labels["app"], "namespace": "crowd", "labels": labels},
                "spec": {"replicas": PODS // DEPLOYMENTS, "selector": {"matchLabels": labels}, "template": template(labels, image)}}

    def has_pods(self, fields):
        return bool(self.get("/api/v1/namespaces/crowd/pods?limit=1&fieldSelector=" + urllib.parse.quote(fields))["items"])

    def pods(self):
        """How many there are; a list of 100,000 would be a third of a gigabyte."""
        return int(re.search(r'^apiserver_storage_objects\{resource="pods"\} (\d+)', self.get("/metrics")["text"], re.MULTILINE).group(1))

    def ready_endpoints(self):
        slices = self.get("/apis/discovery.k8s.io/v1/namespaces/crowd/endpointslices")["items"]
        return sum(one["conditions"].get("ready", False) for part in slices for one in part.get("endpoints") or [])

    def proxy_synced(self):
        """A Unix time; one in the past before it has written its table."""
        text = harness.run(self.network.inside(["curl", "--silent", "--max-time", "5", f"http://{PROXY_HEALTH}/healthz"])).stdout
        return datetime.datetime.fromisoformat(json.loads(text)["lastUpdated"].replace("Z", "+00:00")).timestamp()

    def deployments(self):
        return self.get("/apis/apps/v1/namespaces/crowd/deployments").get("items", [])

    def replicas(self, field):
        return sum(one.get("status", {}).get(field, 0) for one in self.deployments())

    def is_updated(self, number):
        one = self.get(f"/apis/apps/v1/namespaces/crowd/deployments/app-{number}")
        status, wanted = one["status"], PODS // DEPLOYMENTS
        return status.get("observedGeneration") == one["metadata"]["generation"] and all(
            status.get(field) == wanted for field in ("replicas", "updatedReplicas", "availableReplicas"))


def percent(seconds):
    return f"{100 * seconds / STEADY:.1f} % of one cpu"


def template(labels, image=1):
    taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION} for key in taints]
    container = {"name": "main", "image": f"nowhere.invalid/app:{image}", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {"metadata": {"labels": labels}, "spec": {"tolerations": tolerations, "containers": [container]}}


def app_names():
    return [f"app-{number}" for number in range(DEPLOYMENTS)]


def lone_pods():
    """Each with a service of its own; the other services are those of the Deployments."""
    return [f"lone-{number}" for number in range(SERVICES - DEPLOYMENTS)]


def pod(name):
    made = template({"app": name})
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {"name": name, **made["metadata"]}}


def service(name):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}


def endpoints():
    return PODS // DEPLOYMENTS * DEPLOYMENTS + len(lone_pods())
