"""Volumes of pods on Windows nodes. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import json

from harness import PORTHOLE, run
from manifests import secret
from test_windows_node import IMAGE, WindowsPodCase, windows_pod

ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]


def mount(name, path, **fields):
    return {"name": name, "mountPath": path, **fields}


class Volumes(WindowsPodCase):
    def in_container(self, container, script, check=True):
        return self.kubectl_run("exec", "user", "-c", container, "--", "cmd", "/c", script, check=check).stdout.strip()

    # STO-02, STO-07, STO-08, LIM-26, LIM-52
    def test_containers_share_volumes_at_paths_of_either_form_and_some_only_to_read(self):
        writer = [mount("cache", "/cache"), mount("scratch", "C:/scratch")]
        reader = [mount("cache", "C:\\cache", readOnly=True), mount("scratch", "/scratch")]
        user = windows_pod("user", ENDLESS, volumes=[{"name": "cache", "emptyDir": {}}, {"name": "scratch", "emptyDir": {}}],
                           container_fields={"volumeMounts": writer})
        user["spec"]["containers"].append({"name": "side", "image": IMAGE, "command": ENDLESS, "volumeMounts": reader,
                                           "resources": {"limits": {"memory": "128Mi"}}})
        self.apply(user)
        self.wait_ready("user")
        self.in_container("main", "echo of cache> C:\\cache\\file& echo of scratch> C:\\scratch\\file")
        self.assertEqual(self.in_container("side", "type C:\\cache\\file"), "of cache")
        self.assertEqual(self.in_container("side", "type C:\\scratch\\file"), "of scratch")
        refused = self.kubectl_run("exec", "user", "-c", "side", "--", "cmd", "/c", "echo changed> C:\\cache\\file", check=False)
        self.assertIn("Access is denied.", refused.stderr, "Windows' words, not Wine's")
        self.in_container("side", "echo changed> C:\\scratch\\file")
        self.assertEqual(self.in_container("main", "type C:\\cache\\file"), "of cache", "it was mounted to be read")
        self.assertEqual(self.in_container("main", "type C:\\scratch\\file"), "changed")

    # STO-04, STO-10, LIM-24
    def test_folders_and_files_of_the_host_are_made_and_checked_by_their_type(self):
        folder, file = f"C:\\k\\{self.namespace}", f"C:\\k\\{self.namespace}-file"
        source = lambda path, kind: {"hostPath": {"path": path, "type": kind}}
        volumes = [{"name": "made", **source(folder, "DirectoryOrCreate")}, {"name": "file", **source(file, "FileOrCreate")}]
        mounts = [mount("made", "C:\\etc\\foo"), mount("file", "C:\\etc\\one.txt")]
        self.apply(windows_pod("user", ENDLESS, nodeName="windows-1", volumes=volumes, container_fields={"volumeMounts": mounts}))
        self.wait_ready("user")
        self.in_container("main", "echo kept> C:\\etc\\foo\\file& echo single> C:\\etc\\one.txt")
        self.kubectl("delete", "pod", "user", "--grace-period=1")
        volumes = [{"name": "made", **source(folder, "Directory")}, {"name": "file", **source(file, "File")}]
        mounts = [mount("made", "C:\\etc\\foo", readOnly=True), mount("file", "C:\\etc\\one.txt")]
        self.apply(windows_pod("user", ENDLESS, nodeName="windows-1", volumes=volumes, container_fields={"volumeMounts": mounts}))
        self.wait_ready("user")
        self.assertEqual(self.in_container("main", "type C:\\etc\\foo\\file"), "kept")
        self.assertEqual(self.in_container("main", "type C:\\etc\\one.txt"), "single")
        self.in_container("main", "echo changed> C:\\etc\\foo\\file", check=False)
        self.assertEqual(self.in_container("main", "type C:\\etc\\foo\\file"), "kept", "it was mounted to be read")
        wrong = windows_pod("wrong", ENDLESS, nodeName="windows-1", volumes=[{"name": "made", **source(folder, "File")}],
                            container_fields={"volumeMounts": [mount("made", "C:\\etc\\foo")]})
        self.kubectl("apply", "-f", "-", stdin=json.dumps(wrong), warnings=True)
        self.wait_event("FailedMount", "hostPath type check failed")

    def on_host(self, host, command):
        """Output of a command on the host itself."""
        data = self.cluster.data / "nodes" / host
        words = [PORTHOLE, "winhost", "exec", "--data", data, "--", "cmd", "/c", command]
        return run(self.cluster.network.inside(words), env=self.cluster.environment()).stdout

    # STO-05
    def test_a_local_volume_takes_its_pods_to_its_node_and_keeps_their_data(self):
        name, host, folder = f"{self.namespace}-local", "windows-2", f"C:\\k\\{self.namespace}-disk"
        self.on_host(host, f"mkdir {folder}")
        size = {"storage": "1Mi"}
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]
        self.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                    "spec": {"capacity": size, "accessModes": ["ReadWriteOnce"], "storageClassName": "", "local": {"path": folder},
                             "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}},
                   {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name, "resources": {"requests": size}}})
        self.addCleanup(self.kubectl, "delete", "pv", name, "--wait=false", namespaced=False)
        claimed = lambda pod, **fields: windows_pod(pod, ENDLESS, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
                                                    container_fields={"volumeMounts": [mount("v", "C:\\data")]}, **fields)
        self.apply(claimed("user"))
        self.assertEqual(self.wait_ready("user")["spec"]["nodeName"], host)
        self.in_container("main", "echo kept> C:\\data\\file")
        self.assertEqual(self.on_host(host, f"type {folder}\\file").strip(), "kept")
        self.kubectl("delete", "pod", "user", "--grace-period=1")
        self.apply(claimed("user"), claimed("elsewhere", nodeSelector={"kubernetes.io/os": "windows", "kubernetes.io/hostname": "windows-1"}))
        self.wait_event("FailedScheduling", "didn't match PersistentVolume's node affinity")
        self.assertEqual(self.wait_ready("user")["spec"]["nodeName"], host)
        self.assertEqual(self.in_container("main", "type C:\\data\\file"), "kept")

    # STO-13, STO-14, STO-17, LIM-25, LIM-29, LIM-31
    def test_what_windows_cannot_mount_is_told_before_and_refused_by_the_node(self):
        def user(name, volume, **fields):
            return windows_pod(name, ENDLESS, nodeName="windows-1", volumes=[{"name": "v", **volume}], container_fields=fields)
        pods = [user("shared", {"emptyDir": {}}, volumeMounts=[mount("v", "C:\\v", mountPropagation="HostToContainer")]),
                user("raw", {"persistentVolumeClaim": {"claimName": "raw"}}, volumeDevices=[{"name": "v", "devicePath": "/dev/v"}]),
                user("remote", {"nfs": {"server": "192.0.2.1", "path": "/srv"}}, volumeMounts=[mount("v", "C:\\v")])]
        told = self.kubectl_run("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})).stderr
        for words in ("spec.containers[0].volumeMounts[0].mountPropagation: mounts of a Windows container are its own",
                      "spec.containers[0].volumeDevices: volume mode Block is not supported on Windows",
                      "spec.volumes[0].nfs: NFS volumes are not supported on Windows"):
            self.assertIn("Warning: " + words, told)
        self.wait_event("FailedMount", "NFS volumes are not supported on Windows")
        for name, reason in (("shared", "MountPropagationUnsupported"), ("raw", "VolumeModeBlockUnsupported")):
            self.assertEqual(self.wait_phase(name, "Failed")["status"]["reason"], reason)

    # STO-15, STO-16, LIM-27
    def test_modes_and_groups_of_files_have_no_effect_and_are_told(self):
        source = {"secret": {"secretName": "words", "defaultMode": 0o400}}
        user = windows_pod("user", ENDLESS, volumes=[{"name": "v", **source}], securityContext={"fsGroup": 2000},
                           container_fields={"volumeMounts": [mount("v", "C:\\v")]})
        del user["spec"]["os"]  # with it the API refuses the group
        self.apply(secret("words", word="open"))
        told = self.kubectl_run("create", "-f", "-", stdin=json.dumps(user)).stderr
        self.assertIn("Warning: spec.volumes[0].secret.defaultMode: file modes have no effect on Windows", told)
        self.wait_ready("user")
        message = self.wait_event("WindowsFieldIgnored")["message"]
        for field in ("spec.volumes[0].secret.defaultMode", "spec.securityContext.fsGroup"):
            self.assertIn(field, message)
        self.assertEqual(self.in_container("main", "type C:\\v\\word"), "open", "also for the user of the container")
