"""A cluster on a machine whose environment names a proxy, which does not answer: its own traffic must not go there."""

import pathlib
import unittest

from harness import Cluster, ClusterCase, SharedCluster, condition, run, slow
from manifests import web_pod
from test_windows_node import web_server


class BehindAProxy(Cluster):
    def environment(self):
        nowhere = "http://127.0.0.1:1"
        return super().environment() | {"HTTPS_PROXY": nowhere, "HTTP_PROXY": nowhere, "NO_PROXY": "example.com"}

    def kubectl(self, client, *words, **options):
        """kubectl itself goes where the variables say: only what is ours is tested."""
        return run(self.kubectl_command(client, *words), env=super().environment(), **options)


PROXIED = SharedCluster("linux=1,windows=1", kind=BehindAProxy)


class ProxiedMachine(ClusterCase):
    shared = PROXIED

    # JOI-14
    @slow
    def test_a_cluster_on_one_machine_does_without_the_proxy(self):
        self.assertIn("windows-1", self.cluster.porthole("status").stdout)
        for node in ("linux-1", "windows-1"):
            self.assertEqual(condition(self.get("node", node, namespaced=False), "Ready"), "True")
        self.apply(web_pod("linux", nodeName="linux-1"), web_server("windows", nodeName="windows-1"))
        self.wait_ready("linux")
        self.wait_ready("windows")
        supervisor = self.cluster.processes()["supervisor"]
        environment = pathlib.Path(f"/proc/{supervisor}/environ").read_text()
        self.assertIn("HTTPS_PROXY=http://127.0.0.1:1", environment, "images may still be pulled through it")
        self.assertIn("example.com", environment)


if __name__ == "__main__":
    unittest.main()
