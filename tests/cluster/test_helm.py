"""Helm installs, upgrades, rolls back and removes a chart."""

import json
import pathlib
import unittest

from harness import TOOLS, ClusterCase, run

CHART = pathlib.Path(__file__).with_name("charts") / "shop"


class Helm(ClusterCase):
    program = TOOLS / "helm"

    def helm(self, *words):
        if not self.program.exists():
            self.skipTest("Helm is not built: ./run clients")
        command = self.cluster.network.inside([str(self.program), "--namespace", self.namespace, *words])
        return run(command, env=self.cluster.environment(), seconds=200).stdout

    # CLI-09, API-02
    def test_release_goes_through_its_life(self):
        self.helm("install", "shop", str(CHART), "--wait", "--timeout", "180s")
        ip = self.get("service", "shop")["spec"]["clusterIP"]
        self.assertEqual(self.eventually(lambda: self.fetch_from_node(f"http://{ip}/"), 60), "busybox 1")

        self.helm("upgrade", "shop", str(CHART), "--set", "colour=blue,replicas=2", "--wait", "--timeout", "180s")
        self.assertEqual(self.get("configmap", "shop-settings")["data"], {"colour": "blue"})
        # Helm waits for the pods of the replica set, of which the deployment hears a moment later.
        self.eventually(lambda: self.get("deployment", "shop")["status"]["readyReplicas"] == 2, what="both replicas are ready")

        self.helm("rollback", "shop", "1", "--wait", "--timeout", "180s")
        self.assertEqual(self.get("configmap", "shop-settings")["data"], {"colour": "green"})
        releases = json.loads(self.helm("list", "-o", "json"))
        self.assertEqual([(release["name"], release["revision"]) for release in releases], [("shop", "3")])

        self.helm("uninstall", "shop", "--wait")
        self.assertIsNone(self.try_get("deployment", "shop"))


if __name__ == "__main__":
    unittest.main()
