"""Volumes that a driver attaches to nodes: upstream's external attacher and a driver of ours, which writes down what is attached."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from harness import DISTURBED, TOOLS, ClusterCase
from manifests import SLEEP, container, pod

ATTACHER, DRIVER_PROGRAM = TOOLS / "csi-attacher", TOOLS / "csi-driver"
DRIVER = "attach.csi.test"
TAINT = "node.kubernetes.io/out-of-service"


@unittest.skipUnless(ATTACHER.exists() and DRIVER_PROGRAM.exists(), "the external attacher is not built: ./run clients")
class AttachedVolumes(ClusterCase):
    """Nodes "left" and "right" have no agent: kubectl says what their kubelets would."""

    shared = DISTURBED
    alone = True

    def setUp(self):
        super().setUp()
        self.nodes = {side: f"{self.namespace}-{side}" for side in ("left", "right")}
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.attached = self.folder / "attached"
        self.attached.mkdir()
        self.addCleanup(self.kubectl_run, "delete", "csidriver", DRIVER, "--ignore-not-found", namespaced=False, check=False)
        self.create({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"attachRequired": True}})
        for side in self.nodes:
            self.put_node(side)
        self.start(DRIVER_PROGRAM, self.folder / "csi.sock", self.attached)
        self.eventually((self.folder / "csi.sock").exists, 60, "the driver listens")
        self.start(ATTACHER, f"--csi-address={self.folder / 'csi.sock'}", f"--kubeconfig={self.cluster.kubeconfig}",
                   "--retry-interval-start=100ms", "--retry-interval-max=2s", "--http-endpoint=")
        self.put_volume()
        self.name = f"kubernetes.io/csi/{DRIVER}^{self.handle}"
        self.addCleanup(self.detach_all)

    def detach_all(self):
        """While the attacher runs: what it has attached bears its finalizers."""
        self.kubectl("delete", "pods", "--all", "--grace-period=0", "--force", warnings=True)
        for side in self.nodes:
            self.set_status(side, volumesInUse=[])
        self.eventually(lambda: self.attachments() == [], 60, "the volume is detached")

    def attachments(self):
        made = json.loads(self.kubectl("get", "volumeattachments", "-o", "json", namespaced=False))["items"]
        return [one for one in made if one["spec"]["source"].get("persistentVolumeName") == f"pv-{self.namespace}"]

    def start(self, *words):
        log = self.enterContext(open(self.folder / f"{pathlib.Path(words[0]).name}.log", "wb"))
        process = subprocess.Popen(self.cluster.network.inside([str(word) for word in words]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)

    def delete(self, kind, name):
        self.kubectl_run("delete", kind, name, "--ignore-not-found", "--wait=false", namespaced=False, check=False)

    def put_node(self, side):
        name = self.nodes[side]
        self.addCleanup(self.delete, "csinode", name)
        self.addCleanup(self.delete, "node", name)
        made = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}}
        self.create(made)
        uid = self.get("node", name, namespaced=False)["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        self.create({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name, "ownerReferences": [owner]},
                     "spec": {"drivers": [{"name": DRIVER, "nodeID": f"id-{side}", "topologyKeys": [], "allocatable": {"count": 1}}]}})

    def put_volume(self):
        volume, namespace = f"pv-{self.namespace}", self.namespace
        self.handle = f"vol-{namespace}"
        self.addCleanup(self.delete, "pv", volume)
        self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
                     "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                              "storageClassName": namespace, "claimRef": {"namespace": namespace, "name": "data"},
                              "csi": {"driver": DRIVER, "volumeHandle": self.handle}}},
                    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": namespace},
                     "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": namespace, "resources": {"requests": {"storage": "1Gi"}}}})
        self.eventually(lambda: self.get("pvc", "data")["status"]["phase"] == "Bound", 60, "the claim is bound")

    def put_user(self, name, side):
        self.create(pod(name, container(script=SLEEP), nodeName=self.nodes[side],
                        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]))

    def end_user(self, name):
        self.kubectl("delete", "pod", name, "--grace-period=0", "--force", warnings=True)

    def places(self):
        """Where the driver has the volume."""
        return sorted(path.name for path in self.attached.iterdir() if path.name != "broken")

    def shown(self, side):
        return [one["name"] for one in self.get("node", self.nodes[side], namespaced=False)["status"].get("volumesAttached", [])]

    def set_status(self, side, **status):
        """Without kubectl, which patches no status in its old versions."""
        answer = self.cluster.raw("PATCH", f"/api/v1/nodes/{self.nodes[side]}/status", "--header", "Content-Type: application/merge-patch+json",
                                  body=json.dumps({"status": status}))
        self.assertEqual(answer["kind"], "Node", answer)

    def wait_attached(self, side):
        self.eventually(lambda: self.places() == [f"{self.handle}@id-{side}"], 60, f"the driver attaches the volume to {side}")
        self.eventually(lambda: self.shown(side) == [self.name], 60, "the node may mount it")

    def test_a_volume_follows_its_pod_when_its_node_lets_it_go(self):  # STO-19
        self.put_user("first", "left")
        self.wait_attached("left")
        self.wait_event("SuccessfulAttachVolume", f'AttachVolume.Attach succeeded for volume "pv-{self.namespace}"')
        self.assertEqual(self.attachments()[0]["status"]["attachmentMetadata"], {"place": f"{self.handle}@id-left"})
        self.set_status("left", volumesInUse=[self.name])

        self.put_user("second", "right")
        self.wait_event("FailedAttachVolume", f'Multi-Attach error for volume "pv-{self.namespace}" Volume is already used by pod(s) first')
        self.end_user("first")
        self.assertEqual(self.shown("left"), [self.name], "the node still uses it")
        self.set_status("left", volumesInUse=[])
        self.wait_attached("right")
        self.assertEqual(self.shown("left"), [])

    def test_a_volume_leaves_a_node_that_is_out_of_service(self):  # STO-19
        self.put_user("first", "left")
        self.wait_attached("left")
        self.set_status("left", volumesInUse=[self.name])
        self.kubectl("taint", "node", self.nodes["left"], f"{TAINT}=nodeshutdown:NoExecute", namespaced=False)
        self.eventually(lambda: not self.try_get("pod", "first"), 120, "the pod is deleted by force")
        self.put_user("second", "right")
        self.wait_attached("right")

    def test_a_pod_is_told_why_its_volume_is_not_attached(self):
        (self.attached / "broken").write_text("the shelf is on fire")
        self.put_user("first", "left")
        self.wait_event("FailedAttachVolume", f'AttachVolume.Attach failed for volume "pv-{self.namespace}" : rpc error: code = Internal '
                                              "desc = the shelf is on fire")
        (self.attached / "broken").unlink()
        self.wait_attached("left")
