"""kube-proxy on a Windows node: whose node it takes itself for, and whose address a backend sees. The judge is kubectl; the node is emulated, its
kube-proxy.exe runs under Wine."""

import contextlib
import json
import secrets
import unittest

from harness import condition
from manifests import service
from test_windows_host import HostCase
from test_windows_network import EXAMPLE
from test_windows_node import IMAGE, web_server
from windows_probe_case import FETCH

NODE, OTHER_NODE = "windows-1", "windows-2"


def linux_web_server(name, **fields):
    """The program of the Windows web server, which prints from where it is asked."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 1, "nodeName": "linux-1", "containers": [{
                "name": "main", "image": IMAGE, "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}}], **fields}}


class ProxyCase(HostCase):
    shared = EXAMPLE
    node_name = NODE

    @contextlib.contextmanager
    def proxy(self, *flags, named=True):
        """kube-proxy on a console, with `flags` after those of its service and, if it is not `named`, without its node's name; what it logs."""
        folder = "proxy-" + secrets.token_hex(4)
        words = [word for word in self.command_of("kube-proxy") if named or not word.startswith("--hostname-override=")]
        with self.on_consoles({"kube-proxy": [*words, f"--log-dir=C:\\k\\{folder}", *flags]}):
            yield lambda: (self.host() / "C/k" / folder / "kube-proxy.log").read_text()

    def hns(self):
        return json.loads(self.on_host("porthole.exe", "hns", "list", "-o", "json"))

    def endpoints(self):
        """Those of pods of this node, and of whoever else is not the proxy: id → address."""
        return {endpoint["ID"]: endpoint["IpConfigurations"][0]["IpAddress"] for endpoint in self.hns()["endpoints"] if not is_remote(endpoint)}

    def backends(self, name):
        """Addresses behind a service's cluster address on this node, and whether they are this node's own."""
        listed, address = self.hns(), self.get("service", name)["spec"]["clusterIP"]
        at = {endpoint["ID"].lower(): endpoint for endpoint in listed["endpoints"]}
        used = [at[one.lower()] for balancer in listed["loadBalancers"] if address in balancer.get("FrontendVIPs", [])
                for one in balancer["HostComputeEndpoints"]]
        return {endpoint["IpConfigurations"][0]["IpAddress"]: not is_remote(endpoint) for endpoint in used}


def is_remote(endpoint):
    return bool(endpoint.get("Flags", 0) & 1)


class ClientAddress(ProxyCase):
    # SVC-10
    def test_with_direct_server_return_backends_see_the_pod_and_otherwise_its_node(self):
        self.apply(linux_web_server("on-linux"), web_server("on-windows", nodeName=NODE), web_server("asks", nodeName=NODE),
                   *[service(name, {"app": name}, target=80) for name in ("on-linux", "on-windows")])
        for name in ("on-linux", "on-windows", "asks"):
            self.wait_ready(name)
        node = next(entry["address"] for entry in self.node()["status"]["addresses"] if entry["type"] == "InternalIP")
        self.assert_seen("without", node)
        with self.proxy("--enable-dsr=true", "--feature-gates=WinDSR=true"):
            self.eventually(lambda: self.flags("on-linux") == self.flags("on-windows") == {1}, 30, "load balancers with direct server return")
            self.assert_seen("with", self.ip("asks"))
        self.eventually(lambda: self.flags("on-linux") == self.flags("on-windows") == {0}, 30, "load balancers without it again")

    def flags(self, name):
        address = self.get("service", name)["spec"]["clusterIP"]
        return {balancer.get("Flags", 0) for balancer in self.hns()["loadBalancers"] if address in balancer.get("FrontendVIPs", [])}

    def assert_seen(self, path, client):
        """That both backends are asked for the path by that address."""
        for name in ("on-linux", "on-windows"):
            address = self.get("service", name)["spec"]["clusterIP"]
            self.assertIn(name, self.answers(lambda url: self.exec("asks", FETCH, url), f"http://{address}/{path}").lower())
            self.eventually(lambda: [line for line in self.kubectl("logs", name).splitlines() if line.endswith(f" GET /{path}")], 20, "it is logged")
            for line in self.kubectl("logs", name).splitlines():
                if line.endswith(f" GET /{path}"):
                    self.assertEqual(line.split()[0].removeprefix("::ffff:"), client, f"{name}, {path}")


class NodeName(ProxyCase):
    def web(self):
        """A service with a backend on each Windows node; the pods of this one."""
        web = {"app": "web"}
        self.apply(web_server("here", web, nodeName=NODE), web_server("there", web, nodeName=OTHER_NODE), service("web", web, target=80))
        self.wait_ready("here")
        self.wait_ready("there")
        return {self.ip("here"): True, self.ip("there"): False}

    # SVC-25, LIM-44
    def test_a_proxy_without_a_name_takes_the_kubelets_and_local_pods_stay_local(self):
        wanted = self.web()
        self.eventually(lambda: self.backends("web") == wanted, 30, "the service is programmed")
        before = self.endpoints()
        with self.proxy(named=False) as log:
            self.eventually(lambda: f"kube-proxy started node={NODE} " in log(), 20, "the name is found")
            self.apply(service("second", {"app": "web"}, target=80))
            self.eventually(lambda: self.backends("second") == wanted, 30, "another service is programmed")
            self.assertEqual(self.endpoints(), before)
            self.assertEqual(self.backends("web"), wanted)
            self.assertIn("here", self.answers(lambda url: self.exec("here", FETCH, url), f"http://{self.ip('here')}/").lower())

    # TRB-07, SVC-25
    def test_a_proxy_with_another_name_than_the_kubelets_says_so_and_changes_nothing(self):
        wanted = self.web()
        self.eventually(lambda: self.backends("web") == wanted, 30, "the service is programmed")
        before = self.endpoints()
        other = next(entry["address"] for entry in self.node(OTHER_NODE)["status"]["addresses"] if entry["type"] == "InternalIP")
        for name, why, address in (("no-such-node", "waiting for the node in the API", "none"),
                                   (OTHER_NODE, "no adapter of this machine has the node's address in the API", other)):
            with self.subTest(name), self.proxy(f"--hostname-override={name}") as log:
                said = f"Z W kube-proxy: {why}; is --hostname-override right? node={name} address={address}"
                self.eventually(lambda: said in log(), 30, said)
                self.kubectl("delete", "service", "second", "--ignore-not-found")
                self.apply(service("second", {"app": "web"}, target=80))
                self.assertEqual((self.backends("second"), self.backends("web"), self.endpoints()), ({}, wanted, before))
        self.eventually(lambda: self.backends("second") == wanted, 30, "the proxy with the kubelet's name programs it")
        self.assertEqual(condition(self.node(), "Ready"), "True")


if __name__ == "__main__":
    unittest.main()
