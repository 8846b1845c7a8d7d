"""FlexVolume drivers: programs that an administrator puts on a node, and that mount volumes of pods and claims."""

import json
import os
import pathlib
import shutil
import unittest

from harness import ROOT
from manifests import SLEEP, container, secret
from test_volumes import NodeVolumeCase
from test_windows_node import WindowsPodCase, windows_pod

DRIVERS = pathlib.Path("/usr/libexec/kubernetes/kubelet-plugins/volume/exec")
# Mounts memory, and keeps there what it was told. What it does not have is the kubelet's part.
DRIVER = """#!/bin/sh
case "$1" in
init) echo '{"status": "Success", "capabilities": {"attach": false}}' ;;
mount) mount -t tmpfs flex "$2" && echo "$3" >"$2/options" && echo '{"status": "Success"}' ;;
unmount) umount "$2" && echo '{"status": "Success"}' ;;
*) echo '{"status": "Not supported"}'; exit 1 ;;
esac
"""


class FlexVolumes(NodeVolumeCase):
    def install(self):
        """A driver of this test only: the folder is the machine's, for all nodes on it."""
        driver = DRIVERS / f"porthole.test~{self.namespace}" / self.namespace
        driver.parent.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, driver.parent)
        driver.write_text(DRIVER)
        driver.chmod(0o755)
        return f"porthole.test/{self.namespace}"

    def user(self, name, **source):
        return self.pod_of(name, container(script=SLEEP, volumeMounts=[{"name": "v", "mountPath": "/v"}]), volumes=[{"name": "v", **source}])

    def options(self, name):
        return json.loads(self.exec(name, "cat", "/v/options"))

    def test_a_driver_mounts_a_volume_of_a_pod_and_unmounts_it(self):  # STO-21
        driver = self.install()
        source = {"driver": driver, "fsType": "none", "options": {"share": "a b"}, "secretRef": {"name": "hidden"}}
        self.apply({**secret("hidden", password="open sesame"), "type": driver}, self.user("user", flexVolume=source))
        self.wait_ready("user")
        options = self.options("user")
        self.assertEqual({name: options[name] for name in ("share", "kubernetes.io/fsType", "kubernetes.io/readwrite", "kubernetes.io/pod.name",
                                                           "kubernetes.io/secret/password")},
                         {"share": "a b", "kubernetes.io/fsType": "none", "kubernetes.io/readwrite": "rw", "kubernetes.io/pod.name": "user",
                          "kubernetes.io/secret/password": "b3BlbiBzZXNhbWU="})
        folder = self.pod_folder("user")
        self.assertIn(str(folder / "volumes" / driver.replace("/", "~") / "v"), self.host_mounts(folder))
        self.kubectl("delete", "pod", "user")
        self.eventually(lambda: not folder.exists(), 30, "nothing is left of the pod")
        self.assertEqual(self.host_mounts(folder), {})

    def test_a_claim_finds_a_volume_of_a_driver(self):  # STO-21
        name, driver = f"{self.namespace}-flex", self.install()
        size = {"storage": "1Mi"}
        self.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                    "spec": {"capacity": size, "accessModes": ["ReadWriteOnce"], "storageClassName": "", "flexVolume": {"driver": driver}}},
                   {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name, "resources": {"requests": size}}},
                   self.user("user", persistentVolumeClaim={"claimName": "data"}))
        self.addCleanup(self.kubectl, "delete", "pv", name, "--wait=false", namespaced=False)
        self.wait_ready("user")
        self.assertEqual(self.options("user")["kubernetes.io/pvOrVolumeName"], name)

    def test_a_driver_that_is_not_there_is_named(self):  # STO-21
        self.apply(self.user("user", flexVolume={"driver": "porthole.test/none"}))
        self.wait_event("FailedMount", 'failed to process volumes=[v]: failed to get Plugin from volumeSpec for volume "v" '
                                       "err=no volume plugin matched: the node has no FlexVolume driver")

    def test_options_of_kubernetes_are_refused(self):
        source = {"driver": "porthole.test/none", "options": {"kubernetes.io/fsType": "x"}}
        manifest = json.dumps(self.user("user", flexVolume=source))
        self.assertIn("kubernetes.io and k8s.io namespaces are reserved", self.kubectl_fails("apply", "-f", "-", stdin=manifest))


class FlexVolumesOfWindowsNodes(WindowsPodCase):
    def test_a_program_on_the_host_mounts_a_volume_and_unmounts_it(self):  # STO-21
        driver = f"porthole.test/{self.namespace}"
        host = self.cluster.data / "nodes/windows-1/C"
        program = host / "usr/libexec/kubernetes/kubelet-plugins/volume/exec" / driver.replace("/", "~") / f"{self.namespace}.exe"
        program.parent.mkdir(parents=True)
        program.write_bytes((pathlib.Path(os.environ.get("PORTHOLE_WINDOWS", ROOT / "build/windows")) / "bin/flex_windows_driver.exe").read_bytes())
        source = {"driver": driver, "fsType": "ntfs", "options": {"share": "a b"}, "secretRef": {"name": "hidden"}}
        user = windows_pod("user", ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"], nodeName="windows-1", volumes=[{"name": "v", "flexVolume": source}],
                           container_fields={"volumeMounts": [{"name": "v", "mountPath": "C:\\v"}]})
        self.apply({**secret("hidden", password="open sesame"), "type": driver}, user)
        self.wait_ready("user")
        options = json.loads(self.exec("user", "cmd", "/c", "type C:\\v\\options"))
        self.assertEqual({name: options[name] for name in ("share", "kubernetes.io/fsType", "kubernetes.io/readwrite", "kubernetes.io/secret/password")},
                         {"share": "a b", "kubernetes.io/fsType": "ntfs", "kubernetes.io/readwrite": "rw", "kubernetes.io/secret/password": "b3BlbiBzZXNhbWU="})
        folder = host / "var/lib/kubelet/pods" / self.get("pod", "user")["metadata"]["uid"]
        self.assertTrue((folder / "volumes" / driver.replace("/", "~") / "v/options").exists())
        self.kubectl("delete", "pod", "user", "--grace-period=1")
        self.eventually(lambda: not folder.exists(), 60, "the driver has unmounted, and nothing is left of the pod")


if __name__ == "__main__":
    unittest.main()
