"""A cluster's own data in a file, and a cluster made from it where nothing is left of the former one."""

import json
import unittest

from harness import ClusterCase, SharedCluster, condition, slow
from manifests import secret, service, web_deployment

ON_LINUX = {"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "linux"}}
KEPT = SharedCluster("linux=1,windows=1")


class Backups(ClusterCase):
    shared = KEPT
    alone = True  # the cluster is purged and made anew

    def ready_nodes(self):
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        return [node["metadata"]["name"] for node in nodes if condition(node, "Ready") == "True"]

    @slow
    def test_a_restored_cluster_brings_its_workloads_back(self):
        self.apply(web_deployment("web", 2, pod_fields=ON_LINUX), service("web", {"app": "web"}), secret("hidden", password="open sesame"))
        self.wait_rolled_out("web")
        uid = self.get("deployment", "web")["metadata"]["uid"]
        token = self.kubectl("create", "token", "default").strip()
        file = self.cluster.folder / "cluster.backup"
        said = self.cluster.porthole("backup", file).stdout
        self.assertRegex(said, r"cluster\.backup: \d+ objects at revision \d+")
        self.assertRegex(said, r"restored into a scratch directory: the same objects")
        self.assertNotIn(b"open sesame", file.read_bytes())
        self.apply(secret("later", password="lost"))
        seen = int(self.get("secret", "later")["metadata"]["resourceVersion"])
        again = self.cluster.porthole("backup", file, check=False)
        self.assertEqual((again.returncode, again.stderr), (1, f"porthole: {file} already exists: choose another name, or remove it\n"))
        there = self.cluster.porthole("restore", file, check=False)
        self.assertIn(f"{self.cluster.data} is not empty", there.stderr)

        self.cluster.porthole("down", "--purge", seconds=240)
        said = self.cluster.porthole("restore", file).stdout
        self.assertIn("porthole up --nodes linux=1,windows=1:2022 --data", said)
        self.cluster.up()
        self.cluster.porthole("image", "load", self.cluster.images / "busybox.docker.tar")
        self.eventually(lambda: self.ready_nodes() == ["linux-1", "windows-1"], 60, "both nodes are ready")
        self.assertEqual(self.get("deployment", "web")["metadata"]["uid"], uid)
        self.eventually(lambda: self.get("deployment", "web")["status"].get("readyReplicas") == 2, 90, "the pods run")
        address = self.get("service", "web")["spec"]["clusterIP"]
        # Until now the status may be that of the backup, and the pods still on their way.
        self.eventually(lambda: self.fetch_from_node(f"http://{address}/").startswith("web-"), 120, "the service answers")
        self.assertEqual(self.kubectl("get", "secret", "hidden", "-o", "go-template={{.data.password | base64decode}}"), "open sesame")
        self.assertIsNone(self.try_get("secret", "later"))
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        self.assertTrue(json.loads(self.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))["status"]["authenticated"])
        self.apply(secret("new", password="x"))
        self.assertGreater(int(self.get("secret", "new")["metadata"]["resourceVersion"]), seen)


if __name__ == "__main__":
    unittest.main()
