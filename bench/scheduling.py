"""The rows about the scheduler: pods bound a second, through the API of one `porthole server`, on nodes without an agent.

NODES and PODS come from the environment (PORTHOLE_BENCH_NODES, PORTHOLE_BENCH_PODS). Nothing sends the nodes' heartbeats, as in upstream's
scheduler_perf: heartbeats of 50,000 nodes would take more than both processors that the targets are for. The server waits for them for a day, so
that its controllers do for these nodes all that they do for others, and then have nothing left to do.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import harness
from await_bound import bound
from copies import create_copies
from plane_bench import PlaneBench, is_ready

NODES = int(os.environ.get("PORTHOLE_BENCH_NODES", 5000))
PODS = int(os.environ.get("PORTHOLE_BENCH_PODS", 10000))
PATIENCE = 300 + NODES // 50  # seconds
# 65,536 ranges, the most there can be.
OPTIONS = ["--cluster-cidr", "100.64.0.0/10", "--node-cidr-mask-size", "26", "--node-monitor-grace-period", "24h"]
NO_SCHEDULER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "of-no-pod"}]}
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PATH = "/api/v1/namespaces/crowd/pods"
TARGET = "4,000/s" if NODES <= 5000 else "2,000/s" if NODES <= 50000 else ""


def node(number):
    # Both labels, as a kubelet sends them: the node controller would add the one that lacks.
    labels = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "kubernetes.io/hostname": f"sim-{number}", ZONE: f"zone-{number % 3}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"sim-{number}", "labels": labels},
            "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"}, "capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                       "lastHeartbeatTime": stamp(), "lastTransitionTime": stamp()}]}}


def pod(app, spec):
    container = {"name": "main", "image": harness.IMAGE, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{app}-", "labels": {"app": app}},
            "spec": {"containers": [container], **spec}}


def workloads():
    """What is scheduled while it is created, in this order: name, number of pods, their app, spec. Required anti-affinity comes last, because the
    scheduler checks such terms of pods that are bound for each pod that comes after them."""
    one = lambda app: {"labelSelector": {"matchLabels": {"app": app}}}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    required = lambda app, key: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **one(app)}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": HOST, **one("apart")}}]}
    fewer = max(1, PODS // 5)
    return [("plain", PODS, "plain", {}),
            ("spread over 3 zones", PODS, "spread", {"topologySpreadConstraints": [spread | one("spread")]}),
            ("affinity to their zone", fewer, "near", {"affinity": {"podAffinity": required("near", ZONE)}}),
            ("preferred anti-affinity to their node", fewer, "apart", {"affinity": {"podAntiAffinity": preferred}}),
            ("anti-affinity to their node", min(fewer, NODES), "alone", {"affinity": {"podAntiAffinity": required("alone", HOST)}})]


class SchedulingBench(PlaneBench):
    def run(self):
        try:
            self.start_without_scheduler()
            self.make_namespace()
            self.sign_in()
            self.measure_nodes()
            self.measure_existing()
            for workload in workloads():
                self.measure_workload(*workload)
        finally:
            self.stop()

    # --- rows

    def measure_nodes(self):
        with self.row(f"{NODES:,} nodes created: ready, with pod ranges"):
            self.create(("/api/v1/nodes", node(number)) for number in range(NODES))
            nodes = lambda: self.get("/api/v1/nodes").get("items", [])
            # Each answer has a kilobyte for each node.
            harness.eventually(lambda: sum(map(is_ready, nodes())) == NODES, PATIENCE, "all nodes ready", interval=1 + NODES / 10000)

    def measure_existing(self):
        """Pods that are there when the scheduler starts, its lists included."""
        self.create_pods(pod("existing", {}), PODS)
        self.plane.stop()
        self.start_server(*OPTIONS)
        with self.waiting(PODS) as bound_at:
            seconds = bound_at() - self.started_at()
        self.table.row(f"{NODES:,} nodes, {PODS:,} pods that exist: plain", rate(PODS / seconds), TARGET, f"bound in {seconds:.1f} s")

    def measure_workload(self, name, count, app, spec):
        """From the first create on."""
        with self.waiting(bound(self.get("/metrics")["text"]) + count) as bound_at:
            started = time.time()
            self.create_pods(pod(app, spec), count)
            created = time.time() - started
            seconds = bound_at() - started
        self.table.row(f"{NODES:,} nodes, {count:,} pods: {name}", rate(count / seconds), TARGET if app == "plain" else "",
                       f"created in {created:.1f} s of {seconds:.1f}")

    # --- the cluster

    def start_without_scheduler(self):
        """With one that has no pods of its own."""
        path = self.folder / "scheduler.yaml"
        path.write_text(json.dumps(NO_SCHEDULER))
        self.start_server(*OPTIONS, "--scheduler-config", path)

    def sign_in(self):
        """h2load cannot show a client certificate: a service account's token with all rights."""
        self.kubectl("create", "serviceaccount", "bench", "-n", "crowd")
        self.kubectl("create", "clusterrolebinding", "bench", "--clusterrole=cluster-admin", "--serviceaccount=crowd:bench")
        self.token = self.kubectl("create", "token", "bench", "-n", "crowd").strip()

    def create_pods(self, thing, count):
        create_copies(self.network, "https://127.0.0.1:6443" + PATH, self.token, thing, count, self.folder, seconds=PATIENCE)

    @contextlib.contextmanager
    def waiting(self, count):
        """Gives what waits for so many bindings since the server's start, and returns the Unix time of the last."""
        words = [sys.executable, str(pathlib.Path(__file__).with_name("await_bound.py")), str(self.plane.kubeconfig), str(count), str(PATIENCE)]
        process = subprocess.Popen(self.network.inside(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def bound_at():
            answer, errors = process.communicate()
            if process.returncode:
                raise AssertionError(errors)
            unbound = self.get(PATH + "?limit=1&fieldSelector=spec.nodeName%3D")["items"]
            if unbound:
                raise AssertionError(f"not bound: {unbound[0]['metadata']['name']}")
            return float(answer)
        try:
            yield bound_at
        finally:
            process.kill()
            process.communicate()

    def started_at(self):
        """When the API was ready, immediately before controllers and scheduler start: a Unix time."""
        line = re.search(r"^(\S+)Z I .*the API is ready", (self.folder / "server.log").read_text(), re.MULTILINE)
        return datetime.datetime.fromisoformat(line.group(1) + "+00:00").timestamp()


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def rate(number):
    return f"{number:,.0f}/s"
