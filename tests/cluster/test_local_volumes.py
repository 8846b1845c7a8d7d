"""Volumes that nobody has prepared: the default class makes them where the pod goes."""

import json
import unittest

from harness import ROOT, ClusterCase, slow
from manifests import SLEEP, container, pod, service
from test_stateful import stateful_set
from test_windows_node import WindowsPodCase

NODE_DATA = "local-volumes"


def claim(name, size="64Mi", **fields):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **fields}}


def user(name, claim_name, script=SLEEP):
    mounted = container(script=script, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    return pod(name, mounted, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}])


class LocalVolumeCase(ClusterCase):
    def volume_of(self, claim_name):
        name = self.get("pvc", claim_name)["spec"]["volumeName"]
        return json.loads(self.kubectl("get", "pv", name, "-o", "json", namespaced=False))

    def folder_of(self, volume):
        node = volume["metadata"]["labels"]["local.porthole.io/node"]
        return self.cluster.data / "nodes" / node / "kubelet" / NODE_DATA / volume["spec"]["csi"]["volumeHandle"]

    def gone(self, volume):
        name = volume["metadata"]["name"]
        self.eventually(lambda: not self.kubectl("get", "pv", name, "--ignore-not-found", namespaced=False).strip(), 60, "the volume is deleted")

    def size(self, claim_name):
        return self.get("pvc", claim_name)["status"]["capacity"]["storage"]


class LocalVolumes(LocalVolumeCase):
    def test_each_pod_of_a_stateful_set_gets_a_volume_and_finds_its_data_again(self):  # STO-19 WKL-03
        wanted = stateful_set("db", 2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": claim("x")["spec"]}])
        wanted["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        self.apply(service("db", {"app": "db"}, clusterIP="None"), wanted)
        self.kubectl("rollout", "status", "statefulset/db", "--timeout=120s", seconds=130)
        self.exec("db-1", "sh", "-c", "echo one > /data/name")
        node = self.get("pod", "db-1")["spec"]["nodeName"]
        self.kubectl("delete", "pod", "db-1")
        self.wait_ready("db-1")
        self.assertEqual(self.exec("db-1", "cat", "/data/name").strip(), "one")
        self.assertEqual(self.get("pod", "db-1")["spec"]["nodeName"], node)
        self.kubectl("delete", "statefulset", "db")
        self.eventually(lambda: not self.pods("app=db"), 60, "its pods are deleted")
        self.apply(wanted)
        self.kubectl("rollout", "status", "statefulset/db", "--timeout=120s", seconds=130)
        self.assertEqual(self.exec("db-1", "cat", "/data/name").strip(), "one", "the claims outlive the set")

    def test_data_are_deleted_with_the_claim(self):  # STO-19
        self.apply(claim("data"), user("user", "data"))
        self.wait_ready("user")
        volume = self.volume_of("data")
        self.assertTrue(self.folder_of(volume).is_dir())
        self.kubectl("delete", "pod", "user")
        self.kubectl("delete", "pvc", "data")
        self.gone(volume)
        self.assertFalse(self.folder_of(volume).exists())

    def test_data_stay_where_the_class_says_so(self):  # STO-19
        self.addCleanup(self.kubectl_run, "delete", "storageclass", self.namespace, "--wait=false", namespaced=False, check=False)
        self.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.namespace},
                    "provisioner": "local.porthole.io", "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain"},
                   claim("data", storageClassName=self.namespace), user("user", "data"))
        self.wait_ready("user")
        volume = self.volume_of("data")
        self.kubectl("delete", "pod", "user")
        self.kubectl("delete", "pvc", "data")
        self.kubectl("delete", "pv", volume["metadata"]["name"], namespaced=False)
        self.assertTrue((self.folder_of(volume) / "image").is_file())

    def test_a_full_volume_is_full_at_the_size_of_its_claim_and_can_grow(self):  # STO-19
        self.apply(claim("data"), user("user", "data"))
        self.wait_ready("user")
        filled = self.kubectl_fails("exec", "user", "--", "dd", "if=/dev/zero", "of=/data/file", "bs=1M", "count=80")
        self.assertIn("No space left on device", filled)
        written = int(self.exec("user", "stat", "-c", "%s", "/data/file"))
        self.assertTrue(32 << 20 < written < 64 << 20, written)
        self.kubectl("patch", "pvc", "data", "-p", '{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}')
        self.wait_event("FileSystemResizeRequired", "Require file system resize of volume on node")
        self.kubectl("delete", "pod", "user")  # where the agent may not enlarge what is mounted, this is what makes it grow
        self.apply(user("user", "data"))
        self.wait_ready("user")
        self.eventually(lambda: self.size("data") == "128Mi", 90, "the claim tells its new size")
        self.assertNotIn("conditions", self.get("pvc", "data")["status"])
        self.exec("user", "dd", "if=/dev/zero", "of=/data/more", "bs=1M", "count=40")
        self.assertEqual(int(self.exec("user", "stat", "-c", "%s", "/data/file")), written)

    @slow
    def test_statistics_tell_how_full_a_volume_is(self):
        self.apply(claim("data"), user("user", "data"))
        self.wait_ready("user")
        node = self.get("pod", "user")["spec"]["nodeName"]
        start = f'kubelet_volume_stats_capacity_bytes{{namespace="{self.namespace}",persistentvolumeclaim="data"}} '

        def capacity_of_volume():
            metrics = self.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics", namespaced=False)
            return next((float(line.removeprefix(start)) for line in metrics.splitlines() if line.startswith(start)), None)

        capacity = self.eventually(capacity_of_volume, 180, "the node measures its volumes each minute")
        self.assertTrue(32 << 20 < capacity <= 64 << 20, capacity)

    def test_a_claim_that_no_node_has_room_for_says_so(self):
        self.apply(claim("data", "500Ti"), user("user", "data"))
        self.wait_event("FailedScheduling", "did not have enough free storage")
        self.assertEqual(self.get("pvc", "data")["status"]["phase"], "Pending")
        words = ["get", "csistoragecapacities", "--namespace", "kube-system", "-o", "json"]
        found = json.loads(self.kubectl(*words, namespaced=False))["items"]
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        self.assertEqual({one["nodeTopology"]["matchLabels"]["kubernetes.io/hostname"] for one in found if one["storageClassName"] == "local"},
                         {node["metadata"]["labels"]["kubernetes.io/hostname"] for node in nodes})


class LocalVolumesOfWindowsNodes(LocalVolumeCase, WindowsPodCase):
    def folder_of(self, volume):
        node = volume["metadata"]["labels"]["local.porthole.io/node"]
        drive = self.cluster.data / "nodes" / node / "h/rootfs/wine/drive_c"
        return drive / "var/lib/kubelet" / NODE_DATA / volume["spec"]["csi"]["volumeHandle"]

    def starts(self, name):
        return self.exec(name, "cmd", "/c", r"type C:\site\data\starts").split()

    @slow
    def test_each_pod_of_a_stateful_set_gets_a_volume_and_finds_its_data_again(self):  # LIM-52 LIM-54 STO-01 STO-19 WKL-03
        self.kubectl("apply", "-f", ROOT / "samples/claim.yaml")
        for name in ("win-web-store-0", "win-web-store-1"):
            self.wait_ready(name)
        node = self.get("pod", "win-web-store-1")["spec"]["nodeName"]
        self.assertEqual(self.starts("win-web-store-1"), ["started"])
        self.kubectl("delete", "pod", "win-web-store-1")
        self.wait_ready("win-web-store-1")
        self.assertEqual(self.starts("win-web-store-1"), ["started", "started"])
        self.assertEqual(self.get("pod", "win-web-store-1")["spec"]["nodeName"], node)

        self.kubectl("patch", "pvc", "data-win-web-store-1", "-p", '{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}')
        self.wait_event("FileSystemResizeUnsupported", "volumes cannot grow while they are mounted", 120)  # STO-18 LIM-32
        self.assertEqual(self.size("data-win-web-store-1"), "64Mi")
        conditions = self.get("pvc", "data-win-web-store-1")["status"]["conditions"]
        self.assertIn("FileSystemResizePending", [one["type"] for one in conditions])

        volume = self.volume_of("data-win-web-store-1")
        self.assertTrue(self.folder_of(volume).is_dir())
        self.kubectl("delete", "statefulset,service", "win-web-store")
        self.kubectl("delete", "pvc", "data-win-web-store-0", "data-win-web-store-1")
        self.gone(volume)
        self.assertFalse(self.folder_of(volume).exists())


if __name__ == "__main__":
    unittest.main()
