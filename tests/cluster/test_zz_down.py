"""The last tests of a run: what `status` says, and that `down` leaves nothing."""

import json
import unittest

from harness import DISTURBED, MIXED, PORTHOLE, Cluster, ClusterCase, run
from manifests import web_deployment
from test_windows_node import WindowsCase, web_server


class Down(ClusterCase):
    shared = DISTURBED
    alone = True

    def test_a_status_names_processes_and_nodes(self):
        status = json.loads(self.cluster.porthole("status", "-o", "json").stdout)
        text = json.dumps(status)
        for word in ("linux-1", "linux-2", "server"):
            self.assertIn(word, text)
        self.assertIn("linux-2", self.cluster.porthole("status").stdout)

    def test_z_down_leaves_no_process_mount_namespace_link_or_rule(self):
        self.apply(web_deployment("web", replicas=3))
        self.wait_rolled_out("web")
        self.cluster.down()
        self.assertEqual(self.cluster.leftovers(), [])
        self.doCleanups()
        self.assertEqual(DISTURBED.end(), [])


class MixedDown(WindowsCase):
    def test_down_leaves_nothing_of_a_mixed_cluster(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        self.cluster.down()
        self.assertEqual(self.cluster.leftovers(), [])
        self.doCleanups()
        self.assertEqual(MIXED.end(), [])


class DownFromOutside(unittest.TestCase):
    def test_down_typed_elsewhere_finds_the_network_namespace_of_a_cluster_that_was_killed(self):
        cluster = Cluster("linux=1")
        self.addCleanup(cluster.stop)
        cluster.up()
        cluster.cut_power()
        run([PORTHOLE, "down", "--data", cluster.data], env=cluster.environment(), seconds=120)
        self.assertEqual(cluster.leftovers(), [])


if __name__ == "__main__":
    unittest.main()
