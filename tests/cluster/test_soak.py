"""Workloads of both systems come and go while parts of the cluster are killed: what they took is given back. `./run test soak` does it for long."""

import json
import os
import pathlib
import time
import unittest

import inventory
from harness import SharedCluster, condition, slow
from manifests import SLEEP, config_map, container, deployment, pod_spec, secret, service, web_deployment
from test_stateful import stateful_set
from test_windows_node import WindowsCase, web_server

CLUSTER = SharedCluster("linux=1,windows=1")
ROUNDS = int(os.environ.get("PORTHOLE_SOAK_ROUNDS", "5"))
REPORT = os.environ.get("PORTHOLE_SOAK_REPORT")  # a file for the counts, if any
FAULTS = ("linux-1/agent", "windows-1/winhost", "server", "linux-1/containerd", "everything")
LINUX = {"nodeSelector": {"kubernetes.io/os": "linux"}}
MORE_DESCRIPTORS = 16  # connections that happen to be open


def batch_job(name, completions):
    template = {"spec": {**pod_spec(container(script="cat /secret/word")), **LINUX, "restartPolicy": "Never"}}
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "secret", "mountPath": "/secret"}]
    template["spec"]["volumes"] = [{"name": "secret", "secret": {"secretName": "word"}}]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"completions": completions, "template": template}}


def daemon_set(name):
    template = {"metadata": {"labels": {"app": name}}, "spec": {**pod_spec(container(script=SLEEP, volumeMounts=[{"name": "c", "mountPath": "/c"}])), **LINUX}}
    template["spec"]["volumes"] = [{"name": "c", "configMap": {"name": "word"}}, {"name": "scratch", "emptyDir": {"medium": "Memory"}}]
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}


def windows_deployment(name, replicas):
    wanted = deployment(name, replicas)
    wanted["spec"]["template"]["spec"] = web_server(name)["spec"]
    return wanted


class Soak(WindowsCase):  # PRV-10
    shared = CLUSTER

    def workloads(self):
        claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Mi"}}}}]
        stateful = stateful_set("db", 2, volumeClaimTemplates=claims,
                                persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"})
        stateful["spec"]["template"]["spec"].update(LINUX)
        web = web_deployment("web", replicas=2)
        web["spec"]["template"]["spec"].update(LINUX)
        return [config_map("word", word="one"), secret("word", word="two"), service("web", {"app": "web"}), web,
                service("db", {"app": "db"}, clusterIP="None"), stateful, daemon_set("all"), batch_job("work", 2),
                service("pages", {"app": "pages"}, target=80), windows_deployment("pages", 2)]

    def wait_for_all(self):
        for name in ("deployment/web", "statefulset/db", "daemonset/all", "deployment/pages"):
            self.kubectl("rollout", "status", name, "--timeout=120s", seconds=130)
        self.kubectl("wait", "--for=condition=Complete", "job/work", "--timeout=60s", seconds=70)

    def nodes_ready(self):
        def ready():
            nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
            return [condition(node, "Ready") for node in nodes] == ["True", "True"]
        self.eventually(ready, 90, "both nodes are ready")

    def break_down(self, what):
        if what == "everything":
            self.cluster.cut_power()
            self.cluster.up()
        else:
            before = self.cluster.processes()[what]
            self.cluster.kill(what)
            self.eventually(lambda: self.cluster.processes().get(what, before) != before, 60, f"{what} is started again")
        self.eventually(lambda: self.kubectl("get", "--raw", "/readyz", namespaced=False, check=False) == "ok", 60, "the server is ready")
        self.nodes_ready()

    def play_round(self, fault):
        self.apply(*self.workloads())
        self.wait_for_all()
        self.break_down(fault)
        self.wait_for_all()
        self.kubectl("delete", "--wait", "--timeout=120s", "deployments,statefulsets,daemonsets,jobs,services,secrets,configmaps",
                     "--all", seconds=130)
        gone = lambda: not self.list("pods") and not self.list("persistentvolumeclaims")
        self.eventually(gone, 120, "pods and claims are gone")

    def descriptors(self):
        return {name: inventory.count(pathlib.Path(f"/proc/{pid}/fd")) for name, pid in self.cluster.processes().items()}

    @slow
    def test_what_workloads_took_is_given_back_though_parts_are_killed(self):
        self.play_round("windows-1/winhost")  # what is made once, such as snapshots of images, is there afterwards
        before, descriptors, started = inventory.settled(lambda: inventory.everything(self.cluster)), self.descriptors(), time.monotonic()
        for number in range(ROUNDS):
            self.play_round(FAULTS[number % len(FAULTS)])

        def as_before():
            self.assertEqual(inventory.difference(before, inventory.everything(self.cluster)), {})
            after = self.descriptors()
            self.assertEqual({name: (descriptors[name], after[name]) for name in after if after[name] > descriptors[name] + MORE_DESCRIPTORS}, {})
            return True
        try:
            self.eventually(as_before, 90, "what was taken is given back")
        finally:
            self.report(before, descriptors, time.monotonic() - started)

    def report(self, before, descriptors, seconds):
        if not REPORT:
            return
        after = {**inventory.everything(self.cluster), **{f"{name}: descriptors": number for name, number in self.descriptors().items()}}
        before = {**before, **{f"{name}: descriptors": number for name, number in descriptors.items()}}
        rows = [f"{what:<60} {before.get(what, 0):>8} {after.get(what, 0):>8}" for what in sorted({*before, *after})]
        title = f"{ROUNDS} rounds in {seconds:.0f} s, one of {', '.join(FAULTS)} killed in each"
        pathlib.Path(REPORT).write_text("\n".join([title, f"{'':<60} {'before':>8} {'after':>8}", *rows]) + "\n")


if __name__ == "__main__":
    unittest.main()
