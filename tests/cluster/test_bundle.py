"""The archive for a bug report: what is in it, and what is not."""

import tarfile
import unittest

from harness import MIXED, PORTHOLE, ClusterCase, run
from manifests import SLEEP, config_map, container, pod, secret

HIDDEN = "correct-horse-battery"


class Bundle(ClusterCase):
    shared = MIXED
    alone = True  # so that nothing has to wait for the tests of that cluster

    def test_it_says_what_the_cluster_is_and_did_without_its_secrets(self):  # TRB-16
        told = container(script=SLEEP, env=[{"name": "PASSWORD", "value": HIDDEN}], resources={"limits": {"memory": "16Mi"}})
        self.apply(secret("hidden", password=HIDDEN), config_map("settings", password=HIDDEN),
                   pod("told", told, os={"name": "linux"}, nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("told")
        file = self.cluster.folder / f"{self.namespace}.tar.gz"
        said = self.cluster.porthole("bundle", file, seconds=180).stdout
        self.assertIn("read it before you share it", said)
        self.assertEqual(file.stat().st_mode & 0o077, 0)
        with tarfile.open(file) as archive:
            texts = {member.name: archive.extractfile(member).read() for member in archive}
        for name in ("README.txt", "errors.txt", "cluster/version.json", "cluster/objects/pods.json", "cluster/objects/events.json",
                     "cluster/objects/deployments.apps.json", "nodes/linux-1/configz.json", "nodes/windows-1/configz.json",
                     "nodes/windows-1/hns.txt", "nodes/windows-1/addresses.txt", "machine/kernel.txt", "machine/rules.txt",
                     "machine/logs/server.log"):
            self.assertGreater(len(texts[name]), 0, name)
        self.assertIn(b"told", texts["cluster/objects/pods.json"])
        self.assertRegex(texts["nodes/windows-1/hns.txt"].decode(), r"(?mi)^networks: [1-9]")
        for name, text in texts.items():
            self.assertNotIn(HIDDEN.encode(), text, name)
            self.assertNotIn(b"PRIVATE KEY-----\nM", text, name)

    def test_a_windows_node_writes_one_of_itself(self):  # TRB-16
        node = self.cluster.data / "nodes/windows-1"
        command = [PORTHOLE, "winhost", "exec", "--data", node, "--", "porthole.exe", "bundle", r"C:\node.tar.gz"]
        said = run(self.cluster.network.inside(command), env=self.cluster.environment(), seconds=180).stdout
        self.assertIn("read it before you share it", said)
        with tarfile.open(node / "h/rootfs/wine/drive_c/node.tar.gz") as archive:
            texts = {member.name: archive.extractfile(member).read() for member in archive}
        self.assertRegex(texts["machine/hns.txt"].decode(), r"(?mi)^networks: [1-9]")
        self.assertIn(b"porthole ", texts["machine/porthole.txt"])
        self.assertTrue([name for name in texts if name.startswith("machine/logs/kubelet")], sorted(texts))

    def test_of_another_cluster_it_has_what_the_api_says_and_nothing_of_this_machine(self):
        file = self.cluster.folder / f"other-{self.namespace}.tar.gz"
        bundle = lambda kubeconfig: run(self.cluster.network.inside([PORTHOLE, "bundle", "--kubeconfig", kubeconfig, file]),
                                        env=self.cluster.environment(), check=False, seconds=180)
        refused = bundle(self.cluster.folder / "nowhere")
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("nowhere does not exist", refused.stderr)
        self.assertFalse(file.exists())
        self.assertEqual(bundle(self.cluster.kubeconfig).returncode, 0)
        with tarfile.open(file) as archive:
            names = archive.getnames()
        self.assertIn("cluster/objects/pods.json", names)
        self.assertEqual([name for name in names if name.startswith("machine/") or name.endswith("/addresses.txt")], [])


if __name__ == "__main__":
    unittest.main()
