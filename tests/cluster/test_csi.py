"""Volumes of CSI drivers: a driver of ours (tests/csi) registers on the nodes, and pods use its volumes."""

import json
import pathlib
import subprocess

from harness import DISTURBED, PORTHOLE, as_list, needs_newest_kubectl, run, slow
from manifests import SLEEP, container, pod
from test_volumes import NODE, NodeVolumeCase, mount_points

PROGRAM = PORTHOLE.parents[1] / "tests/csi_driver"
OTHER_NODE = "linux-2"
STAGE, STATS, EXPAND = "1", "2", "3"
BACK_OFF = 180  # seconds: after a failure the kubelet waits twice as long, and up to two minutes


class CsiCase(NodeVolumeCase):
    """A driver of the test's own name, whose volumes are folders that all nodes reach."""

    def setUp(self):
        super().setUp()
        self.driver = f"{self.namespace}.csi"
        self.storage = self.host_folder("storage")
        (self.storage / "switches").mkdir()
        self.running = {}

    def driver_object(self, **spec):
        self.addCleanup(self.kubectl_run, "delete", "csidriver", self.driver, namespaced=False, check=False)
        self.apply({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": self.driver},
                    "spec": {"attachRequired": False, "podInfoOnMount": True, "fsGroupPolicy": "File",
                             "volumeLifecycleModes": ["Persistent", "Ephemeral"], **spec}})

    def start_driver(self, node=NODE, capabilities=(STAGE, STATS, EXPAND)):
        kubelet = self.cluster.data / "nodes" / node / "kubelet"
        words = {"name": self.driver, "node": "id-of-" + node, "endpoint": self.cluster.folder / f"{self.namespace}-{node}.sock",
                 "registration": kubelet / "plugins_registry" / f"{self.namespace}.sock", "storage": self.storage,
                 "capabilities": ",".join(capabilities), "most-volumes": "9"}
        process = subprocess.Popen([PROGRAM, *(f"{name}={value}" for name, value in words.items())], stdin=subprocess.DEVNULL)
        self.running[node] = process
        self.addCleanup(self.stop_driver, node)
        self.eventually(lambda: self.in_csi_node(node), 60, "the driver is registered")

    def stop_driver(self, node):
        process = self.running.pop(node, None)
        if process:
            # Pods that still have volumes need their driver to end.
            self.kubectl_run("delete", "pods", "--field-selector", f"spec.nodeName={node}", "--timeout=60s", check=False)
            self.eventually(lambda: not self.staged(node), 150, "what they had staged is not staged any more")
            process.terminate()
            process.wait(60)

    def in_csi_node(self, node):
        drivers = self.get("csinode", node, namespaced=False)["spec"]["drivers"] or []
        return next((entry for entry in drivers if entry["name"] == self.driver), None)

    def switch(self, method, text=""):
        path = self.storage / "switches" / method
        path.write_text(text) if text else path.unlink(missing_ok=True)

    def put_claim(self, name="data", **spec):
        volume = f"{self.namespace}-{name}"
        self.addCleanup(self.kubectl_run, "delete", "pv", volume, "--wait=false", namespaced=False, check=False)
        self.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
                    "spec": {"capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
                             "csi": {"driver": self.driver, "volumeHandle": volume, "fsType": "ext4"}, **spec}},
                   {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                    "spec": {"storageClassName": "", "volumeName": volume, "accessModes": ["ReadWriteOnce"],
                             "resources": {"requests": {"storage": "64Mi"}}, "volumeMode": spec.get("volumeMode", "Filesystem")}})
        self.eventually(lambda: self.get("pvc", name)["status"]["phase"] == "Bound", 60, "the claim is bound")
        return volume

    def user(self, name, node=NODE, claim="data", **fields):
        return pod(name, container(script=SLEEP, volumeMounts=[{"name": "data", "mountPath": "/data"}]),
                   nodeSelector={"kubernetes.io/hostname": node},
                   volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **fields)

    def staged(self, node=NODE):
        """Folders of volumes that the node says may be staged."""
        return list((self.cluster.data / "nodes" / node / "kubelet/plugins/kubernetes.io/csi" / self.driver).glob("*"))

    def mounts_of(self, volume):
        """Mounts on the machine of the volume's data, wherever they are."""
        return [path for path in mount_points(pathlib.Path("/proc/mounts").read_text()) if self.is_of(path, volume)]

    def is_of(self, path, volume):
        return f"/kubelet/plugins/kubernetes.io/csi/{self.driver}/" in path or f"/kubernetes.io~csi/{volume}/" in path


class CsiVolumes(CsiCase):
    def test_a_driver_is_in_the_csinode_as_long_as_it_is_there(self):
        self.start_driver()
        entry = self.in_csi_node(NODE)
        self.assertEqual((entry["nodeID"], entry["allocatable"]), ("id-of-" + NODE, {"count": 9}))
        owner = self.get("csinode", NODE, namespaced=False)["metadata"]["ownerReferences"][0]
        node = self.get("node", NODE, namespaced=False)
        self.assertEqual((owner["kind"], owner["uid"]), ("Node", node["metadata"]["uid"]))
        self.assertEqual(json.loads(node["metadata"]["annotations"]["csi.volume.kubernetes.io/nodeid"])[self.driver], "id-of-" + NODE)
        self.stop_driver(NODE)
        self.eventually(lambda: not self.in_csi_node(NODE), 60, "the driver is gone")
        self.assertTrue(self.get("csinode", OTHER_NODE, namespaced=False), "every node has one")

    def test_data_stay_when_the_pod_moves_to_another_node(self):
        self.driver_object()
        self.start_driver(NODE)
        self.start_driver(OTHER_NODE)
        volume = self.put_claim()
        self.apply(self.user("first", securityContext={"fsGroup": 4242}))
        self.wait_ready("first")
        self.exec("first", "sh", "-c", "echo kept > /data/file")
        self.assertEqual(self.exec("first", "stat", "-c", "%g", "/data").strip(), "4242")
        folder = self.pod_folder("first")
        self.assertEqual((self.storage / volume / "file").read_text(), "kept\n")
        self.assertTrue(self.mounts_of(volume))
        self.kubectl("delete", "pod", "first")
        self.eventually(lambda: not folder.exists(), BACK_OFF, "nothing is left of the pod")
        self.eventually(lambda: not self.mounts_of(volume), BACK_OFF, "the volume is not staged any more")
        self.apply(self.user("second", node=OTHER_NODE))
        self.wait_ready("second")
        self.assertEqual(self.exec("second", "cat", "/data/file"), "kept\n")

    def test_a_disk_named_by_its_in_tree_type_is_the_drivers_that_replaced_the_plugin(self):  # STO-20
        self.driver = "ebs.csi.aws.com"
        self.driver_object()
        self.start_driver()
        name, source = f"{self.namespace}-ebs", {"awsElasticBlockStore": {"volumeID": f"vol-{self.namespace}", "fsType": "ext4"}}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                  "spec": {"capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain", **source}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                 "spec": {"storageClassName": "", "volumeName": name, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}}
        self.addCleanup(self.kubectl_run, "delete", "pv", name, "--wait=false", namespaced=False, check=False)
        of_claim, own = self.user("claimed"), self.user("own")
        own["spec"]["volumes"] = [{"name": "data", **source}]
        self.kubectl("apply", "-f", "-", stdin=as_list([volume, claim, of_claim]), warnings=True)
        self.wait_ready("claimed")
        self.exec("claimed", "sh", "-c", "echo kept > /data/file")
        self.assertEqual((self.storage / f"vol-{self.namespace}" / "file").read_text(), "kept\n")
        migrated = self.get("csinode", NODE, namespaced=False)["metadata"]["annotations"]["storage.alpha.kubernetes.io/migrated-plugins"]
        self.assertIn("kubernetes.io/aws-ebs", migrated.split(","))
        self.kubectl("delete", "pod", "claimed")
        self.kubectl("apply", "-f", "-", stdin=as_list([own]), warnings=True)
        self.wait_ready("own")
        self.assertEqual(self.exec("own", "cat", "/data/file"), "kept\n")

    def test_an_inline_volume_knows_its_pod_and_goes_with_it(self):
        self.driver_object()
        self.start_driver()
        self.apply(self.pod_of("user", container(script=SLEEP, volumeMounts=[{"name": "own", "mountPath": "/own"}]),
                               volumes=[{"name": "own", "csi": {"driver": self.driver, "volumeAttributes": {"color": "red"}}}]))
        self.wait_ready("user")
        told = json.loads(self.exec("user", "cat", "/own/context"))
        self.assertEqual(told["volume_context"]["color"], "red")
        self.assertEqual(told["volume_context"]["csi.storage.k8s.io/pod.name"], "user")
        self.assertEqual(told["volume_context"]["csi.storage.k8s.io/pod.namespace"], self.namespace)
        self.assertTrue((self.storage / told["volume_id"]).is_dir())
        self.kubectl("delete", "pod", "user")
        self.eventually(lambda: not (self.storage / told["volume_id"]).exists(), 60, "the volume is gone")

    def test_a_block_device_keeps_what_is_written_to_it(self):
        self.driver_object()
        self.start_driver()
        self.put_claim(volumeMode="Block")
        device = {"name": "data", "devicePath": "/dev/data"}
        user = lambda name: self.pod_of(name, container(script=SLEEP, volumeDevices=[device]),
                                        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        self.apply(user("writer"))
        self.wait_ready("writer")
        self.exec("writer", "sh", "-c", "test -b /dev/data && echo kept | dd of=/dev/data conv=fsync")
        self.kubectl("delete", "pod", "writer")
        self.apply(user("reader"))
        self.wait_ready("reader")
        self.assertEqual(self.exec("reader", "dd", "if=/dev/data", "bs=5", "count=1"), "kept\n")
        folder = self.pod_folder("reader")
        self.kubectl("delete", "pod", "reader")
        self.eventually(lambda: not folder.exists(), BACK_OFF, "nothing is left of the pod")
        devices = self.cluster.data / "nodes" / NODE / "kubelet/plugins/kubernetes.io/csi/volumeDevices"
        self.eventually(lambda: not list(devices.glob(f"**/{self.namespace}-data")), 30, "the device is not staged any more")
        self.eventually(lambda: str(self.storage) not in run(["losetup", "-a"]).stdout, 30, "the loop device is gone")

    @slow
    def test_a_volume_grows_and_tells_how_full_it_is(self):
        self.driver_object()
        self.start_driver()
        volume = self.put_claim()
        self.apply(self.user("user"))
        self.wait_ready("user")
        self.kubectl("patch", "pv", volume, "-p", '{"spec":{"capacity":{"storage":"128Mi"}}}', namespaced=False)
        self.eventually(lambda: self.get("pvc", "data")["status"]["capacity"]["storage"] == "128Mi", 150, "the claim tells its new size")
        self.wait_event("FileSystemResizeSuccessful", "MountVolume.NodeExpandVolume succeeded for volume")
        start = f'kubelet_volume_stats_capacity_bytes{{namespace="{self.namespace}",persistentvolumeclaim="data"}} '

        def capacity():
            metrics = self.kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/metrics", namespaced=False)
            return next((float(line.removeprefix(start)) for line in metrics.splitlines() if line.startswith(start)), None)

        self.eventually(lambda: capacity() == 128 << 20, 180, "the node asks the driver each minute")

    def test_a_driver_that_fails_is_named_and_asked_again(self):
        self.driver_object()
        self.start_driver()
        self.put_claim()
        self.switch("NodeStageVolume", "fail 13 the disk is on fire")
        self.apply(self.user("user"))
        self.wait_event("FailedMount", "MountVolume.MountDevice failed for volume")
        self.wait_event("FailedMount", "rpc error: code = Internal desc = the disk is on fire")
        self.switch("NodeStageVolume")
        self.wait_ready("user", BACK_OFF)
        self.switch("NodeUnpublishVolume", "fail 13 busy")
        folder = self.pod_folder("user")
        self.kubectl("delete", "pod", "user", "--wait=false")
        self.exec_fails_soon("user")
        self.assertTrue(folder.exists(), "what is still published is not deleted")
        self.switch("NodeUnpublishVolume")
        self.eventually(lambda: not folder.exists(), BACK_OFF, "nothing is left of the pod")

    def test_a_pod_does_not_wait_for_its_volume_to_be_unstaged(self):
        self.driver_object()
        self.start_driver()
        volume = self.put_claim()
        self.switch("NodeUnstageVolume", "fail 4 not in time")
        self.apply(self.user("first"))
        self.wait_ready("first")
        self.exec("first", "sh", "-c", "echo kept > /data/file")
        folder = self.pod_folder("first")
        self.kubectl("delete", "pod", "first", "--timeout=60s")
        self.eventually(lambda: not folder.exists(), 30, "nothing is left of the pod")
        self.assertTrue(self.staged())
        self.apply(self.user("second"))
        self.wait_ready("second", 60)
        self.assertEqual(self.exec("second", "cat", "/data/file"), "kept\n")
        self.switch("NodeUnstageVolume")
        self.kubectl("delete", "pod", "second", "--timeout=60s")
        self.eventually(lambda: not self.staged(), 30, "the volume is not staged any more")
        self.assertEqual(self.mounts_of(volume), [])

    def exec_fails_soon(self, name):
        self.eventually(lambda: self.kubectl_run("exec", name, "--", "true", check=False).returncode != 0, 60, "its container has ended")

    @needs_newest_kubectl
    def test_a_volume_that_must_be_attached_waits_for_it(self):
        self.driver_object(attachRequired=True)
        self.start_driver()
        volume = self.put_claim()
        self.apply(self.user("user"))
        unique = f"kubernetes.io/csi/{self.driver}^{volume}"
        status = lambda: self.get("node", NODE, namespaced=False)["status"]
        self.eventually(lambda: unique in status().get("volumesInUse", []), 60, "the node says that it is in use")
        self.attach(volume, unique, status)
        self.wait_ready("user", BACK_OFF)
        self.kubectl("delete", "pod", "user")
        self.eventually(lambda: unique not in status().get("volumesInUse", []), 60, "the node does not use it any more")

    def attach(self, volume, unique, status):
        """The part of the attacher, and of the controller where there is none."""
        digest = run(["sha256sum"], stdin=volume + self.driver + NODE).stdout.split()[0]
        attachment = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "csi-" + digest},
                      "spec": {"attacher": self.driver, "nodeName": NODE, "source": {"persistentVolumeName": volume}}}
        self.addCleanup(self.kubectl_run, "delete", "volumeattachment", "csi-" + digest, "--wait=false", namespaced=False, check=False)
        self.kubectl_run("create", "-f", "-", stdin=json.dumps(attachment), namespaced=False, check=False)
        self.kubectl("patch", "volumeattachment", "csi-" + digest, "--subresource=status", "--type=merge", "-p",
                     '{"status":{"attached":true,"attachmentMetadata":{"device":"x"}}}', namespaced=False)
        told = lambda: any(entry["name"] == unique for entry in status().get("volumesAttached", []))
        try:
            self.eventually(told, 60, "")
        except AssertionError:
            self.kubectl("patch", "node", NODE, "--subresource=status", "--type=strategic", "-p",
                         json.dumps({"status": {"volumesAttached": [{"name": unique, "devicePath": ""}]}}), namespaced=False)


class CsiVolumesOfAnAgentThatDies(CsiCase):
    shared = DISTURBED
    alone = True  # nothing else on the node answers meanwhile

    def test_an_agent_that_dies_goes_on_with_what_it_finds(self):
        self.driver_object()
        self.start_driver()
        volume, other = self.put_claim("kept"), self.put_claim("gone")
        for name in ("kept", "gone"):
            self.apply(self.user(name, claim=name))
            self.wait_ready(name)
        self.exec("kept", "sh", "-c", "echo kept > /data/file")
        kept, gone = self.pod_folder("kept"), self.pod_folder("gone")
        before = self.host_mounts(kept)
        self.cluster.kill(NODE + "/agent")
        self.kubectl("delete", "pod", "gone", "--wait=false", "--force", "--grace-period=0", warnings=True)
        self.eventually(lambda: not gone.exists(), 120, "the pod that was to go has gone")
        self.assertEqual([path for path in mount_points(pathlib.Path("/proc/mounts").read_text()) if f"kubernetes.io~csi/{other}/" in path], [])
        self.assertEqual(self.host_mounts(kept), before, "mounted once")
        self.eventually(lambda: self.exec("kept", "cat", "/data/file") == "kept\n", what="the new agent is asked for the pod")
        self.kubectl("delete", "pod", "kept")
        self.eventually(lambda: not kept.exists(), 60, "nothing is left of the pod")
        self.eventually(lambda: not self.mounts_of(volume), 60, "the volume is not staged any more")
        self.assertEqual((self.storage / volume / "file").read_text(), "kept\n")

    def test_a_volume_that_is_not_unstaged_yet_is_unstaged_after_the_agent_has_died(self):
        self.driver_object()
        self.start_driver()
        volume = self.put_claim()
        self.apply(self.user("user"))
        self.wait_ready("user")
        self.switch("NodeUnstageVolume", "fail 13 busy")
        self.kubectl("delete", "pod", "user", "--timeout=60s")
        self.cluster.kill(NODE + "/agent")
        self.eventually(lambda: self.in_csi_node(NODE), 60, "the agent is back")
        self.assertTrue(self.staged())
        self.switch("NodeUnstageVolume")
        self.eventually(lambda: not self.staged(), 150, "it is unstaged though no pod wants it")
        self.assertEqual(self.mounts_of(volume), [])
