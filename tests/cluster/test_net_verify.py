"""`porthole net`: the check of a cluster's network, on sound clusters and on broken ones, and the routes for a router."""

import json
import unittest

from harness import DISTURBED, IMAGE, MIXED, ClusterCase, SharedCluster, run, slow


class VerifyCase(ClusterCase):
    shared = DISTURBED
    alone = True

    def net(self, *words, check=True):
        return self.cluster.porthole("net", *words, seconds=600, check=check)

    def verify(self, *words, check=True):
        """(all ways, whether all is well)"""
        done = self.net("verify", "-o", "json", "--timeout", "240", *words, check=check)
        report = json.loads(done.stdout)
        self.assertEqual(report["passed"], done.returncode == 0)
        self.assertEqual(report["notChecked"], [])
        return report["checks"]

    def assert_all_well(self, checks):
        bad = [way for way in checks if way["result"] == "fail"]
        self.assertEqual(bad, [], f"of {len(checks)} ways")

    def pairs(self, checks, flow):
        return {(way["from"], way["to"]) for way in checks if way["flow"] == flow}


class LinuxNodes(VerifyCase):
    # VER-01, VER-02, VER-03, VER-06, VER-08, VER-09
    def test_every_way_between_nodes_pods_and_services_passes(self):
        checks = self.verify()
        self.assert_all_well(checks)
        both = {(a, b) for a in ("linux-1", "linux-2") for b in ("linux-1", "linux-2")}
        self.assertEqual(self.pairs(checks, "pod to pod by address"), both)
        self.assertEqual(self.pairs(checks, "pod to node port"), both)
        self.assertEqual(self.pairs(checks, "node to node (ping)"), {("linux-1", "linux-2"), ("linux-2", "linux-1")})

    # VER-03
    def test_another_image_with_a_shell_does_the_same(self):
        self.assert_all_well(self.verify("--linux-image", IMAGE, "--host-port", "0"))

    # VER-03
    def test_a_broken_way_is_named_with_its_hop(self):
        inside = ["nsenter", f"--net=/run/netns/porthole-{self.cluster.id}-linux-2", "nft"]
        subnet = self.get("node", "linux-1")["spec"]["podCIDR"]
        run([*inside, "-f", "-"], stdin=f"""table ip broken {{
    chain forward {{
        type filter hook forward priority -10
        ip saddr {subnet} ct state new drop
    }}
}}
""")
        self.addCleanup(run, [*inside, "delete table ip broken"])
        failed = [way for way in self.verify(check=False) if way["result"] == "fail" and way["flow"] == "pod to pod by address"]
        self.assertEqual([(way["from"], way["to"]) for way in failed], [("linux-1", "linux-2")])
        self.assertRegex(failed[0]["hop"], "pods of linux-1 to those of linux-2")

    def test_an_image_that_cannot_be_had_is_named_with_the_remedy(self):
        done = self.net("verify", "--linux-image", "porthole.test/nothing:1", "--timeout", "8", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--linux-image", done.stdout + done.stderr)

    def test_nothing_is_left_behind(self):
        self.verify("--host-port", "0")
        namespaces = lambda: self.kubectl("get", "namespaces", "-o", "name", namespaced=False)
        self.eventually(lambda: "porthole-verify" not in namespaces(), 60, "the check's namespace goes")

    # NET-02
    def test_the_routes_for_a_router_are_those_of_the_nodes(self):
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        wanted = {node["spec"]["podCIDR"]: node["status"]["addresses"][0]["address"] for node in nodes}
        routes = json.loads(self.net("routes", "--format", "json").stdout)
        self.assertEqual({route["range"]: route["via"] for route in routes}, wanted)
        self.assertEqual(len(self.net("routes").stdout.splitlines()), len(nodes))


class MixedNodes(VerifyCase):
    shared = MIXED

    # VER-01, VER-03, NET-24, NET-25, NET-26, NET-27
    def test_every_way_between_nodes_of_both_systems_passes(self):
        checks = self.verify()
        self.assert_all_well(checks)
        names = ("linux-1", "windows-1", "windows-2")
        self.assertEqual(self.pairs(checks, "pod to pod by address"), {(a, b) for a in names for b in names})
        self.assertEqual({way["from"] for way in checks if way["flow"] == "pod to service by full name"}, set(names))
        self.assertEqual(self.pairs(checks, "node to node (ping)"), {(a, b) for a in names for b in names if a != b})
        # VER-02
        self.assertEqual(self.pairs(checks, "pod to its gateway (ping)"), {(name, name) for name in names})
        self.assertEqual({way["result"] for way in checks if way["flow"] == "pod to its gateway (ping)"}, {"pass"})
        # SVC-19, SVC-20, TRB-06, TRB-11, LIM-09, LIM-10
        results = lambda flow: {(way["from"], way["to"]): way["result"] for way in checks if way["flow"] == flow}
        self.assertEqual(results("node to service by address"),
                         {("linux-1", ""): "pass", ("windows-1", ""): "expected limitation", ("windows-2", ""): "expected limitation"})
        self.assertEqual(results("node to node port"), {(a, b): "expected limitation" if a == b != "linux-1" else "pass" for a in names for b in names})
        limits = {way["flow"]: way["limitation"] for way in checks if way["fromNode"] and way["result"] != "pass"}
        self.assertIn("test from a pod", limits["node to service by address"])
        self.assertIn("test from another machine", limits["node to node port"])
        # DNS-13
        part = {way["from"]: way for way in checks if way["flow"] == "pod to service by part of its name"}
        self.assertEqual({name: way["result"] for name, way in part.items()},
                         {"linux-1": "pass", "windows-1": "expected limitation", "windows-2": "expected limitation"})
        self.assertIn("names without a dot", part["windows-1"]["limitation"])


class Routed(VerifyCase):
    shared = SharedCluster("linux=2,windows=1", "--backend", "alloc")

    def router(self, *words):
        return run(["ip", "-netns", f"porthole-{self.cluster.id}-router", *words]).stdout

    # EMU-06, NET-02
    @slow
    def test_an_emulated_router_has_the_routes_and_its_loss_is_named(self):
        nodes = self.list("nodes")
        ranges = {node["spec"]["podCIDR"]: node["status"]["addresses"][0]["address"] for node in nodes}
        on_router = {line.split()[0]: line.split()[2] for line in self.router("route", "show").splitlines() if " via " in line}
        self.assertEqual({pods: on_router.get(pods) for pods in ranges}, ranges)
        for name in ("linux-2", "windows-1"):
            routes = run(["ip", "-netns", f"porthole-{self.cluster.id}-{name}", "route"]).stdout
            others = [pods for pods in ranges if f"{pods} via" in routes]
            self.assertEqual(others, [], f"{name} has no routes of its own to other nodes' pods")
        self.assert_all_well(self.verify())

        lost = next(node["spec"]["podCIDR"] for node in nodes if node["metadata"]["name"] == "windows-1")
        self.router("route", "del", lost)
        try:
            failed = [way for way in self.verify(check=False) if way["result"] == "fail" and way["flow"] == "pod to pod by address"]
        finally:
            self.router("route", "add", lost, "via", ranges[lost])
        others = ("linux-1", "linux-2")  # whose answers to its pods are lost as well
        self.assertEqual({(way["from"], way["to"]) for way in failed},
                         {(name, "windows-1") for name in others} | {("windows-1", name) for name in others})
        for way in failed:
            self.assertRegex(way["hop"], "^the route of the router to the pods of windows-1, which `porthole net routes` prints")


if __name__ == "__main__":
    unittest.main()
