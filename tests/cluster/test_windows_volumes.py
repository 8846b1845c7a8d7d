"""Volumes of pods on Windows nodes. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import json

from test_windows_node import IMAGE, WindowsCase, windows_pod

ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]


def mount(name, path, **fields):
    return {"name": name, "mountPath": path, **fields}


class Volumes(WindowsCase):
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
