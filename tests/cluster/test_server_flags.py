"""`porthole server` with flags that change what it takes and gives, without any node."""

import itertools
import json
import os
import shutil
import unittest

from control_plane_case import ControlPlaneCase
from harness import PORTHOLE, eventually, needs_newest_kubectl, run


def windows_pod(name, **fields):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "c", "image": "x"}], **fields}})


def old_manifest(kind):
    """As written for Kubernetes 1.5: without a selector."""
    return json.dumps({"apiVersion": "extensions/v1beta1", "kind": kind, "metadata": {"name": "old"}, "spec": {"template": {
        "metadata": {"labels": {"app": "old"}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}}})


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class ServerFlags(ControlPlaneCase):
    def start(self, *options):
        self.server.start(*options)
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 20, "the namespace default")

    def refusal(self, *options):
        done = run(self.network.inside([str(PORTHOLE), "server", "--data", str(self.folder / "refused"), "--port", "7443", *options]),
                   check=False, seconds=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    # API-15
    def test_strict_admission_refuses_what_windows_refuses_or_ignores(self):
        in_memory = {"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}
        self.start("--windows-strict-admission")
        refused = self.server.kubectl("create", "-f", "-", stdin=windows_pod("strict", hostNetwork=True, **in_memory), check=False)
        self.assertEqual(refused.returncode, 1)
        for field in ("spec.hostNetwork: Forbidden: ", "spec.volumes[0].emptyDir.medium: Forbidden: "):
            self.assertIn(field, refused.stderr)
        self.assertEqual(self.server.kubectl("get", "pods", "-o", "name").stdout, "")
        self.server.kubectl("create", "-f", "-", stdin=windows_pod("plain"))
        self.server.stop()
        self.server.process = None
        self.start()
        warned = self.server.kubectl("create", "-f", "-", stdin=windows_pod("lax", hostNetwork=True, **in_memory))
        self.assertIn("Warning: spec.hostNetwork: ", warned.stderr)

    # POS-02, API-10
    def test_without_its_gate_the_system_of_a_pod_is_dropped(self):
        self.start("--feature-gates=IdentifyPodOS=false,WindowsEndpointSliceProxying=true")
        self.server.kubectl("create", "-f", "-", stdin=windows_pod("dropped"))
        spec = json.loads(self.server.kubectl("get", "pod", "dropped", "-o", "json").stdout)["spec"]
        self.assertNotIn("os", spec)
        self.assertIn("feature gate WindowsEndpointSliceProxying=true has no effect: it is permanent", (self.folder / "server.log").read_text())

    def test_without_scheduler_and_controllers_their_work_is_left_to_others(self):
        self.server.start("--disable-scheduler", "--disable-controller-manager", "--disable-admission-plugins", "ServiceAccount")
        kubectl = self.server.kubectl
        kubectl("create", "deployment", "waiting", "--image=web:1")
        kubectl("run", "unbound", "--image=web:1")
        metrics = kubectl("get", "--raw", "/metrics").stdout
        for of_component in ("scheduler_", "attachdetach_controller_"):
            self.assertNotIn(of_component, metrics)
        self.assertEqual(kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").stdout, "unbound")
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "unbound"},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": "chosen"}}
        kubectl("create", "--raw", "/api/v1/namespaces/default/pods/unbound/binding", "-f", "-", stdin=json.dumps(binding))
        self.assertEqual(kubectl("get", "pod", "unbound", "-o", "jsonpath={.spec.nodeName}").stdout, "chosen")
        self.server.stop()
        self.server.process = None
        self.start()
        eventually(lambda: kubectl("get", "pods", "-l", "app=waiting", "-o", "name").stdout, 20, "the deployment has its pod")

    # API-10
    def test_an_unknown_gate_ends_the_server_with_its_name(self):
        self.assertIn("unrecognized feature gate: NoSuchGate", self.refusal("--feature-gates", "NoSuchGate=true"))
        self.assertIn("invalid value of IdentifyPodOS: maybe", self.refusal("--feature-gates", "IdentifyPodOS=maybe"))

    def test_a_store_that_is_missing_is_not_replaced_by_an_empty_one(self):
        def stop():
            self.server.stop()
            self.server.process = None

        def first_made():
            return self.server.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}", check=False).stdout
        data, away = self.server.folder / "data", self.folder / "away"
        self.start()
        self.server.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        stop()
        shutil.move(data / "store", away)
        refused = run(self.network.inside([str(PORTHOLE), "server", "--data", str(data)]), check=False, seconds=60)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"the objects of the cluster are missing in {data}/store: put them back", refused.stderr)
        self.assertFalse((data / "store").exists())
        shutil.move(away, data / "store")
        self.start()
        self.assertEqual(first_made(), "b")
        stop()
        shutil.rmtree(data / "store")
        (data / "store-expected").unlink()  # as the message says
        self.start()
        self.assertEqual(first_made(), "")

    # API-06
    def test_manifests_of_an_old_version_become_those_of_apps_and_warn(self):
        self.start("--runtime-config=extensions/v1beta1=true")
        for client, kind in itertools.product(("new", "1.20"), ("Deployment", "ReplicaSet", "DaemonSet")):
            with self.subTest(client=client, kind=kind):
                self.check_old_manifest(client, kind)
        self.assertEqual(self.server.kubectl("get", "deploy,rs,ds").stderr.strip(), "No resources found in default namespace.")

    def check_old_manifest(self, client, kind):
        def kubectl(*words, **options):
            return self.server.kubectl(*words, client=client, **options)

        manifest = old_manifest(kind)
        made = kubectl("apply", "-f", "-", stdin=manifest)
        self.assertIn(f"Warning: extensions/v1beta1 {kind} is deprecated in v1.8+, unavailable in v1.16+; use apps/v1 {kind}", made.stderr)
        found = json.loads(kubectl("get", kind, "old", "-o", "json").stdout)
        self.assertEqual((found["apiVersion"], found["spec"]["selector"]), ("apps/v1", {"matchLabels": {"app": "old"}}))
        self.assertNotIn("deprecated", kubectl("get", kind).stderr)
        self.assertIn("unchanged", kubectl("apply", "-f", "-", stdin=manifest).stdout)
        changed = kubectl("apply", "-f", "-", stdin=manifest.replace("web:1", "web:2"))
        self.assertIn("configured", changed.stdout)
        found = json.loads(kubectl("get", kind, "old", "-o", "json").stdout)
        self.assertEqual(found["spec"]["template"]["spec"]["containers"][0]["image"], "web:2")
        kubectl("delete", "-f", "-", stdin=manifest)

    # API-05, API-06
    def test_an_old_version_is_not_served_unless_asked_for(self):
        self.start()
        refused = self.server.kubectl("create", "-f", "-", stdin=old_manifest("Deployment"), check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('no matches for kind "Deployment" in version "extensions/v1beta1"', refused.stderr)
        self.assertNotIn("extensions", self.server.kubectl("api-versions").stdout.split("apiextensions.k8s.io/v1", 1)[1])

    # API-06
    def test_a_version_that_cannot_be_chosen_ends_the_server_with_its_name(self):
        self.assertIn("--runtime-config: batch/v2alpha1 cannot be turned on or off; certificates.k8s.io/v1beta1, ", self.refusal("--runtime-config=batch/v2alpha1=true"))
        self.assertIn("invalid value of extensions/v1beta1: maybe", self.refusal("--runtime-config=extensions/v1beta1=maybe"))

    # API-19
    def test_nodes_get_ranges_of_the_size_and_from_the_range_that_are_chosen(self):
        self.start("--cluster-cidr", "11.0.0.0/16", "--service-cluster-ip-range", "192.168.0.0/16", "--cluster-dns", "192.168.0.10",
                   "--node-cidr-mask-size", "26")
        for name in ("a", "b"):
            self.server.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
        ranges = lambda: sorted(node["spec"].get("podCIDR", "") for node in json.loads(self.server.kubectl("get", "nodes", "-o", "json").stdout)["items"])
        eventually(lambda: ranges() == ["11.0.0.0/26", "11.0.0.64/26"], 20, "both nodes have a range")
        address = lambda: self.server.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}").stdout
        self.assertEqual(eventually(address, 20, "the service of the API"), "192.168.0.1")

    # API-19, NET-36
    def test_ranges_that_cannot_be_used_end_the_server_with_the_reason(self):
        dual = "10.244.0.0/16,fd00:10:244::/56"
        for flag in ("--cluster-cidr", "--service-cidr"):
            self.assertIn(f"{flag} {dual} has several ranges: dual-stack clusters are not supported; give one range of IPv4", self.refusal(flag, dual))
            self.assertIn('"fd00:10:244::/56" is not an IPv4 network', self.refusal(flag, "fd00:10:244::/56"))
        self.assertFalse((self.folder / "refused").exists(), "nothing is made")
        small = self.refusal("--cluster-cidr", "10.244.0.0/26")
        self.assertIn("the cluster's range 10.244.0.0/26 cannot be cut into node ranges of /24; choose another --cluster-cidr", small)
        self.assertNotIn("invariant", small)

    # API-09
    def test_a_newer_kubelet_is_reported_on_its_node(self):
        self.start()
        version = json.loads(self.server.kubectl("version", "-o", "json").stdout)["serverVersion"]
        self.assertRegex(version["gitVersion"], r"^v\d+\.\d+\.\d+")
        self.assertEqual(version["gitVersion"].split(".")[:2], ["v" + version["major"], version["minor"]])
        self.server.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "newer"}}))
        status = {"status": {"nodeInfo": {"kubeletVersion": f"v{version['major']}.{int(version['minor']) + 1}.0"}}}
        self.server.kubectl("patch", "node", "newer", "--subresource=status", "--type=merge", "-p", json.dumps(status))
        told = lambda: self.server.kubectl("get", "events", "-A", "-o", "jsonpath={.items[?(@.reason=='VersionSkewUnsupported')].message}").stdout
        eventually(lambda: "is newer than the API server" in told(), 20, "an event on the node")


if __name__ == "__main__":
    unittest.main()
