"""Pods of Linux and emulated Windows nodes on an overlay network (VXLAN) instead of routes between the nodes."""

import json
import re
import unittest

import test_join
from harness import IMAGE, OVERLAY, PORTHOLE, condition, run, slow
from manifests import PAGE, PROBE_SECONDS, container, pod, service
from test_windows_node import WindowsCase, web_server

NODES = ("linux-1", "windows-1", "windows-2")


def linux_server(name, labels, **fields):
    """On the port that the Windows web server has, so that one service leads to both."""
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "timeoutSeconds": PROBE_SECONDS}
    serving = container(script=PAGE.replace("8080", "80"), readinessProbe=probe)
    return pod(name, serving, labels=labels, **fields)


class Overlay(WindowsCase):
    shared = OVERLAY

    def host(self, node, *words):
        verb, *more = words
        folder = self.cluster.data / "nodes" / node
        return run(self.cluster.network.inside([PORTHOLE, "winhost", verb, "--data", folder, *more]), seconds=120,
                   env=self.cluster.environment()).stdout

    def source_vip(self, node):
        """(the address of the proxy's own endpoint, who has it leased)"""
        listed = self.host(node, "exec", "--", "porthole.exe", "hns", "list")
        address = re.search(r"porthole-source-vip.*?(\d+\.\d+\.\d+\.\d+)", listed).group(1)
        return address, self.host(node, "exec", "--", "cmd", "/c", "type", f"C:\\var\\lib\\cni\\networks\\vxlan0\\{address}")

    def fetch_from_windows(self, name):
        return lambda url: self.exec(name, "C:\\web\\fetch.exe", url)

    # NET-24, SVC-08 (overlay)
    @slow
    def test_pods_and_services_answer_across_nodes_of_both_systems(self):
        web = {"app": "web"}
        self.apply(linux_server("web-linux-1", web, nodeName="linux-1"), service("web", web, target=80),
                   *[web_server(f"web-{node}", web, nodeName=node) for node in NODES[1:]])
        for node in NODES:
            self.wait_ready(f"web-{node}")
        clients = {"linux-1": self.linux_client(), **{node: self.fetch_from_windows(f"web-{node}") for node in NODES[1:]}}
        for client, fetch in clients.items():
            for node in NODES:
                with self.subTest(f"{client} to the pod on {node}"):
                    self.assertIn(f"web-{node}", self.answers(fetch, f"http://{self.ip(f'web-{node}')}/").lower())
            address = self.get("service", "web")["spec"]["clusterIP"]
            for host in (address, f"web.{self.namespace}.svc.cluster.local"):
                with self.subTest(f"{client} to {host}"):
                    seen = set()

                    def all_backends():
                        seen.update(re.findall(r"web-(?:linux|windows)-\d", fetch(f"http://{host}/").lower()))
                        return len(seen) == len(NODES)

                    self.eventually(all_backends, 60, "every backend answers in turn")

    # VER-03, NET-31
    def test_the_check_of_the_network_passes_and_names_what_windows_limits(self):
        done = self.cluster.porthole("net", "verify", "--linux-image", IMAGE, "-o", "json", seconds=280, check=False)
        report = json.loads(done.stdout)
        self.assertEqual([way for way in report["checks"] if way["result"] == "fail"], [])
        self.assertEqual((report["passed"], report["notChecked"]), (True, []))
        limited = {(way["flow"], way["from"], way["to"]) for way in report["checks"] if way["result"] == "expected limitation"}
        self.assertEqual(limited, {("pod to node (ping)", a, b) for a in NODES[1:] for b in NODES if a != b} |
                         {("pod to service by part of its name", a, "") for a in NODES[1:]} |
                         {("node to service by address", a, "") for a in NODES[1:]} | {("node to node port", a, a) for a in NODES[1:]} |
                         {("node to pod", a, b) for a in NODES[1:] for b in NODES if a != b})

    def test_the_source_address_is_leased_and_outlives_a_reboot(self):
        self.apply(web_server("web", nodeName="windows-2"))
        self.wait_ready("web")
        address, holder = self.eventually(lambda: self.source_vip("windows-2"), 60, "a source address")
        self.assertIn("porthole-node", holder)
        self.assertNotEqual(address, self.ip("web"))
        self.host("windows-2", "reboot")
        # IPM-06
        restarts = lambda: self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"]
        self.eventually(lambda: restarts() >= 1 and condition(self.get("pod", "web"), "Ready") == "True", 120, "the pod is back")
        self.assertIn("web", self.answers(self.linux_client(), f"http://{self.ip('web')}/"))
        self.eventually(lambda: self.source_vip("windows-2") == (address, holder), 60, "the same source address")

    # SVC-07, SVC-26, TRB-09, LIM-46
    def test_a_network_that_is_gone_is_waited_for_and_services_work_when_it_is_another(self):
        node, web = "windows-2", {"app": "web"}
        self.apply(linux_server("web-linux-1", web, nodeName="linux-1"), service("web", web, target=80))
        self.wait_ready("web-linux-1")
        address = self.get("service", "web")["spec"]["clusterIP"]
        listed = lambda: json.loads(self.host(node, "exec", "--", "porthole.exe", "hns", "list", "-o", "json"))
        network_id = lambda: next(network["ID"] for network in listed()["networks"] if network["Name"] == "vxlan0")
        programmed = lambda: any(address in balancer.get("FrontendVIPs", []) for balancer in listed()["loadBalancers"])
        self.eventually(programmed, 30, "the service is programmed")
        before, log = network_id(), self.cluster.data / "nodes" / node / "C/k/logs/kube-proxy.log"
        self.host(node, "exec", "--", "net", "stop", "flanneld")
        try:
            self.eventually(lambda: not self.process_on(node, "flanneld.exe"), 20, "flanneld has stopped")
            self.host(node, "exec", "--", "net", "stop", "kube-proxy")
            self.host(node, "fault", '{"reboot": true}')  # an overlay network does not outlive it
            self.assertEqual([network["Name"] for network in listed()["networks"] if network["Name"] == "vxlan0"], [])
            old = len(log.read_text())
            self.host(node, "exec", "--", "net", "start", "kube-proxy")
            self.eventually(lambda: "Unable to find HNS Network specified by vxlan0" in log.read_text()[old:], 30, "the proxy waits")
            waiting = self.process_on(node, "kube-proxy.exe")
            self.assert_flanneld_ends_without_its_network(node)
        finally:
            self.host(node, "exec", "--", "net", "start", "flanneld")
        self.eventually(lambda: network_id() != before, 60, "another network")
        self.eventually(programmed, 30, "the service is programmed in it")
        self.assertEqual(self.process_on(node, "kube-proxy.exe"), waiting, "the same proxy")
        self.apply(web_server("asks", nodeName=node))
        self.wait_ready("asks")
        self.assertIn("web-linux-1", self.answers(self.fetch_from_windows("asks"), f"http://{address}/"))

    def assert_flanneld_ends_without_its_network(self, node):
        """On a console, while no network can be made: a bounded wait that it tells of, and then an exit code."""
        line = self.host(node, "exec", "--", "reg", "query", "HKLM\\System\\CurrentControlSet\\Services\\flanneld", "/v", "ImagePath")
        words = [word for word in re.search(r"REG_SZ +(.*\S)", line).group(1).split() if word != "--windows-service"]
        self.host(node, "fault", '{"fail": [{"call": "HcnCreateNetwork", "hresult": "0x80070005", "times": 1000}]}')
        try:
            place = ("--data", self.cluster.data / "nodes" / node)
            done = run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", *place, "--", *words, "--logtostderr=true", "--network-timeout=3s"]),
                       check=False, env=self.cluster.environment())
        finally:
            self.host(node, "fault", '{"clear": true}')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertGreaterEqual(len(re.findall("Waiting for the Network to be created network=vxlan0 .*0x80070005", done.stderr)), 2, done.stderr)
        self.assertIn("the HNS network vxlan0 could not be created", done.stderr)

    # IPM-06, IPM-07
    @slow
    def test_a_node_that_leaves_gives_its_source_address_back_and_joins_as_what_the_cluster_says(self):
        node, leases = "windows-2", self.cluster.data / "nodes/windows-2/C/var/lib/cni/networks/vxlan0"
        self.eventually(lambda: self.source_vip(node), 60, "a source address")
        self.assertTrue(any("porthole-node" in lease.read_text() for lease in leases.glob("*.*.*.*")))
        self.host(node, "exec", "--", "kubeadm.exe", "reset", "--force")
        self.assertFalse(leases.exists())
        self.assertNotIn("vxlan0", self.host(node, "exec", "--", "porthole.exe", "hns", "list"))
        self.kubectl("delete", "node", node, namespaced=False)
        text = self.cluster.porthole("token", "create", "--ttl", "10m", "--print-join-command").stdout
        server, token, ca_hash = re.search(r"join (\S+) --token (\S+) --\S*ca-cert-hash (\S+)", text).groups()
        join = ("kubeadm.exe", "join", server, "--token", token, "--discovery-token-ca-cert-hash", ca_hash, "--node-name", node, "--shared-disk")
        with self.assertRaisesRegex(AssertionError, "the pod network of this cluster is vxlan, not host-gw"):
            self.host(node, "exec", "--", *join, "--network-mode", "l2bridge")
        self.host(node, "exec", "--", *join)  # nobody says overlay
        self.eventually(lambda: condition(self.try_get("node", node) or {}, "Ready") == "True", 90, f"{node} is Ready")
        self.apply(web_server("web", nodeName=node))
        self.wait_ready("web")
        self.assertIn("web", self.answers(self.linux_client(), f"http://{self.ip('web')}/"))
        address, _ = self.eventually(lambda: self.source_vip(node), 60, "a source address again")
        self.assertTrue(address.startswith(self.get("node", node, namespaced=False)["spec"]["podCIDR"].rsplit(".", 1)[0]))

    # NET-07
    @slow
    def test_a_linux_machine_that_joins_takes_the_overlay_without_being_told(self):
        machine = test_join.Machine(self.cluster)
        self.addCleanup(machine.stop)
        self.addCleanup(self.kubectl_run, "delete", "node", "extra", "--ignore-not-found", namespaced=False, check=False)
        machine.start()
        words = self.cluster.porthole("token", "create", "--print-join-command").stdout.split()
        refused = run([*machine.join_command(words[2], words[4], words[6]), "--backend", "host-gw"], seconds=40, check=False)
        self.assertIn("the pod network of this cluster is vxlan, not host-gw", refused.stderr)
        machine.start_agent(machine.join_command(words[2], words[4], words[6]))
        self.eventually(lambda: condition(self.try_get("node", "extra") or {}, "Ready") == "True", 60, "the machine is a node")
        self.assertEqual(self.get("node", "extra", namespaced=False)["metadata"]["annotations"]["flannel.alpha.coreos.com/backend-type"], "vxlan")
        self.apply(linux_server("there", {"app": "there"}, nodeName="extra"), web_server("web", nodeName="windows-1"))
        self.wait_ready("there")
        self.wait_ready("web")
        self.assertIn("there", self.answers(self.fetch_from_windows("web"), f"http://{self.ip('there')}/", 60))


if __name__ == "__main__":
    unittest.main()
