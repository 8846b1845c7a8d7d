"""Cluster DNS at its one address, from every pod and from the node."""

import unittest

from harness import TOOLS, ClusterCase, run
from manifests import pod, service, web_pod

DNS = "10.96.0.10"
AT_ONCE = 4  # seconds, on a busy machine: nslookup itself asks a second time after five


class Dns(ClusterCase):
    def clients(self):
        self.apply(*[pod(f"client-{number}", nodeName=f"linux-{number}") for number in (1, 2)])
        return [self.wait_ready(f"client-{number}")["metadata"]["name"] for number in (1, 2)]

    def lookup(self, name, query="a", client=None, patience=10):
        """What nslookup prints within `patience` seconds, from a pod or from the node; it ends with 1 when the name is not there."""
        limit, words = ["timeout", str(patience)], ["nslookup", f"-type={query}", name]
        if client:
            return self.kubectl_run("exec", client, "--", *limit, *words, check=False).stdout
        return run(self.cluster.network.inside([*limit, str(TOOLS / "busybox"), *words, DNS]), check=False).stdout

    def full(self, name):
        return f"{name}.{self.namespace}.svc.cluster.local"

    def test_service_answers_by_every_form_of_its_name(self):
        self.apply(web_pod("web"), service("web", {"app": "web"}))
        clients = self.clients()
        self.wait_ready("web")
        for client in clients:
            for name in ("web", f"web.{self.namespace}", f"web.{self.namespace}.svc", self.full("web")):
                self.assertEqual(self.eventually(lambda: self.fetch_from_pod(client, f"http://{name}/"), 60), "web", name)

    def test_address_record_is_the_service_address_also_from_the_node(self):
        self.apply(service("web", {"app": "web"}))
        ip = self.get("service", "web")["spec"]["clusterIP"]
        self.eventually(lambda: f"Address: {ip}" in self.lookup(self.full("web")), 60)
        self.assertIn("Address: 10.96.0.1\n", self.lookup("kubernetes.default.svc.cluster.local"))

    def test_headless_service_lists_its_ready_pods(self):
        self.apply(*[web_pod(f"web-{number}", {"app": "web"}) for number in (1, 2)], service("web", {"app": "web"}, clusterIP="None"))
        ips = {self.wait_ready(f"web-{number}")["status"]["podIP"] for number in (1, 2)}
        self.eventually(lambda: all(f"Address: {ip}" in self.lookup(self.full("web")) for ip in ips), 60, f"both of {ips}")

    def test_pod_of_a_headless_service_has_a_name_of_its_own(self):
        self.apply(web_pod("first", {"app": "web"}, hostname="alpha", subdomain="web"), service("web", {"app": "web"}, clusterIP="None"))
        ip = self.wait_ready("first")["status"]["podIP"]
        self.eventually(lambda: f"Address: {ip}" in self.lookup("alpha." + self.full("web")), 60)
        self.assertEqual(self.exec("first", "hostname", "-f").strip(), "alpha." + self.full("web"))

    def test_service_record_names_port_and_target(self):
        self.apply(service("web", {"app": "web"}, port=1234))
        self.eventually(lambda: f"1234 {self.full('web')}" in self.lookup("_main._tcp." + self.full("web"), "srv"), 60)

    def test_external_name_is_an_alias(self):
        self.apply(web_pod("web"), service("web", {"app": "web"}),
                   {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "alias"},
                    "spec": {"type": "ExternalName", "externalName": self.full("web")}})
        client = self.clients()[0]
        self.wait_ready("web")
        self.assertEqual(self.eventually(lambda: self.fetch_from_pod(client, "http://alias/"), 60), "web")
        self.eventually(lambda: self.full("web") in self.lookup(self.full("alias"), "cname"), what="the node's DNS knows the alias")

    def test_pod_record_is_made_of_its_address(self):
        self.apply(pod("any"))
        ip = self.wait_ready("any")["status"]["podIP"]
        self.assertIn(f"Address: {ip}", self.lookup(f"{ip.replace('.', '-')}.{self.namespace}.pod.cluster.local"))

    def test_address_gives_the_name(self):
        ip = self.get("service", "kubernetes", namespaced=False)["spec"]["clusterIP"]
        reverse = ".".join(reversed(ip.split("."))) + ".in-addr.arpa"
        self.assertIn("kubernetes.default.svc.cluster.local", self.lookup(reverse, "ptr"))

    def test_unknown_names_are_denied_at_once(self):
        self.assertIn("NXDOMAIN", self.lookup(self.full("nobody"), patience=AT_ONCE))

    def test_name_elsewhere_fails_soon_without_an_uplink(self):
        for number, client in enumerate([None, *self.clients()]):
            text = self.lookup(f"www{number}.example.com", client=client, patience=AT_ONCE)
            self.assertRegex(text, "SERVFAIL|REFUSED", client or "node")
            self.assertNotIn("Name:", text)

    def test_pods_are_told_where_to_ask(self):
        client = self.clients()[0]
        text = self.exec(client, "cat", "/etc/resolv.conf")
        self.assertIn(f"nameserver {DNS}", text)
        self.assertIn(f"search {self.namespace}.svc.cluster.local svc.cluster.local cluster.local", text)
        self.assertIn("ndots:5", text)

    def test_pod_may_bring_its_own_settings(self):
        self.apply(pod("own", dnsPolicy="None", dnsConfig={"nameservers": ["192.0.2.53"], "searches": ["a.test"], "options": [{"name": "ndots", "value": "1"}]}))
        self.wait_ready("own")
        self.assertEqual(self.exec("own", "cat", "/etc/resolv.conf").split(), ["search", "a.test", "nameserver", "192.0.2.53", "options", "ndots:1"])

    def test_host_aliases_reach_the_hosts_file(self):
        self.apply(pod("aliased", hostAliases=[{"ip": "192.0.2.9", "hostnames": ["nine.test"]}]))
        ip = self.wait_ready("aliased")["status"]["podIP"]
        text = self.exec("aliased", "cat", "/etc/hosts")
        self.assertRegex(text, r"192\.0\.2\.9\s+nine\.test")
        self.assertRegex(text, rf"{ip}\s+aliased")


if __name__ == "__main__":
    unittest.main()
