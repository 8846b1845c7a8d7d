"""`porthole up --server-arg`: options of `porthole server` for the servers of a cluster on this machine."""

import os
import unittest

from harness import CLIENTS, NEWEST_CLIENT, PORTHOLE, Cluster, run, slow

OLD = "extensions/v1beta1"


@unittest.skipUnless(os.geteuid() == 0, "a cluster on this machine needs root")
@unittest.skipUnless(CLIENTS[NEWEST_CLIENT].exists(), "kubectl is not built: ./run clients")
class UpServerArguments(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster("linux=1")
        self.addCleanup(self.cluster.stop)

    def up(self, *arguments, check=True):
        self.cluster.options = [word for argument in arguments for word in ("--server-arg", argument)]
        return self.cluster.up(check)

    def versions(self):
        return self.cluster.kubectl(NEWEST_CLIENT, "api-versions").stdout.split()

    def test_the_servers_have_them_until_others_are_given(self):
        self.up(f"runtime-config={OLD}=true", "audit-log-maxsize=7")
        self.assertIn(OLD, self.versions())
        flags = self.cluster.kubectl(NEWEST_CLIENT, "get", "--raw", "/flagz").stdout
        self.assertRegex(flags, r"audit-log-maxsize[:=]7\n")
        self.assertIn("a cluster with other options is running", self.up("audit-log-maxsize=8", check=False).stderr)
        self.cluster.down()
        self.up()
        self.assertIn(OLD, self.versions())
        self.cluster.down()
        self.up("")
        self.assertNotIn(OLD, self.versions())

    def test_what_the_server_does_not_know_is_refused_before_anything_is_made(self):
        for argument, told in {
                "port=7443": "sets the server's option --port",
                "runtime-config": "write NAME=VALUE",
                "no-such=1": "unknown option --no-such=1",
                "v": "write NAME=VALUE"}.items():
            with self.subTest(argument):
                self.assertIn(told, self.up(argument, check=False).stderr)
                self.assertFalse((self.cluster.data / "cluster.json").exists())

    def test_a_stopped_cluster_starts_with_the_options_it_was_made_with(self):
        self.cluster.options = ["--port", "7443", "--service-cidr", "10.43.0.0/16", "--cluster-dns", "10.43.0.10", "--backend", "vxlan"]
        self.cluster.up()
        self.cluster.down()
        self.cluster.options = ["--service-cidr", "10.44.0.0/16", "--cluster-dns", "10.44.0.10"]
        self.assertIn("--service-cidr 10.44.0.0/16: the cluster's objects contain 10.43.0.0/16, so it cannot be changed", self.cluster.up(check=False).stderr)
        self.cluster.options = []
        for _ in ("stopped", "running"):
            self.cluster.up()
            self.assertEqual(self.cluster.kubectl(NEWEST_CLIENT, "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}").stdout, "10.43.0.1")
        self.assertRegex(self.cluster.kubectl(NEWEST_CLIENT, "cluster-info").stdout, r":7443\b")

    def test_a_machine_that_is_a_node_gets_no_second_cluster(self):
        self.cluster.up()
        second = self.cluster.folder / "second"
        refused = run(self.cluster.network.inside([PORTHOLE, "up", "--detach", "--port", "7443", "--node-cidr", "10.90.0.0/24", "--data", second]),
                      env=self.cluster.environment(), check=False, seconds=60)
        self.assertIn("this machine is a node of another cluster already: its kubelet has port 10250; end that first", refused.stderr)
        self.assertFalse((second / "cluster.json").exists())

    @slow
    def test_why_the_server_ends_is_told(self):
        refused = self.up("feature-gates=NoSuchGate=true", check=False)
        self.assertIn("control plane ready: --feature-gates: unrecognized feature gate: NoSuchGate; see ", refused.stdout + refused.stderr)
