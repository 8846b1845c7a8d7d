"""Controllers, names and the node itself, as Windows pods and kubectl see them. Emulated hosts; agents under Wine."""

import json
import unittest

from harness import condition
from manifests import pod, service
from test_windows_node import IMAGE, WINDOWS, WindowsCase, web_server, windows_pod

FETCH = "C:\\web\\fetch.exe"


def template(name, container=None, **fields):
    made = web_server(name)
    made["spec"]["containers"][0] |= container or {}
    return {"metadata": {"labels": {"app": name}}, "spec": made["spec"] | fields}


def workload(kind, name, version="apps/v1", **spec):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


class Controllers(WindowsCase):
    def ready_pods(self, selector, count, seconds=90):
        def ready():
            found = [pod for pod in self.pods(selector) if condition(pod, "Ready") == "True"]
            return found if len(found) == count else None
        return self.eventually(ready, seconds, f"{count} pods of {selector} are ready")

    # WKL-01, WKL-02
    def test_deployment_rolls_and_goes_back(self):
        labels = {"matchLabels": {"app": "web"}}
        self.create(workload("Deployment", "web", replicas=2, selector=labels, template=template("web")))
        self.wait_rolled_out("web", 120)
        self.kubectl("set", "env", "deployment/web", "COLOUR=green")
        self.wait_rolled_out("web", 120)
        self.assertIn("COLOUR=green", self.exec("deploy/web", "cmd", "/c", "set"))
        self.kubectl("rollout", "undo", "deployment/web")
        self.wait_rolled_out("web", 120)
        self.assertNotIn("COLOUR=green", self.exec("deploy/web", "cmd", "/c", "set"))
        self.kubectl("scale", "deployment/web", "--replicas=3")
        self.ready_pods("app=web", 3)

    # WKL-03
    def test_stateful_set_gives_stable_names(self):
        self.apply(service("db", {"app": "db"}, clusterIP="None", target=80),
                   workload("StatefulSet", "db", serviceName="db", replicas=2, selector={"matchLabels": {"app": "db"}}, template=template("db")))
        self.ready_pods("app=db", 2)
        self.assertIn("db-1", self.answers(lambda url: self.exec("db-0", FETCH, url), f"http://db-1.db.{self.namespace}.svc.cluster.local/"))

    # WKL-05
    def test_job_counts_exit_codes(self):
        spec = windows_pod("sum", ["cmd", "/c", "exit 0"])["spec"] | {"restartPolicy": "Never"}
        self.apply(workload("Job", "sum", "batch/v1", completions=2, parallelism=2, template={"spec": spec}))
        self.eventually(lambda: self.get("job", "sum")["status"].get("succeeded") == 2, 90, "two completions")

    # WKL-07
    def test_replication_controller(self):
        self.apply({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"},
                    "spec": {"replicas": 1, "selector": {"app": "old"}, "template": template("old")}})
        self.ready_pods("app=old", 1)


class Names(WindowsCase):
    # DNS-02, DNS-03, DNS-04, DNS-05
    def test_full_and_bare_names_resolve_and_no_form_between(self):
        self.apply(web_server("web"), service("web", {"app": "web"}, target=80), web_server("client"))
        self.wait_ready("web")
        self.wait_ready("client")
        for name in ("web", f"web.{self.namespace}.svc.cluster.local"):
            self.answers(lambda url: self.exec("client", FETCH, url), f"http://{name}/")
        for name in (f"web.{self.namespace}", f"web.{self.namespace}.svc"):
            done = self.kubectl_run("exec", "client", "--", FETCH, f"http://{name}/", check=False)
            self.assertIn("cannot resolve", done.stderr + done.stdout, name)

    # DNS-06
    def test_linux_pods_have_the_whole_search_list(self):
        self.apply(pod("client", nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("client")
        text = self.exec("client", "cat", "/etc/resolv.conf")
        self.assertIn(f"search {self.namespace}.svc.cluster.local svc.cluster.local cluster.local", text)
        self.assertIn("ndots:5", text)


class Node(WindowsCase):
    # KBL-22
    def test_statistics_of_node_and_pods(self):
        self.apply(web_server("web", nodeName="windows-1"))
        self.wait_ready("web")

        def summary():
            found = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))
            ours = [entry for entry in found["pods"] if entry["podRef"]["namespace"] == self.namespace]
            return (found["node"], ours[0]) if ours and ours[0]["containers"][0]["memory"].get("workingSetBytes") else None
        node, ours = self.eventually(summary, 40, "statistics of the pod")
        self.assertGreater(node["memory"]["workingSetBytes"], 0)
        self.assertGreater(node["cpu"]["usageCoreNanoSeconds"], 0)
        self.assertGreater(ours["containers"][0]["memory"]["workingSetBytes"], 1 << 20)

    # KBL-12, KBL-24
    def test_conditions_and_what_the_node_is(self):
        for name, build in (("windows-1", "10.0.20348"), ("windows-2", "10.0.20348")):
            node = self.get("node", name, namespaced=False)
            self.assertEqual(condition(node, "MemoryPressure"), "False")
            info = node["status"]["nodeInfo"]
            self.assertEqual((info["operatingSystem"], info["architecture"]), ("windows", "amd64"))
            self.assertTrue(info["kernelVersion"].startswith(build), info)

    # VER-07
    def test_pods_ping_each_other_across_hosts(self):
        for number in (1, 2):
            self.apply(web_server(f"web-{number}", nodeName=f"windows-{number}"))
        self.wait_ready("web-1")
        self.wait_ready("web-2")
        for source, target in (("web-1", "web-2"), ("web-2", "web-1")):
            address = self.ip(target)
            self.eventually(lambda: "TTL=" in self.exec(source, "ping", "-n", "1", address), 30, f"{target} replies to {source}")

    # POD-13
    def test_limits_are_shown_by_describe(self):
        self.apply(windows_pod("limited", container_fields={"image": IMAGE, "resources": {"limits": {"memory": "128Mi", "cpu": "2"}}}))
        self.wait_phase("limited", "Running", seconds=60)
        self.assertIn("128Mi", self.kubectl("describe", "pod", "limited"))
        self.assertEqual(self.get("pod", "limited")["spec"]["nodeSelector"], WINDOWS["nodeSelector"])


if __name__ == "__main__":
    unittest.main()
