"""Connections on a thread beside that of the API, whatever the machine's number of processors."""

import concurrent.futures
import json
import os
import subprocess
import unittest

from control_plane_case import ControlPlaneCase
from harness import CLIENTS, eventually, needs_newest_kubectl
from manifests import config_map


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class ConnectionThread(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        self.server.start("--connection-thread", "true")
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 60, "the namespace default")

    def watch(self):
        words = [str(CLIENTS["new"]), "--kubeconfig", str(self.server.kubeconfig), "get", "configmaps", "--watch", "--no-headers"]
        process = subprocess.Popen(self.network.inside(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                   env={"PATH": os.environ["PATH"], "HOME": str(self.folder)})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)
        return process

    def test_writes_of_many_clients_reach_a_watch_each_once(self):
        watch = self.watch()
        path = "/api/v1/namespaces/default/configmaps"
        write = lambda number: self.server.raw("POST", path, body=json.dumps(config_map(f"c-{number}", text="x" * 1000 * (number % 50))))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            written = list(pool.map(write, range(100)))
        self.assertEqual([answer["metadata"]["name"] for answer in written], [f"c-{number}" for number in range(100)])
        seen = set()
        while len(seen) < 100:
            name = watch.stdout.readline().split()[0]
            self.assertNotIn(name, seen)
            if name.startswith("c-"):
                seen.add(name)

    def test_what_is_refused_is_answered(self):
        self.assertEqual(self.server.raw("GET", "/api/v1/nodes", "--token", "")["code"], 403)
        self.assertEqual(self.server.raw("GET", "/api/v1/namespaces/default/configmaps/none")["code"], 404)
        self.assertEqual(self.server.raw("POST", "/api/v1/namespaces/default/configmaps", body="x" * (4 << 20))["code"], 413)
        self.assertIn("connection-thread=true", self.server.raw("GET", "/flagz", "--header", "Accept: text/plain")["text"])

    def test_the_server_ends_while_clients_wait(self):
        watch = self.watch()
        self.assertIn("kube-root-ca.crt", eventually(lambda: watch.stdout.readline(), 60, "the watch is there"))
        self.server.process.terminate()
        self.assertEqual(self.server.process.wait(120), 0)


if __name__ == "__main__":
    unittest.main()
