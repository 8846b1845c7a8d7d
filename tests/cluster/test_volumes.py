"""Volumes that outlive their pods: an administrator makes them, claims find them."""

import os
import pathlib
import unittest

from harness import DISTURBED, IMAGE, ClusterCase, run, slow
from manifests import SLEEP, config_map, container, pod, secret, service
from test_stateful import stateful_set


NODE = "linux-1"


def mount_points(text):
    """Mount point -> kind of file system, of a /proc/mounts; the last mount of each."""
    return {line.split()[1]: line.split()[2] for line in text.splitlines()}


class NodeVolumeCase(ClusterCase):
    """Pods of one node, and what the node has of them."""

    def pod_of(self, name, *containers, **fields):
        return pod(name, *containers, nodeSelector={"kubernetes.io/hostname": NODE}, **fields)

    def pod_folder(self, name):
        return self.cluster.data / "nodes" / NODE / "kubelet/pods" / self.get("pod", name)["metadata"]["uid"]

    def host_mounts(self, folder):
        mounts = mount_points(pathlib.Path("/proc/mounts").read_text())
        return {path: kind for path, kind in mounts.items() if path.startswith(str(folder))}

    def host_folder(self, name):
        path = self.cluster.folder / f"{self.namespace}-{name}"
        path.mkdir()
        return path

    def with_secrets(self, name):
        token = {"serviceAccountToken": {"path": "token"}}
        volumes = [{"name": "secret", "secret": {"secretName": "hidden"}}, {"name": "token", "projected": {"sources": [token]}},
                   {"name": "labels", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                   {"name": "config", "configMap": {"name": "settings"}}]
        mounts = [{"name": volume["name"], "mountPath": "/" + volume["name"]} for volume in volumes]
        self.apply(secret("hidden", password="open sesame"), config_map("settings", color="red"))
        self.apply(self.pod_of(name, container(script=SLEEP, volumeMounts=mounts), volumes=volumes))
        self.wait_ready(name)


class NodeVolumesOfAnAgentThatDies(NodeVolumeCase):
    shared = DISTURBED
    alone = True  # nothing else on the node answers meanwhile

    @slow
    def test_an_agent_that_dies_finds_its_mounts_and_unmounts_those_that_nobody_wants(self):  # SEC-03
        self.with_secrets("kept")
        self.with_secrets("gone")
        kept, gone = self.pod_folder("kept"), self.pod_folder("gone")
        before = self.host_mounts(kept)
        self.kubectl("delete", "pod", "gone", "--wait=false")
        self.cluster.kill(NODE + "/agent")
        self.eventually(lambda: not gone.exists(), 60, "the pod that was to go has gone")
        self.assertEqual(self.host_mounts(gone), {})
        self.assertEqual(self.host_mounts(kept), before, "mounted once")
        self.apply(secret("hidden", password="changed"))
        self.eventually(lambda: self.exec("kept", "cat", "/secret/password") == "changed", 120, "secrets follow the API")


class NodeVolumes(NodeVolumeCase):
    """Volumes that the kubelet makes on its node."""

    def test_secrets_are_in_memory_and_not_for_writing(self):  # SEC-03
        self.with_secrets("keeper")
        mounted = mount_points(self.exec("keeper", "cat", "/proc/mounts"))
        for path in ("/secret", "/token", "/labels", "/var/run/secrets/kubernetes.io/serviceaccount"):
            self.assertEqual(mounted[path], "tmpfs", path)
        self.assertNotEqual(mounted["/config"], "tmpfs")
        self.assertEqual(self.exec("keeper", "cat", "/secret/password"), "open sesame")
        for path in ("/secret", "/token", "/labels", "/config"):
            self.assertIn("Read-only", self.kubectl_fails("exec", "keeper", "--", "touch", path + "/new"))
        folder = self.pod_folder("keeper")
        self.assertEqual(set(self.host_mounts(folder).values()), {"tmpfs"})
        self.assertEqual(run(["grep", "-rl", "--exclude-dir=volumes", "open sesame", str(folder)], check=False).stdout, "")
        self.kubectl("delete", "pod", "keeper")
        self.eventually(lambda: not folder.exists(), 20, "nothing is left of the pod")
        self.assertEqual(self.host_mounts(folder), {})

    def test_memory_has_its_size(self):
        limits = {"limits": {"memory": "32Mi"}}
        mounts = [{"name": "small", "mountPath": "/small"}, {"name": "large", "mountPath": "/large"}]
        self.apply(self.pod_of("cache", container(script=SLEEP, resources=limits, volumeMounts=mounts),
                               volumes=[{"name": "small", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
                                        {"name": "large", "emptyDir": {"medium": "Memory"}}]))
        self.wait_ready("cache")
        self.assertEqual(mount_points(self.exec("cache", "cat", "/proc/mounts"))["/small"], "tmpfs")
        blocks = lambda path: int(self.exec("cache", "df", "-k", path).split()[8])
        self.assertEqual((blocks("/small"), blocks("/large")), (8 << 10, 32 << 10))
        self.assertIn("No space left", self.kubectl_fails("exec", "cache", "--", "dd", "if=/dev/zero", "of=/small/f", "bs=1M", "count=9"))

    def test_huge_pages_need_a_request(self):
        self.apply(self.pod_of("huge", container(script=SLEEP, volumeMounts=[{"name": "huge", "mountPath": "/huge"}]),
                               volumes=[{"name": "huge", "emptyDir": {"medium": "HugePages"}}]))
        self.wait_event("FailedMount", "hugePages storage requested, but there is no resource request for huge pages")

    def test_the_secret_of_an_iscsi_volume_is_read_by_its_node(self):
        """Nothing listens at the portal, and the machine may have no initiator: that is found out after the secret has been read."""
        source = {"targetPortal": "127.0.0.1", "iqn": "iqn.2026-11.example:t", "lun": 1, "chapAuthSession": True, "secretRef": {"name": "chap"}}
        self.apply({**secret("chap", **{"node.session.auth.username": "me", "node.session.auth.password": "word"}), "type": "kubernetes.io/iscsi-chap"},
                   self.pod_of("user", container(script=SLEEP, volumeMounts=[{"name": "v", "mountPath": "/v"}]),
                               volumes=[{"name": "v", "iscsi": source}]))
        self.wait_event("FailedMount", "iscsiadm")

    def test_a_pod_that_fills_its_empty_dir_is_evicted(self):
        fill = "dd if=/dev/zero of=/data/f bs=1M count=4; " + SLEEP
        self.apply(self.pod_of("filler", container(script=fill, volumeMounts=[{"name": "data", "mountPath": "/data"}]),
                               volumes=[{"name": "data", "emptyDir": {"sizeLimit": "2Mi"}}]))
        self.wait_phase("filler", "Failed", seconds=120)
        status = self.get("pod", "filler")["status"]
        self.assertEqual(status["reason"], "Evicted")
        self.assertEqual(status["message"], 'Usage of EmptyDir volume "data" exceeds the limit "2Mi". ')

    def test_host_paths_are_what_their_type_says(self):
        folder = self.host_folder("host")
        for name, kind, text in (("file", "File", "is not a file"), ("socket", "Socket", "is not a socket file"),
                                 ("disk", "BlockDevice", "is not a block device")):
            self.apply(self.pod_of(name, container(script=SLEEP, volumeMounts=[{"name": "host", "mountPath": "/host"}]),
                                   volumes=[{"name": "host", "hostPath": {"path": str(folder), "type": kind}}]))
            self.wait_event("FailedMount", f'MountVolume.SetUp failed for volume "host" : hostPath type check failed: {folder} {text}')

    def test_mounts_are_seen_across_the_node_and_its_containers_as_asked(self):  # STO-25
        folder = self.host_folder("shared")
        run(["mount", "--bind", str(folder), str(folder)])
        self.addCleanup(run, ["umount", "--recursive", "--lazy", str(folder)])
        run(["mount", "--make-shared", str(folder)])
        for name in ("by-host", "by-pod"):
            (folder / name).mkdir()
        def user(name, propagation, **security):
            mounted = [{"name": "host", "mountPath": "/host", "mountPropagation": propagation}]
            return self.pod_of(name, container(script=SLEEP, volumeMounts=mounted, **security),
                               volumes=[{"name": "host", "hostPath": {"path": str(folder), "type": "Directory"}}])
        self.apply(user("both", "Bidirectional", securityContext={"privileged": True}), user("inward", "HostToContainer"),
                   user("none", "None"))
        for name in ("both", "inward", "none"):
            self.wait_ready(name)
        run(["mount", "-t", "tmpfs", "tmpfs", str(folder / "by-host")])
        (folder / "by-host/file").touch()
        self.exec("both", "mount", "-t", "tmpfs", "tmpfs", "/host/by-pod")
        self.exec("both", "touch", "/host/by-pod/file")
        self.assertTrue((folder / "by-pod/file").exists(), "what the container mounts is seen on the node")
        for name, seen in (("both", "file"), ("inward", "file"), ("none", "")):
            self.assertEqual(self.exec(name, "ls", "/host/by-host").strip(), seen, name)
            self.assertEqual(self.exec(name, "ls", "/host/by-pod").strip(), seen, name)

    def test_recursive_read_only_mounts_are_refused_where_the_runtime_has_none(self):
        def user(name, mode):
            mounted = [{"name": "data", "mountPath": "/data", "readOnly": True, "recursiveReadOnly": mode}]
            return self.pod_of(name, container(script=SLEEP, volumeMounts=mounted), volumes=[{"name": "data", "emptyDir": {}}])
        node = self.get("node", NODE, namespaced=False)
        handlers = [one for one in node["status"].get("runtimeHandlers", []) if not one.get("name")]
        possible = any(one.get("features", {}).get("recursiveReadOnlyMounts") for one in handlers)
        self.apply(user("possible", "IfPossible"), user("enabled", "Enabled"))
        self.wait_ready("possible")
        shown = lambda name: self.get("pod", name)["status"]["containerStatuses"][0]
        mounted = [one for one in shown("possible")["volumeMounts"] if one["name"] == "data"]
        self.assertEqual(mounted[0]["recursiveReadOnly"], "Enabled" if possible else "Disabled")
        if possible:
            self.wait_ready("enabled")
        else:
            self.eventually(lambda: 'volume "data" requested recursive read-only mode, but it is not supported by the runtime'
                            in str(shown("enabled")["state"]), 20, "the container says why it waits")


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

    def test_a_container_has_the_group_that_its_volume_names(self):
        volume = self.volume("shared")
        volume["metadata"]["annotations"] = {"pv.beta.kubernetes.io/gid": "4321"}
        folder = volume["spec"]["local"]["path"]
        os.chown(folder, 0, 4321)
        os.chmod(folder, 0o770)
        user = self.user("writer", "data", "echo mine > /data/file; " + SLEEP)
        user["spec"]["securityContext"] = {"runAsUser": 1000, "runAsGroup": 1000}
        self.apply(volume, self.claim("data"), user)
        self.wait_ready("writer")
        self.assertEqual(self.exec("writer", "id", "-G").split(), ["1000", "4321"])
        self.assertEqual(self.exec("writer", "cat", "/data/file").strip(), "mine")

    def disk(self, name, size=4 << 20):
        """A block device of linux-1, and the file behind it."""
        backing = self.cluster.folder / f"{self.namespace}-{name}.img"
        backing.write_bytes(bytes(size))
        device = run(["losetup", "--find", "--show", str(backing)]).stdout.strip()
        self.addCleanup(run, ["losetup", "--detach", device])
        return device, backing

    def raw_user(self, name, claim, read_only=False, **fields):
        raw = container(script=SLEEP, volumeDevices=[{"name": "data", "devicePath": "/dev/xvda"}], **fields)
        return pod(name, raw, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim, "readOnly": read_only}}])

    def test_a_raw_block_volume_is_a_device_in_its_container(self):
        device, backing = self.disk("raw")
        claim = self.claim("raw", size="4Mi")
        claim["spec"]["volumeMode"] = "Block"
        self.apply(self.volume("raw", size="4Mi", volumeMode="Block", local={"path": device}), claim, self.raw_user("writer", "raw"))
        self.wait_ready("writer")
        self.assertEqual(self.exec("writer", "ls", "-l", "/dev/xvda")[0], "b")
        self.exec("writer", "sh", "-c", "echo raw data | dd of=/dev/xvda conv=fsync")
        run(["sync"])
        run(["blockdev", "--flushbufs", device])
        self.assertTrue(backing.read_bytes().startswith(b"raw data"))
        self.kubectl("delete", "pod", "writer")
        self.apply(self.raw_user("reader", "raw", read_only=True))
        self.wait_ready("reader")
        self.assertEqual(self.exec("reader", "dd", "if=/dev/xvda", "bs=8", "count=1"), "raw data")
        self.assertIn("not permitted", self.kubectl_fails("exec", "reader", "--", "dd", "if=/dev/zero", "of=/dev/xvda", "bs=8", "count=1"))
        self.apply(self.user("mounter", "raw"))
        self.wait_event("FailedMount", "volume data has volumeMode Block, but is specified in volumeMounts")

    def test_a_local_volume_that_is_not_there_is_named(self):
        missing = str(self.cluster.folder / "none")
        self.apply(self.volume("lost", local={"path": missing}), self.claim("data"), self.user("user", "data"))
        self.wait_event("FailedMount", f'MountVolume.NewMounter initialization failed for volume "{self.namespace}-lost" : '
                                       f'path "{missing}" does not exist')
        self.apply(self.raw_user("raw", "data"))
        self.wait_event("FailedMount", "volume data has volumeMode Filesystem, but is specified in volumeDevices")

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
