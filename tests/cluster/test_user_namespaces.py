"""Pods with hostUsers: false, on a node whose containerd and runc are new enough to make user namespaces. test_attacks_nodes has the others."""

import pathlib
import unittest

from harness import DISTURBED, IMAGE, TOOLS, ClusterCase, condition, eventually, run
from manifests import SLEEP, config_map, container, pod, secret
from test_join import Machine

PROGRAMS = TOOLS / "containerd-new"
MOUNTS = {"disk": {"emptyDir": {}}, "memory": {"emptyDir": {"medium": "Memory"}}, "settings": {"configMap": {"name": "settings"}},
          "hidden": {"secret": {"secretName": "hidden", "defaultMode": 0o400}}, "image": {"image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}}


def own_users(name, script=SLEEP, **fields):
    mounts = [{"name": volume, "mountPath": f"/v/{volume}"} for volume in MOUNTS]
    return pod(name, container(script=script, volumeMounts=mounts), nodeName="extra", hostUsers=False,
               volumes=[{"name": volume, **source} for volume, source in MOUNTS.items()], **fields)


@unittest.skipUnless((PROGRAMS / "runc").exists(), "containerd 2 and its runc are not built: ./run clients")
class UserNamespaces(ClusterCase):
    shared = DISTURBED
    alone = True  # it adds a node, which the others do not expect

    def setUp(self):
        super().setUp()
        self.machine = Machine(self.cluster, PROGRAMS)
        self.machine.folder.chmod(0o711)  # so that root of a pod reaches its own file system in it
        self.addCleanup(self.machine.stop)
        self.addCleanup(self.kubectl_run, "delete", "node", "extra", "--ignore-not-found", namespaced=False, check=False)
        self.machine.start()
        words = self.cluster.porthole("token", "create", "--print-join-command").stdout.split()
        self.machine.start_agent(self.machine.join_command(words[2], words[4], words[6]))
        try:
            eventually(lambda: condition(self.try_get("node", "extra") or {}, "Ready") == "True", 90, "the node is Ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.machine.log()}") from None
        self.apply(config_map("settings", color="red"), secret("hidden", key="value"))

    def wait_ready(self, pod):
        return super().wait_ready(pod, 20)

    def first_id(self, name):
        """On the node, of the pod's users."""
        inside, first, length = map(int, self.exec(name, "cat", "/proc/self/uid_map").split())
        self.assertEqual((inside, length), (0, 65536))
        self.assertEqual(self.exec(name, "cat", "/proc/self/gid_map").split()[1], str(first))
        return first

    def owner_on_the_node(self, name):
        """Of the processes of the pod's container."""
        identity = self.get("pod", name)["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        listed = run(self.machine.ctr("tasks", "list")).stdout.splitlines()
        process = next(line.split()[1] for line in listed if line.startswith(identity))
        return pathlib.Path(f"/proc/{process}").stat().st_uid

    def record(self, name):
        return self.machine.data / "kubelet/pods" / self.get("pod", name)["metadata"]["uid"] / "userns"

    def test_root_of_a_pod_is_nobody_on_the_node(self):
        self.assertTrue(all(handler["features"]["userNamespaces"] for handler in self.get("node", "extra", namespaced=False)["status"]["runtimeHandlers"]))
        self.apply(own_users("one"), own_users("two", securityContext={"runAsUser": 1000, "fsGroup": 2000}))
        self.wait_ready("one")
        self.wait_ready("two")
        first, second = self.first_id("one"), self.first_id("two")
        self.assertGreaterEqual(min(first, second), 65536)
        self.assertGreaterEqual(abs(first - second), 65536)
        self.assertEqual(self.exec("one", "id", "-u").strip(), "0")
        self.assertEqual(self.owner_on_the_node("one"), first)
        self.assertEqual(self.owner_on_the_node("two"), second + 1000)

        # Volumes belong to whom they would without.
        self.assertEqual(self.exec("one", "cat", "/v/settings/color", "/v/hidden/key"), "redvalue")
        self.assertEqual(self.exec("one", "stat", "-Lc", "%u:%g", "/v/hidden/key", "/etc/hosts", "/dev/termination-log", "/v/image/bin",
                                   "/var/run/secrets/kubernetes.io/serviceaccount/token").split(), ["0:0"] * 5)
        for folder in ("disk", "memory"):
            self.exec("one", "sh", "-c", f"echo made > /v/{folder}/file && chown 5:6 /v/{folder}/file")
            self.assertEqual(self.exec("one", "stat", "-c", "%u:%g", f"/v/{folder}/file").strip(), "5:6")
            self.exec("two", "touch", f"/v/{folder}/file")
            self.assertEqual(self.exec("two", "stat", "-c", "%u:%g", f"/v/{folder}/file").strip(), "1000:2000")
        on_disk = self.record("one").parent / "volumes/kubernetes.io~empty-dir/disk/file"
        self.assertEqual((on_disk.stat().st_uid, on_disk.stat().st_gid), (5, 6))
        self.assertEqual(self.exec("two", "cat", "/v/hidden/key"), "value")

        record = self.record("one")
        self.assertIn(f'"hostId":{first}', record.read_text())
        self.kubectl("delete", "pod", "one")
        self.eventually(lambda: not record.exists(), 60, "its ids are free")

    def test_the_ids_outlive_the_agent_and_the_container(self):
        ending = "while [ ! -e /v/disk/end ]; do sleep 0.2; done; rm /v/disk/end; echo done > /dev/termination-log; exit 3"
        self.apply(own_users("p", ending))
        self.wait_ready("p")
        first, starts = self.first_id("p"), self.machine.starts()
        arguments = pathlib.Path(f"/proc/{self.machine.agent.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        self.machine.end_agent()
        self.machine.start_agent(self.machine.inside(arguments))
        eventually(lambda: self.machine.starts() > starts, 60, "the agent runs again")
        self.eventually(lambda: self.exec("p", "touch", "/v/disk/end") == "", 60, "the container ends")
        def started_again():
            status = self.get("pod", "p")["status"]["containerStatuses"][0]
            return status if status["restartCount"] == 1 and status["ready"] else None
        status = self.eventually(started_again, 60, "the container runs again")
        self.assertEqual(status["lastState"]["terminated"]["message"], "done\n")
        self.assertEqual(self.first_id("p"), first)
        self.assertEqual(self.owner_on_the_node("p"), first)


if __name__ == "__main__":
    unittest.main()
