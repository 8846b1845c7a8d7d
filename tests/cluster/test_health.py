"""What probes and scrapers ask the components."""

import json
import unittest

from harness import ClusterCase, run
from manifests import SLEEP, container, pod


class Health(ClusterCase):
    def ask(self, url):
        """From the first node's own network."""
        return run(self.cluster.network.inside(["curl", "--silent", "--show-error", "--fail", "--max-time", "5", url])).stdout

    def test_kubelet_and_proxy_say_that_they_are_well(self):
        self.assertEqual(self.ask("http://127.0.0.1:10248/healthz"), "ok")
        self.assertTrue(json.loads(self.ask("http://10.89.0.1:10256/healthz"))["healthy"])
        self.assertTrue(json.loads(self.ask("http://10.89.0.2:10256/healthz"))["healthy"])
        self.assertEqual(self.ask("http://127.0.0.1:10249/proxyMode"), "nftables")
        self.assertIn("kubeproxy_sync_proxy_rules_last_timestamp_seconds", self.ask("http://127.0.0.1:10249/metrics"))

    def test_the_scheduler_counts_what_it_does(self):
        def attempts(result):
            metrics = self.kubectl("get", "--raw", "/metrics", namespaced=False)
            line = next(line for line in metrics.splitlines()
                        if line.startswith("scheduler_schedule_attempts_total") and f'result="{result}"' in line)
            return int(line.split()[-1])
        placed, refused = attempts("scheduled"), attempts("unschedulable")
        self.apply(pod("here"), pod("nowhere", container(script=SLEEP), nodeSelector={"no": "such"}))
        self.wait_ready("here")
        self.wait_event("FailedScheduling")
        self.assertGreater(attempts("scheduled"), placed)
        self.assertGreater(attempts("unschedulable"), refused)
        self.assertIn('scheduler_pending_pods{queue="unschedulable"}', self.kubectl("get", "--raw", "/metrics", namespaced=False))


if __name__ == "__main__":
    unittest.main()
