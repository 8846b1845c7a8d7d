"""A short version of bench/floods.py: every known flood at once, against a cluster of its own."""

import json
import sys
import unittest

from harness import CLIENTS, ROOT, ClusterCase, SharedCluster, needs_newest_kubectl, run

FLOODED = SharedCluster("linux=1")


class Floods(ClusterCase):
    shared = FLOODED
    alone = takes_processors = True

    @needs_newest_kubectl
    def test_the_server_stays_small_and_answers_and_no_lease_ends(self):
        done = run(self.cluster.network.inside([sys.executable, str(ROOT / "bench/floods.py"), "--data", str(self.cluster.data), "--json",
                                                "--seconds", "30", "--kubectl", str(CLIENTS["new"])]),
                   seconds=240, check=False, env=self.cluster.environment())
        self.assertTrue(done.stdout.startswith("{"), done.stderr)
        result = json.loads(done.stdout)
        self.assertTrue(all(result["floods"].values()), f"a flood did nothing: {result}")
        self.assertEqual(result["failures"], [])
        self.assertLess(result["memoryMb"], 300, result)
        self.assertLess(result["slowest"], 30, result)  # an answer at all: how soon is what the benchmark tells
        self.assertEqual(result["notReady"], [], result)
        self.assertTrue(result["nodeLeases"], result)
        self.assertLess(max(result["nodeLeases"].values()), 40, result)  # what it is valid for: later, the node is not ready
        self.assertLess(result["electionPause"], 15, result)  # the same of a leader's: later, another one may lead


if __name__ == "__main__":
    unittest.main()
