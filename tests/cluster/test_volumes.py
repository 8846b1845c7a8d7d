"""Volumes that outlive their pods: an administrator makes them, claims find them."""

import unittest

from harness import IMAGE, ClusterCase
from manifests import SLEEP, container, pod, service
from test_stateful import stateful_set


class ImageVolumes(ClusterCase):
    def test_a_pod_reads_the_files_of_an_image_and_cannot_change_them(self):
        mounted = container(script=SLEEP, volumeMounts=[{"name": "files", "mountPath": "/files"},
                                                        {"name": "files", "mountPath": "/programs", "subPath": "bin"}])
        self.apply(pod("reader", mounted, volumes=[{"name": "files", "image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}]))
        self.wait_ready("reader")
        self.assertIn("busybox", self.exec("reader", "ls", "/files/bin"))
        self.assertIn("busybox", self.exec("reader", "ls", "/programs"))
        self.assertIn("Read-only", self.kubectl_fails("exec", "reader", "--", "touch", "/files/new"))
        uid = self.get("pod", "reader")["metadata"]["uid"]
        self.kubectl("delete", "pod", "reader")
        for folder in (self.cluster.data / "nodes").glob("*/kubelet/pods"):
            self.eventually(lambda: not (folder / uid).exists(), 20, "nothing is left of the volume")

    def test_an_image_that_does_not_exist_is_named(self):
        self.apply(pod("waits", container(script=SLEEP, volumeMounts=[{"name": "files", "mountPath": "/files"}]),
                       volumes=[{"name": "files", "image": {"reference": "porthole.test/none:1", "pullPolicy": "Never"}}]))
        self.wait_event("FailedMount", 'Container image "porthole.test/none:1" is not present with pull policy of Never')


class PersistentVolumes(ClusterCase):
    def volume(self, name, size="1Gi", node="linux-1", **fields):
        """A folder of one node. Volumes have no namespace: their names and class carry ours."""
        full = f"{self.namespace}-{name}"
        path = self.cluster.data / "nodes" / node / full
        path.mkdir(parents=True, exist_ok=True)
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}
        self.addCleanup(self.kubectl_run, "delete", "pv", full, "--wait=false", "--ignore-not-found", namespaced=False, check=False)
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": full},
                "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": self.namespace,
                         "persistentVolumeReclaimPolicy": "Retain", "local": {"path": str(path)}, "nodeAffinity": affinity, **fields}}

    def claim(self, name, size="500Mi"):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": self.namespace, "resources": {"requests": {"storage": size}}}}

    def phase(self, kind, name):
        return (self.try_get(kind, name) or {}).get("status", {}).get("phase")

    def user(self, name, claim, script=SLEEP):
        mounted = container(script=script, volumeMounts=[{"name": "data", "mountPath": "/data"}])
        return pod(name, mounted, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])

    def test_claim_finds_a_volume_and_its_data_outlive_the_pod(self):
        self.apply(self.volume("disk"), self.claim("data"))
        self.eventually(lambda: self.phase("pvc", "data") == "Bound", 20, "the claim is bound")
        self.assertEqual(self.phase("pv", f"{self.namespace}-disk"), "Bound")
        self.apply(self.user("writer", "data", "echo kept > /data/file; " + SLEEP))
        self.wait_ready("writer")
        self.assertEqual(self.get("pod", "writer")["spec"]["nodeName"], "linux-1")
        self.kubectl("delete", "pod", "writer")
        self.apply(self.user("reader", "data"))
        self.wait_ready("reader")
        self.assertEqual(self.exec("reader", "cat", "/data/file").strip(), "kept")

    def test_claim_in_use_goes_when_its_pod_has_gone_and_the_volume_is_released(self):
        self.apply(self.volume("disk"), self.claim("data"), self.user("user", "data"))
        self.wait_ready("user")
        self.kubectl("delete", "pvc", "data", "--wait=false")
        self.assertIn("Terminating", self.kubectl("get", "pvc", "data"))
        self.kubectl("delete", "pod", "user")
        self.eventually(lambda: self.try_get("pvc", "data") is None, 20, "the claim is gone")
        self.eventually(lambda: self.phase("pv", f"{self.namespace}-disk") == "Released", 20, "the volume is released")

    def test_claim_without_a_volume_waits_and_says_why(self):
        self.apply(self.claim("data"))
        self.wait_event("ProvisioningFailed", f'storageclass.storage.k8s.io "{self.namespace}" not found')
        self.apply(self.user("user", "data"))
        self.wait_event("FailedScheduling", "pod has unbound immediate PersistentVolumeClaims")
        self.apply(self.volume("late"))
        self.wait_ready("user")

    def test_local_class_waits_for_the_pod_and_the_pod_goes_where_the_disk_is(self):
        self.addCleanup(self.kubectl_run, "delete", "storageclass", self.namespace, "--wait=false", namespaced=False, check=False)
        self.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.namespace},
                    "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
                   self.claim("data"), self.volume("disk", node="linux-2"))
        self.wait_event("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
        self.assertEqual(self.phase("pvc", "data"), "Pending")
        self.apply(self.user("user", "data"))
        self.wait_ready("user")
        self.assertEqual(self.get("pod", "user")["spec"]["nodeName"], "linux-2")
        self.apply(self.claim("more"), self.user("second", "more"))
        self.wait_event("FailedScheduling", "didn't find available persistent volumes to bind")

    def test_each_pod_of_a_stateful_set_keeps_its_own_volume(self):  # WKL-03
        wanted = stateful_set("db", 2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": self.claim("x")["spec"]}])
        wanted["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        self.apply(self.volume("a"), self.volume("b", node="linux-2"), service("db", {"app": "db"}, clusterIP="None"), wanted)
        self.kubectl("rollout", "status", "statefulset/db", "--timeout=60s", seconds=70)
        self.exec("db-1", "sh", "-c", "echo one > /data/name")
        bound = self.get("pvc", "data-db-1")["spec"]["volumeName"]
        self.kubectl("delete", "pod", "db-1")
        self.wait_ready("db-1")
        self.assertEqual(self.exec("db-1", "cat", "/data/name").strip(), "one")
        self.assertEqual(self.get("pvc", "data-db-1")["spec"]["volumeName"], bound)


if __name__ == "__main__":
    unittest.main()
