"""Nodes of a running cluster come and go: `porthole up` with other --nodes."""

import fcntl
import json
import re
import time
import unittest

from harness import ClusterCase, SharedCluster, condition, list_names, slow
from manifests import container, pod, web_pod

RESIZED = SharedCluster("linux=1,windows=1")


class Resize(ClusterCase):
    shared = RESIZED
    alone = True  # one changes what the other stands on

    def up(self, nodes, check=True):
        self.cluster.nodes = nodes
        done = self.cluster.up(check)
        self.cluster.porthole("image", "load", self.cluster.images / "busybox.docker.tar")  # onto new nodes, too
        return done

    def nodes(self):
        items = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        return {node["metadata"]["name"]: condition(node, "Ready") for node in items}

    # PRV-03, PRV-04, LIM-61
    @slow
    def test_nodes_of_either_system_are_added_and_removed_without_leftovers(self):
        addresses = lambda: {node["metadata"]["name"]: node["status"]["addresses"][0]["address"]
                             for node in json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]}
        before = addresses()
        said = self.up("linux=2,windows=2").stdout
        self.assertRegex(said, r"node linux-2 Ready.*")
        self.assertRegex(said, r"node windows-2 Ready.*")
        self.assertEqual(self.nodes(), {name: "True" for name in ("linux-1", "linux-2", "windows-1", "windows-2")})
        self.assertEqual({name: address for name, address in addresses().items() if name in before}, before)

        self.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": web_pod("web")["spec"] | {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                                               "labelSelector": {"matchLabels": {"app": "web"}}}]}}}})
        self.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
        uid = self.get("node", "linux-2", namespaced=False)["metadata"]["uid"]
        said = self.up("linux=1,windows=1").stdout
        self.assertRegex(said, r"nodes linux-2, windows-2 drained.*")
        self.assertEqual(self.nodes(), {"linux-1": "True", "windows-1": "True"})
        self.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
        pods = json.loads(self.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
        self.assertEqual({found["spec"]["nodeName"] for found in pods}, {"linux-1"})
        self.assertEqual(list_names(self.cluster.data / "nodes"), ["linux-1", "windows-1"])
        self.assertEqual([line for line in self.cluster.leftovers() if re.search("linux-2|windows-2", line)], [])

        self.up("linux=2,windows=1")
        self.assertEqual(self.nodes(), {"linux-1": "True", "linux-2": "True", "windows-1": "True"})
        self.assertNotEqual(self.get("node", "linux-2", namespaced=False)["metadata"]["uid"], uid, "a new node")
        self.up("linux=1,windows=1")

    def test_what_would_be_lost_is_named_and_the_node_stays(self):
        self.up("linux=2,windows=1")
        self.addCleanup(self.up, "linux=1,windows=1")
        self.apply(pod("alone", container(), nodeName="linux-2"))
        self.wait_ready("alone")
        refused = self.up("linux=1,windows=1", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"no controller would make pod {self.namespace}/alone again, which runs on linux-2; delete it first", refused.stderr)
        self.assertIn("the cluster keeps its nodes: linux-2 cannot be drained", refused.stderr)
        self.assertFalse(self.get("node", "linux-2", namespaced=False)["spec"].get("unschedulable", False))
        self.assertEqual(condition(self.get("pod", "alone"), "Ready"), "True")
        self.kubectl("delete", "pod", "alone", "--wait=true", "--grace-period=1")

    def test_what_was_asked_of_an_earlier_supervisor_does_not_count(self):
        self.up("linux=2,windows=1")
        self.cluster.down()
        (self.cluster.data / "nodes.wanted").write_text("linux=1")
        self.up("linux=2,windows=1")
        self.assertEqual(self.nodes(), {"linux-1": "True", "linux-2": "True", "windows-1": "True"})
        volumes = self.cluster.data / "nodes/linux-2/kubelet/local-volumes"
        volumes.mkdir(exist_ok=True)
        (volumes / "someones").mkdir()
        self.cluster.down()
        refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=1,windows=1", check=False)
        self.assertIn("the data of claims are on linux-2, which would be removed", refused.stderr)
        (volumes / "someones").rmdir()
        self.up("linux=1,windows=1")

    def test_a_second_up_does_not_get_in_between(self):
        with open(self.cluster.data / "up.lock") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=2,windows=1", check=False)
        self.assertIn("another `porthole up` is starting or changing this cluster; try again when it has ended", refused.stderr)

    def test_other_changes_are_refused_with_the_remedy(self):
        refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=1,windows=1:2019", check=False)
        self.assertIn("windows-1 emulates Server 2022, and no other release while the cluster runs; end it first with `porthole down", refused.stderr)
        refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=1,windows=1", "--cluster-domain", "other.test", check=False)
        self.assertIn("--cluster-domain other.test: the cluster's objects contain cluster.local, so it cannot be changed", refused.stderr)
        refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=1,windows=1", "--port", "7443", check=False)
        self.assertRegex(refused.stderr, r"a cluster with other options is running \(--port is \d+, not 7443\); end it first with `porthole down")

    # PRV-01, PRV-04
    @slow
    def test_a_description_is_applied_and_up_without_one_keeps_what_there_is(self):
        file = self.cluster.folder / "cluster.yaml"
        def apply(text, check=True):
            file.write_text("apiVersion: porthole.dev/v1alpha1\nkind: Cluster\n" + text)
            return self.cluster.porthole("up", "--detach", "--file", file, "--kubeconfig", self.cluster.kubeconfig, check=check, seconds=240)
        apply("spec: {pools: [{os: linux, count: 2}, {os: windows}]}")
        both = {"linux-1": "True", "linux-2": "True", "windows-1": "True"}
        self.assertEqual(self.nodes(), both)
        self.cluster.porthole("up", "--detach", "--kubeconfig", self.cluster.kubeconfig)
        self.assertEqual(self.nodes(), both)
        self.assertIn("spec.pools[0].os: must be linux or windows", apply("spec: {pools: [{os: mac}]}", check=False).stderr)
        self.assertEqual(self.nodes(), both)
        apply("spec: {pools: [{os: linux}, {os: windows}]}")
        self.assertEqual(self.nodes(), {"linux-1": "True", "windows-1": "True"})

    def test_a_node_is_not_ready_by_what_it_reported_before_the_start(self):
        self.up("linux=1,windows=1")
        self.cluster.down()
        kubelet = self.cluster.data / "nodes/linux-1/kubelet"
        kept = kubelet.rename(kubelet.with_name("kept"))
        kubelet.write_text("")  # in the place of its directory: now the kubelet ends at each start
        refused = self.cluster.up(check=False)
        kubelet.unlink()
        kept.rename(kubelet)
        self.assertIn("node linux-1 Ready: the node does not become Ready: mkdir", refused.stderr)
        self.up("linux=1,windows=1")

    # PRV-07
    def test_a_node_that_cannot_start_is_reported_soon_and_tried_again(self):
        self.up("linux=1,windows=1")
        self.addCleanup(self.up, "linux=1,windows=1")
        folder = self.cluster.data / "nodes/linux-2"
        folder.mkdir()
        (folder / "kubelet").write_text("")  # in the place of its directory
        self.cluster.nodes = "linux=2,windows=1"
        for _ in range(2):  # the second time, there is no change to the nodes that are wanted
            begun = time.monotonic()
            refused = self.cluster.up(check=False)
            self.assertLess(time.monotonic() - begun, 60)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("node linux-2 Ready: the node does not become Ready: mkdir", refused.stderr)
            self.assertIn("not every node has started; `porthole up` tries it again, and with fewer --nodes gives up the others", refused.stderr)
        (folder / "kubelet").unlink()
        self.assertIn("node linux-2 Ready", self.cluster.up().stdout)
        self.assertEqual(self.nodes(), {"linux-1": "True", "linux-2": "True", "windows-1": "True"})

    @slow
    def test_a_stopped_windows_node_with_data_of_claims_stays(self):
        self.up("linux=1,windows=2")
        self.addCleanup(self.up, "linux=1,windows=1")
        volume = self.cluster.data / "nodes/windows-2/C/var/lib/kubelet/local-volumes/someones"
        volume.mkdir(parents=True)
        self.cluster.down()
        refused = self.cluster.porthole("up", "--detach", "--nodes", "linux=1,windows=1", check=False)
        self.assertIn("the data of claims are on windows-2, which would be removed", refused.stderr)
        self.up("linux=1,windows=2")
        volume.rmdir()
        self.cluster.down()

    # PRV-03
    def test_fewer_nodes_after_a_stop_leave_nothing_of_the_others(self):
        self.up("linux=2,windows=1")
        self.cluster.down()
        self.up("linux=1,windows=1")
        self.assertEqual(self.nodes(), {"linux-1": "True", "windows-1": "True"})
        self.assertEqual(list_names(self.cluster.data / "nodes"), ["linux-1", "windows-1"])


if __name__ == "__main__":
    unittest.main()
