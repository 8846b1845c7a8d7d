"""Volumes of a CSI driver on an emulated Windows node: its node's half runs in a container and works by the host's CSI proxy, its
controller's half is the test. The driver (tests/csi/windows_driver.cc), kubelet.exe and the pods' programs run under Wine."""

import json
import os
import pathlib
import threading

from harness import PORTHOLE, ROOT, condition, loop_images, run, slow
from manifests import KUBELET, csi_proxy_pipe, windows_csi_driver
from windows_probe_case import PROBE, ProbeCase

import windows_probe  # the harness knows where

HOST, OTHER_HOST = "windows-1", "windows-2"
PROGRAMS = pathlib.Path(os.environ.get("PORTHOLE_WINDOWS", ROOT / "build/windows")) / "bin"


class Controller(threading.Thread):
    """Provisions and attaches: makes volumes for claims whose provisioner is the driver, and says that attachments are there."""

    def __init__(self, case):
        super().__init__(daemon=True)
        self.case, self.ended, self.error = case, threading.Event(), None
        self.start()

    def run(self):
        while not self.ended.wait(0.5):
            try:
                self.provision()
                self.attach()
            except Exception as error:  # the API may be busy; the test tells what was last
                self.error = error

    def provision(self):
        case = self.case
        for claim in case.list("pvc"):
            volume = "pvc-" + claim["metadata"]["uid"]
            wanted = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/storage-provisioner") == case.driver
            if not wanted or claim["spec"].get("volumeName") or volume in case.volumes:
                continue
            case.volumes.append(volume)
            case.apply({"apiVersion": "v1", "kind": "PersistentVolume",
                        "metadata": {"name": volume, "annotations": {"pv.kubernetes.io/provisioned-by": case.driver}},
                        "spec": {"capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": case.driver,
                                 "persistentVolumeReclaimPolicy": "Retain",
                                 "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim["metadata"]["name"],
                                              "namespace": case.namespace, "uid": claim["metadata"]["uid"]},
                                 "csi": {"driver": case.driver, "volumeHandle": volume, "fsType": "ntfs"}}})

    def attach(self):
        case = self.case
        for one in json.loads(case.kubectl("get", "volumeattachment", "-o", "json", namespaced=False))["items"]:
            if one["spec"]["attacher"] == case.driver and not one.get("status", {}).get("attached"):
                # Older kubectl cannot patch a status.
                case.kubectl("replace", "--raw", f"/apis/storage.k8s.io/v1/volumeattachments/{one['metadata']['name']}/status", "-f", "-",
                             stdin=json.dumps(one | {"status": {"attached": True}}), namespaced=False)


class DiskController(Controller):
    """A volume is an image file; it is attached by a link in the directory of the host's disks."""

    def attach(self):
        case, wanted = self.case, set()
        for one in json.loads(case.kubectl("get", "volumeattachment", "-o", "json", namespaced=False))["items"]:
            if one["spec"]["attacher"] == case.driver:
                volume = one["spec"]["source"]["persistentVolumeName"]
                wanted.add(volume)
                image, place = case.images / volume, case.disks / volume
                if not image.exists():
                    image.touch()
                    os.truncate(image, 64 << 20)
                if not place.is_symlink():
                    place.symlink_to(image)
        super().attach()
        for volume in set(case.volumes) - wanted:
            (case.disks / volume).unlink(missing_ok=True)


class WindowsCsi(ProbeCase):
    def setUp(self):
        super().setUp()
        self.driver = f"{self.namespace}.csi"
        self.volumes = []
        self.host = self.cluster.data / "nodes" / HOST / "C"
        program = self.host / "k/csi_windows_driver.exe"
        if not program.exists():
            program.write_bytes((PROGRAMS / "csi_windows_driver.exe").read_bytes())
        self.addCleanup(self.remove_objects)

    def remove_objects(self):
        for kind, names in (("csidriver", [self.driver]), ("storageclass", [self.driver]), ("pv", self.volumes)):
            if names:
                self.kubectl_run("delete", kind, *names, "--wait=false", namespaced=False, check=False)

    def put_class(self, attach=True):
        self.apply({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": self.driver},
                    "spec": {"attachRequired": attach, "volumeLifecycleModes": ["Persistent"]}},
                   {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.driver},
                    "provisioner": self.driver, "reclaimPolicy": "Retain"})

    def start_driver(self, name="driver", **words):
        volumes, fields = windows_csi_driver(self.driver, "id-of-" + HOST, f"{self.namespace}-reg", **words)
        pod = self.probe(name, memory="256Mi", nodeName=HOST, volumes=volumes)
        pod["spec"]["containers"][0].update(fields)
        self.kubectl_run("create", "-f", "-", stdin=json.dumps(pod))
        self.wait_ready(name)
        self.eventually(self.in_csi_node, 60, "the driver is registered")

    def in_csi_node(self):
        drivers = self.get("csinode", HOST, namespaced=False)["spec"]["drivers"] or []
        return next((entry for entry in drivers if entry["name"] == self.driver), None)

    def stateful_set(self, host=HOST):
        user = self.probe("web", "wait", memory="128Mi", nodeSelector={"kubernetes.io/os": "windows", "kubernetes.io/hostname": host},
                          container_fields={"volumeMounts": [{"name": "data", "mountPath": "C:\\data"}]})
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": self.driver,
                                                        "resources": {"requests": {"storage": "64Mi"}}}}
        return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
                "spec": {"serviceName": "web", "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                         "template": {"metadata": {"labels": {"app": "web"}}, "spec": user["spec"]}, "volumeClaimTemplates": [claim]}}

    def controller(self, kind=Controller):
        controller = kind(self)
        self.addCleanup(controller.join, 30)
        self.addCleanup(controller.ended.set)
        return controller

    # STO-22, STO-24, EMU-10
    def test_a_stateful_set_keeps_its_data(self):
        self.put_class()
        self.start_driver()
        self.assertEqual(self.in_csi_node()["nodeID"], "id-of-" + HOST)
        controller = self.controller()
        self.apply(self.stateful_set())
        try:
            self.wait_ready("web-0", 180)
        except AssertionError as error:
            raise AssertionError(f"{error}; controller: {controller.error}") from error
        self.exec("web-0", "cmd", "/c", "echo kept> C:\\data\\file")
        volume = self.get("pvc", "data-web-0")["spec"]["volumeName"]
        data = self.host / f"var/lib/kubelet/plugins/{self.driver}/volumes/{volume}/file"
        self.assertEqual(data.read_text().strip(), "kept")
        uid = self.get("pod", "web-0")["metadata"]["uid"]
        folder = self.host / "var/lib/kubelet/pods" / uid
        target = folder / f"volumes/kubernetes.io~csi/{volume}/mount"
        self.assertTrue(target.is_symlink(), "published by a link, as Windows does")
        self.kubectl("delete", "pod", "web-0")
        self.eventually(lambda: not folder.exists(), 60, "nothing is left of the pod")
        self.eventually(lambda: self.get("pod", "web-0")["metadata"]["uid"] != uid, 60, "the pod is made again")
        self.wait_ready("web-0", 120)
        self.assertEqual(self.exec("web-0", "cmd", "/c", "type C:\\data\\file").strip(), "kept")
        # Its volumes need the driver to end.
        self.kubectl("delete", "statefulset", "web")
        self.kubectl("delete", "pod", "web-0", "--ignore-not-found")
        self.assertEqual(data.read_text().strip(), "kept")

    # STO-18: its driver enlarges it. STO-22, STO-24, EMU-10
    @slow
    def test_a_stateful_set_on_a_disk_keeps_its_data_through_a_restart_of_the_host_and_grows(self):
        if not os.access("/dev/loop-control", os.R_OK | os.W_OK):
            self.skipTest("needs loop devices")
        node = self.cluster.data / "nodes" / HOST
        self.disks, self.images = node / "disks", self.cluster.folder / self.namespace
        self.images.mkdir()
        self.put_class()
        self.start_driver(attached="as-disks", groups=("filesystem", "disk", "volume"))
        controller = self.controller(DiskController)
        self.apply(self.stateful_set())
        try:
            self.wait_ready("web-0", 240)
        except AssertionError as error:
            raise AssertionError(f"{error}; controller: {controller.error}") from error
        self.exec("web-0", "cmd", "/c", "echo kept> C:\\data\\file")
        volume = self.get("pvc", "data-web-0")["spec"]["volumeName"]
        self.assertIn(str(self.images / volume), loop_images())
        kept = lambda: self.exec("web-0", "cmd", "/c", "type C:\\data\\file").strip()

        self.check_statistics(volume)

        uid = self.get("pod", "web-0")["metadata"]["uid"]
        self.kubectl("delete", "pod", "web-0")
        self.eventually(lambda: self.get("pod", "web-0")["metadata"]["uid"] != uid, 60, "the pod is made again")
        self.wait_ready("web-0", 180)
        self.assertEqual(kept(), "kept")

        # Where the emulation may not enlarge what is mounted, it does when the volume is mounted again.
        before = self.space()
        os.truncate(self.images / volume, 128 << 20)
        self.kubectl("patch", "pv", volume, "-p", '{"spec":{"capacity":{"storage":"128Mi"}}}', namespaced=False)
        self.kubectl("scale", "statefulset", "web", "--replicas=0")
        self.eventually(lambda: not (self.disks / volume).is_symlink(), 120, "the disk is detached")
        self.assertNotIn(str(self.images / volume), loop_images())
        self.kubectl("scale", "statefulset", "web", "--replicas=1")
        self.wait_ready("web-0", 180)
        self.eventually(lambda: self.get("pvc", "data-web-0")["status"]["capacity"]["storage"] == "128Mi", 180, "the claim tells its new size")
        self.assertGreater(self.space(), before + (56 << 20))
        self.assertEqual(kept(), "kept")

        starts = self.status_of("web-0")["restartCount"]
        self.reboot(node)
        self.eventually(lambda: self.status_of("web-0").get("restartCount", 0) > starts, 180, "the pod's program runs again")
        self.wait_ready("web-0", 180)
        self.assertEqual(kept(), "kept")

        self.kubectl("delete", "statefulset", "web")
        self.kubectl("delete", "pod", "web-0", "--ignore-not-found")
        self.eventually(lambda: not (self.disks / volume).is_symlink(), 120, "the disk is detached")
        self.eventually(lambda: str(self.images / volume) not in loop_images(), 30, "the loop device is gone")

    def check_statistics(self, volume):
        """The kubelet's summary and metrics have the driver's numbers of the claim's volume, a disk of 64 MiB."""
        claim = {"name": "data-web-0", "namespace": self.namespace}
        labels = f'{{namespace="{self.namespace}",persistentvolumeclaim="data-web-0"}}'
        uid = self.get("pod", "web-0")["metadata"]["uid"]
        filled = self.host / f"var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount/filled"
        filled.write_bytes(bytes(20 << 20))

        def in_summary():
            summary = json.loads(self.kubectl("get", "--raw", f"/api/v1/nodes/{HOST}/proxy/stats/summary", namespaced=False))
            return next((volume for pod in summary["pods"] for volume in pod.get("volume", []) if volume.get("pvcRef") == claim
                         and volume.get("usedBytes", 0) >= 20 << 20), None)

        told = self.eventually(in_summary, 180, "the node asks the driver each minute")
        self.assertTrue(40 << 20 < told["capacityBytes"] < 64 << 20, told)
        self.assertLess(told["usedBytes"], 30 << 20)
        self.assertLessEqual(told["availableBytes"] + told["usedBytes"], told["capacityBytes"])
        metrics = self.kubectl("get", "--raw", f"/api/v1/nodes/{HOST}/proxy/metrics", namespaced=False).splitlines()
        for metric, field in (("capacity", "capacityBytes"), ("used", "usedBytes"), ("available", "availableBytes")):
            start = f"kubelet_volume_stats_{metric}_bytes{labels} "
            self.assertEqual([float(line.removeprefix(start)) for line in metrics if line.startswith(start)], [told[field]], metric)
        filled.unlink()

    def space(self):
        """Bytes of the file systems on the disks of the host."""
        shapes = [os.statvfs(place) for place in (self.host / "ProgramData/Porthole Volumes").iterdir()]
        return sum(shape.f_blocks * shape.f_frsize for shape in shapes)

    # STO-22
    def test_a_driver_that_ends_is_taken_out_and_comes_back(self):
        self.put_class()
        self.start_driver()
        self.kubectl("delete", "pod", "driver")
        self.eventually(lambda: not self.in_csi_node(), 60, "the driver is gone")
        self.start_driver("again")

    # STO-24: what a driver may name
    def test_the_proxy_refuses_paths_outside_the_kubelets_directory(self):
        self.put_class()
        self.start_driver()

        def call(*words):
            return self.kubectl_run("exec", "driver", "--", "C:\\k\\csi_windows_driver.exe", "call", *words, check=False).stdout.strip()

        own = f"{KUBELET}\\plugins\\{self.driver}"
        self.assertEqual(call("Mkdir", own + "\\made"), "done")
        self.assertEqual(call("PathExists", own + "\\made"), "true")
        self.assertEqual(call("CreateSymlink", own + "\\made", own + "\\link"), "done")
        self.assertEqual(call("IsSymlink", own + "\\link"), "true")
        self.assertEqual(call("Rmdir", own + "\\link"), "done")
        self.assertEqual(call("Mkdir", "C:\\Windows\\made"), "csi-proxy: path: C:\\Windows\\made is not within context path: " + KUBELET)
        self.assertIn("invalid characters", call("Rmdir", own + "\\..\\x"))
        self.assertFalse((self.host / "windows/made").exists())

    def test_a_volume_whose_driver_is_missing_says_so(self):
        missing = f"driver name {self.driver} not found in the list of registered CSI drivers"
        self.put_class(attach=False)
        self.controller()
        self.apply(self.stateful_set())
        event = self.wait_event("FailedMount", missing, 120)
        self.assertTrue(event["message"].endswith(missing), "there is a proxy")
        self.kubectl("delete", "statefulset", "web")

    # STO-27
    def test_a_host_without_a_proxy_says_so(self):
        host = self.cluster.data / "nodes" / OTHER_HOST
        switch = host / "without-csi-proxy"
        switch.touch()
        self.addCleanup(self.reboot, host)
        self.addCleanup(switch.unlink)
        self.reboot(host)
        self.put_class(attach=False)
        self.controller()
        self.apply(self.stateful_set(OTHER_HOST))
        self.wait_event("FailedMount", f"; csi-proxy pipe {csi_proxy_pipe('filesystem')} not found; install csi-proxy on the node", 180)
        self.kubectl("delete", "statefulset", "web")

    def reboot(self, host):
        run(self.cluster.network.inside([PORTHOLE, "winhost", "reboot", "--data", host]), seconds=240, env=self.cluster.environment())
        self.eventually(lambda: condition(self.get("node", host.name, namespaced=False), "Ready") == "True", 120, "the node is back")
