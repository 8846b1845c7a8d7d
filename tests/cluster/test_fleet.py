"""`porthole fleet`: one process plays 200 nodes against a control plane without nodes, in a network namespace."""

import datetime
import json
import os
import signal
import subprocess
import unittest

import yaml

from control_plane_case import ControlPlaneCase
from harness import PORTHOLE, eventually, needs_newest_kubectl, run, slow

NODES = 200
PATIENCE = 240  # seconds, on a busy machine

STAGES = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.podIP, operator: DoesNotExist}
  next:
    statusTemplate: |
      phase: Running
      podIP: {{ PodIPWith .spec.nodeName (or .spec.hostNetwork false) | Quote }}
      startTime: {{ Now | Quote }}
      conditions:
      - {type: Ready, status: "True", reason: ByStage}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next: {finalizers: {empty: true}, delete: true}
"""


def deployment(name, replicas, **spec):
    labels = {"app": name}
    container = {"name": "main", "image": "nowhere.invalid/app:1"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}}}


def job(name, completions):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": completions, "parallelism": completions,
                     "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "nowhere.invalid/app:1"}]}}}}


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class Fleet(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        self.server.start()
        self.server.wait_for_default_namespace(PATIENCE)

    def kubectl(self, *words, **options):
        return self.server.kubectl(*words, **options)

    def words(self, *options):
        return self.network.inside([str(PORTHOLE), "fleet", "--kubeconfig", str(self.server.kubeconfig), *map(str, options)])

    def start(self, *options, output="json"):
        log = open(self.folder / "fleet.log", "a")
        process = subprocess.Popen(self.words("-o", output, *options), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """The exit code; None when it had ended before."""
        if process.poll() is not None:
            return None
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE)

    def names(self, *words):
        return self.kubectl("get", *words, "-o", "jsonpath={.items[*].metadata.name}").stdout.split()

    def ready_nodes(self, selector="porthole.dev/fleet"):
        nodes = json.loads(self.kubectl("get", "nodes", "-l", selector, "-o", "json").stdout)["items"]
        return [node for node in nodes if any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])
                and not node["spec"].get("taints")]

    def make(self, thing):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(thing))

    # CLI-10
    def test_steps_are_told_in_yaml_too(self):
        fleet = self.start("--nodes", "1", output="yaml")
        eventually(lambda: len(self.ready_nodes()) == 1, PATIENCE, "the node ready")
        self.assertEqual(self.end(fleet), 0)
        steps = list(yaml.safe_load_all((self.folder / "fleet.log").read_text()))
        self.assertIn(("done", "1 nodes registered"), [(step["event"], step["text"]) for step in steps])
        self.assertEqual((steps[-1]["event"], steps[-1]["exitCode"]), ("end", 0))

    @slow
    def test_nodes_and_pods_live_and_end(self):
        fleet = self.start("--nodes", f"linux={NODES - 20},windows=20", "--delete-nodes", "--jobs-complete-after", "2s")
        eventually(lambda: len(self.ready_nodes()) == NODES, PATIENCE, "all nodes ready")
        self.assertEqual(len(self.names("nodes", "-l", "kubernetes.io/os=windows")), 20)
        ranges = lambda: {node["spec"]["podCIDR"] for node in json.loads(self.kubectl("get", "nodes", "-o", "json").stdout)["items"]}
        eventually(lambda: len(ranges()) == NODES, PATIENCE, "each node has a range of its own")

        self.make(deployment("web", 400))
        self.make(job("task", 20))
        self.kubectl("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s", seconds=PATIENCE + 10)
        self.kubectl("wait", "--for=condition=Complete", "job/task", f"--timeout={PATIENCE}s", seconds=PATIENCE + 10)
        pods = json.loads(self.kubectl("get", "pods", "-l", "app=web", "-o", "json").stdout)["items"]
        self.assertEqual(len({pod["status"]["podIP"] for pod in pods}), 400)
        eventually(lambda: len(self.names("leases", "-n", "kube-node-lease")) == NODES, PATIENCE, "a lease of each node")

        self.kubectl("delete", "deployment", "web", seconds=PATIENCE)
        eventually(lambda: not self.names("pods", "-l", "app=web"), PATIENCE, "deleted pods are gone")

        self.assertEqual(self.end(fleet), 0, (self.folder / "fleet.log").read_text())
        self.assertEqual(self.names("nodes"), [])

    def test_stages_of_a_file_decide(self):
        (self.folder / "stages.yaml").write_text(STAGES)
        self.start("--nodes", 10, "--name-prefix", "staged-", "--stages", self.folder / "stages.yaml")
        eventually(lambda: len(self.ready_nodes("porthole.dev/fleet=staged")) == 10, PATIENCE, "all nodes ready")
        self.make(deployment("web", 20))
        self.kubectl("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s", seconds=PATIENCE + 10)
        reason = self.kubectl("get", "pods", "-o", "jsonpath={.items[0].status.conditions[?(@.type==\"Ready\")].reason}").stdout
        self.assertEqual(reason, "ByStage")
        self.kubectl("delete", "deployment", "web", seconds=PATIENCE)
        eventually(lambda: not self.names("pods"), PATIENCE, "the second stage deletes them")

    @slow
    def test_silent_nodes_are_lost_after_the_grace_period_and_at_the_rate_of_the_server(self):
        self.server.stop()
        self.server.process = None
        self.server.start("--node-monitor-grace-period", "15s", "--node-eviction-rate", "10")
        self.start("--nodes", 10, "--name-prefix", "kept-")
        fleet = self.start("--nodes", 5, "--name-prefix", "lost-", "--node-cidr", "198.19.0.0/16")
        eventually(lambda: len(self.ready_nodes()) == 15, PATIENCE, "all nodes ready")
        self.assertEqual(self.end(fleet), 0)
        seconds = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

        def tainted():
            nodes = json.loads(self.kubectl("get", "nodes", "-l", "porthole.dev/fleet=lost", "-o", "json").stdout)["items"]
            taints = [taint for node in nodes for taint in node["spec"].get("taints", []) if taint["effect"] == "NoExecute"]
            return [seconds(taint["timeAdded"]) for taint in taints] if len(taints) == 5 else None

        times = eventually(tainted, PATIENCE, "all silent nodes tainted")
        renewed = json.loads(self.kubectl("get", "leases", "-n", "kube-node-lease", "-o", "json").stdout)["items"]
        last = max(seconds(lease["spec"]["renewTime"]) for lease in renewed if lease["metadata"]["name"].startswith("lost-"))
        self.assertLess(min(times) - last, 38, "by default, 50 s")
        self.assertLess(max(times) - min(times), 30, "by default, 40 s: one each 10 s")

    def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(self):
        bad = self.folder / "bad.yaml"
        bad.write_text(STAGES.replace("finalizers: {empty: true}", "event: {type: Normal}"))
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "rack-3"}}))
        for options, line in [
            (["--nodes", "many"], '--nodes: "many" must look like 1000 or linux=700,windows=300, and be at most 200000'),
            (["--pods-start-after", "soon"], '--pods-start-after: "soon" is not a valid duration; write it like 500ms or 10s'),
            (["--stages", bad], f'{bad}: stage "delete": spec.next.event is not supported'),
            (["--nodes", "5", "--name-prefix", "rack-", "--in-flight", "1"],
             'node "rack-3" already exists and is not of this fleet; choose another --name-prefix'),
        ]:
            with self.subTest(options=options):
                ended = run(self.words(*options), check=False, seconds=PATIENCE)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(line, ended.stderr)
                self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
