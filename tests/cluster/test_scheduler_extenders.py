"""The scheduler with an extender over HTTPS that filters, scores, binds and reviews preemption, is slow, and dies. Its nodes have no kubelets."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

from control_plane_case import ControlPlaneCase
from harness import CLIENTS, PATIENCE, PORTHOLE, eventually, needs_newest_kubectl, run

URL = "https://127.0.0.1:9443/ext"
CONFIGURATION = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 2
extenders:
- urlPrefix: {url}
  filterVerb: filter
  prioritizeVerb: score
  weight: 20
  bindVerb: bind
  preemptVerb: preempt
  enableHTTPS: true
  tlsConfig: {{caFile: {authority}}}
  httpTimeout: {timeout}s
"""


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class SchedulerExtenders(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=extender", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "tls.key", "-out", self.folder / "tls.crt"])
        self.configuration = self.folder / "scheduler.yaml"
        self.configuration.write_text(CONFIGURATION.format(url=URL, authority=self.folder / "tls.crt", timeout=int(5 * PATIENCE)))
        self.server.start("--scheduler-config", self.configuration)
        self.server.wait_for_default_namespace(20)
        self.extender = None
        self.addCleanup(self.stop_extender)

    def start_extender(self, **behavior):
        self.behave(**behavior)
        command = [sys.executable, str(pathlib.Path(__file__).with_name("extender_server.py")), "9443", str(self.folder / "tls.crt"),
                   str(self.folder / "tls.key"), str(self.folder), str(CLIENTS["new"]), "--kubeconfig", str(self.server.kubeconfig)]
        self.extender = subprocess.Popen(self.network.inside(command), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.assertEqual(self.extender.stdout.readline(), "serving\n")

    def stop_extender(self):
        if self.extender:
            self.extender.kill()
            self.extender.wait(60)
            self.extender.stdout.close()
            self.extender = None

    def behave(self, **behavior):
        new = self.folder / "behavior.new"
        new.write_text(json.dumps(behavior))
        new.rename(self.folder / "behavior.json")

    def requests(self, verb):
        lines = [json.loads(line) for line in (self.folder / "requests").read_text().splitlines()]
        return [line["request"] for line in lines if line["path"] == "/ext/" + verb]

    def add_node(self, name):
        self.server.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
        self.server.kubectl("patch", "node", name, "--subresource=status", "-p",
                            json.dumps({"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}))

    def add_pod(self, name, **fields):
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "600m"}}}
        self.server.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "containers": [container], "tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 0, **fields}}))

    def pod(self, name):
        return json.loads(self.server.kubectl("get", "pod", name, "-o", "json").stdout)

    def wait_placed(self, name, node):
        eventually(lambda: self.pod(name)["spec"].get("nodeName") == node, 60, f"{name} is on {node}")

    def wait_event(self, text):
        eventually(lambda: text in self.server.kubectl("get", "events", "--field-selector", "reason=FailedScheduling", "-o",
                                                       "jsonpath={.items[*].message}").stdout, 60, f"an event with: {text}")

    def test_an_extender_takes_part_in_decisions(self):
        for name in ("n1", "n2", "n3"):
            self.add_node(name)
        self.start_extender(refused={"n1": "no licence"}, scores={"n3": 10})
        self.add_pod("best")
        self.wait_placed("best", "n3")
        self.assertEqual(self.requests("bind")[0]["Node"], "n3")
        self.assertEqual(self.requests("filter")[0]["Pod"]["metadata"]["name"], "best")

        self.behave(refused={"n1": "no licence", "n2": "no licence"})
        self.add_pod("refused")
        self.wait_event("0/3 nodes are available: 1 Insufficient cpu, 2 no licence.")
        self.behave(refused={"n2": "no licence"})
        self.server.kubectl("label", "node", "n1", "licence=new")
        self.wait_placed("refused", "n1")

        self.behave()
        self.add_pod("last")
        self.wait_placed("last", "n2")
        self.server.kubectl("create", "priorityclass", "important", "--value=1000")
        self.behave(victims={"n1": [self.pod("refused")["metadata"]["uid"]]})
        self.add_pod("important", priorityClassName="important")
        self.wait_placed("important", "n1")
        self.assertEqual({"best", "last", "important"}, set(self.server.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").stdout.split()))

    def test_pods_wait_for_an_extender_that_is_slow_or_dead_and_nothing_else_does(self):
        self.add_node("n1")
        self.add_pod("first")
        self.wait_event(f'Post "{URL}/filter": ')
        self.assertEqual(self.pod("first")["status"]["conditions"][0]["reason"], "SchedulerError")
        self.start_extender()
        self.wait_placed("first", "n1")

        self.add_node("n2")
        self.behave(slow=600)
        self.add_pod("second")
        eventually(lambda: len(self.requests("filter")) > 1, 60, "the extender is asked")
        begun = time.monotonic()
        self.server.kubectl("get", "nodes")
        self.assertLess(time.monotonic() - begun, 5 * PATIENCE, "the API answers while the scheduler waits")
        self.wait_event(f'Post "{URL}/filter": context deadline exceeded')
        self.stop_extender()
        self.start_extender()
        self.wait_placed("second", "n2")

    def test_a_file_that_is_wrong_is_refused(self):
        self.configuration.write_text(CONFIGURATION.format(url="127.0.0.1:9443", authority="/nowhere.crt", timeout=1))
        done = run(self.network.inside([str(PORTHOLE), "server", "--data", str(self.folder / "refused"), "--port", "7443", "--scheduler-config",
                                        str(self.configuration)]), check=False, seconds=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("extenders[0].urlPrefix: Invalid value: ", done.stderr)
        self.assertIn("extenders[0].tlsConfig.caFile: Invalid value: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
