"""Claims that upstream's external provisioner fills, snapshots of them by its snapshot controller, and what is restored from those."""

import json
import unittest

from csi_case import BUILT, Programs
from harness import ClusterCase
from manifests import SLEEP, container, pod

NODE = "linux-1"
GROUP = "snapshot.storage.k8s.io"


@unittest.skipUnless((BUILT / "snapshot-controller").exists(), "the external snapshotter is not built: ./run test csi")
class Snapshots(ClusterCase):
    alone = True  # the snapshot controller and its kinds are the cluster's

    def setUp(self):
        super().setUp()
        self.driver = f"{self.namespace}.csi.test"
        folder = self.cluster.folder / self.namespace
        folder.mkdir()
        self.programs = Programs(self, folder, self.cluster.network.inside)
        for manifest in sorted(BUILT.glob(f"*{GROUP}_*.yaml")):  # without those of groups the snapshotter looks for them for a minute
            self.kubectl("apply", "--server-side", "-f", manifest, namespaced=False)
        for kind in ("volumesnapshots", "volumesnapshotclasses", "volumesnapshotcontents"):
            self.kubectl("wait", "--for=condition=Established", f"crd/{kind}.{GROUP}", "--timeout=20s", namespaced=False)
        self.start_driver()
        self.start_controllers()
        self.addCleanup(self.delete_users)

    def start_driver(self):
        self.cluster_object("storage.k8s.io/v1", "CSIDriver", self.driver, spec={"attachRequired": False, "fsGroupPolicy": "File"})
        registration = self.cluster.data / "nodes" / NODE / "kubelet/plugins_registry" / f"{self.namespace}.sock"
        self.controller = self.programs.start_driver(self.driver, "id-of-" + NODE, registration)[1]
        drivers = lambda: self.get("csinode", NODE, namespaced=False)["spec"]["drivers"] or []
        self.eventually(lambda: any(one["name"] == self.driver for one in drivers()), 30, "the driver is registered")

    def delete_users(self):
        """While the driver and the controllers run."""
        for kind in ("pods", f"volumesnapshots.{GROUP}", "pvc"):
            self.kubectl_run("delete", kind, "--all", "--timeout=60s", check=False, seconds=70)
        made = lambda: [one for one in json.loads(self.kubectl("get", "pv", "-o", "json", namespaced=False))["items"]
                        if one["spec"]["storageClassName"] == self.namespace]
        self.eventually(lambda: not made(), 60, "the provisioner deletes what it made")

    def start_controllers(self):
        self.cluster_object("storage.k8s.io/v1", "StorageClass", self.namespace, provisioner=self.driver, reclaimPolicy="Delete",
                            volumeBindingMode="Immediate", allowVolumeExpansion=True)
        self.cluster_object(f"{GROUP}/v1", "VolumeSnapshotClass", self.namespace, driver=self.driver, deletionPolicy="Delete")
        kubeconfig, address = f"--kubeconfig={self.cluster.kubeconfig}", f"--csi-address={self.controller}"
        self.programs.start(BUILT / "csi-provisioner", kubeconfig, address, "--retry-interval-start=100ms")
        self.programs.start(BUILT / "snapshot-controller", kubeconfig, "--retry-interval-start=100ms", "--http-endpoint=")
        self.programs.start(BUILT / "csi-snapshotter", kubeconfig, address, "--retry-interval-start=100ms", "--http-endpoint=")

    def cluster_object(self, version, kind, name, **fields):
        self.addCleanup(self.kubectl_run, "delete", kind, name, "--ignore-not-found", "--wait=false", namespaced=False, check=False)
        self.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})

    def claim(self, name, **fields):
        self.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                    "spec": {"storageClassName": self.namespace, "accessModes": ["ReadWriteOnce"],
                             "resources": {"requests": {"storage": "64Mi"}}, **fields}})
        self.eventually(lambda: self.is_bound(name), 60, f"{name} is bound")

    def is_bound(self, name):
        self.assertEqual(self.get("pvc", name)["status"]["phase"], "Bound", self.programs.log("csi-provisioner"))
        return True

    def user(self, name):
        self.apply(pod(name, container(script=SLEEP, volumeMounts=[{"name": "data", "mountPath": "/data"}]), nodeName=NODE,
                       volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}]))
        self.wait_ready(name)

    def is_ready(self, snapshot):
        status = self.get(f"volumesnapshot.{GROUP}", snapshot).get("status", {})
        self.assertTrue(status.get("readyToUse"), f"{status}: {self.programs.log('csi-snapshotter')}")
        return True

    # STO-19, STO-22, STO-23
    def test_a_claim_is_restored_from_a_snapshot_and_from_another_claim(self):
        self.claim("data")
        self.user("data")
        self.exec("data", "sh", "-c", "echo before > /data/file; sync")
        self.apply({"apiVersion": f"{GROUP}/v1", "kind": "VolumeSnapshot", "metadata": {"name": "first"},
                    "spec": {"volumeSnapshotClassName": self.namespace, "source": {"persistentVolumeClaimName": "data"}}})
        self.eventually(lambda: self.is_ready("first"), 60, "the snapshot is ready")
        self.assertEqual(self.get(f"volumesnapshot.{GROUP}", "first")["status"]["restoreSize"], "64Mi")
        self.exec("data", "sh", "-c", "echo after > /data/file; sync")

        self.claim("restored", dataSource={"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": "first"})
        self.claim("cloned", dataSource={"kind": "PersistentVolumeClaim", "name": "data"})
        self.user("restored")
        self.user("cloned")
        self.assertEqual(self.exec("restored", "cat", "/data/file"), "before\n")
        self.assertEqual(self.exec("cloned", "cat", "/data/file"), "after\n")

        content = self.get(f"volumesnapshot.{GROUP}", "first")["status"]["boundVolumeSnapshotContentName"]
        self.kubectl("delete", f"volumesnapshot.{GROUP}", "first", "--timeout=60s")
        gone = lambda: not self.kubectl("get", f"volumesnapshotcontent.{GROUP}", content, "--ignore-not-found", namespaced=False).strip()
        self.eventually(gone, 60, "the driver deletes the snapshot")
        self.assertEqual([path.name for path in (self.programs.folder / "storage").glob("snap-*")], [])
