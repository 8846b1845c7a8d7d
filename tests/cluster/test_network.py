"""Traffic: pod to pod, services of every type, node ports and host ports, and packets that nobody takes."""

import collections
import json
import re
import sys
import unittest

from harness import ClusterCase, as_list, run
from manifests import container, pod, service, web_pod

UNUSED_NODE_PORT = 30066  # of those that a service gets only where it asks for it: other tests have services at the same time


class NetworkCase(ClusterCase):
    def start(self, *objects):
        self.apply(*objects)
        for found in objects:
            if found["kind"] == "Pod":
                self.wait_ready(found["metadata"]["name"])

    def web_on_both_nodes(self, **service_fields):
        """Pods web-1 on linux-1 and web-2 on linux-2 behind service `web`; and a client on each node."""
        self.start(*[web_pod(f"web-{number}", {"app": "web"}, nodeName=f"linux-{number}") for number in (1, 2)],
                   *[pod(f"client-{number}", nodeName=f"linux-{number}") for number in (1, 2)],
                   service("web", {"app": "web"}, **service_fields))
        spec = self.get("service", "web")["spec"]
        if spec["internalTrafficPolicy"] == "Cluster":
            self.wait_endpoints(spec["clusterIP"], "web-1", "web-2")
        return spec

    def wait_endpoints(self, service_ip, *pods):
        """Until the proxy of each node leads from the service to all of them: it learns of one after the other, and each on its own."""
        wanted = {self.ip(name) for name in pods}
        beside = ["nsenter", f"--net=/run/netns/porthole-{self.cluster.id}-linux-2"]
        for inside in (self.cluster.network.inside, lambda words: [*beside, *words]):
            def known():
                rules = run(inside(["nft", "list", "map", "ip", "porthole-proxy", "endpoints-tcp"])).stdout
                return set(re.findall(rf"\b{re.escape(service_ip)} \. \S+ \. \S+ : (\S+) \. ", rules)) == wanted
            self.eventually(known, what=f"{service_ip} leads to {wanted}")

    def ip(self, name):
        return self.get("pod", name)["status"]["podIP"]

    def node_addresses(self):
        nodes = self.kubectl("get", "nodes", "-o", "json", namespaced=False)
        return [address["address"] for node in json.loads(nodes)["items"] for address in node["status"]["addresses"]
                if address["type"] == "InternalIP"]

    def answers(self, fetch, url, count=20):
        """How often each pod answered; a request may fail only before the rules are there."""
        self.eventually(lambda: fetch(url), 60, f"{url} answers")
        return collections.Counter(fetch(url, count).split())

    def from_pod(self, name):
        return lambda url, times=1: self.fetch_from_pod(name, url, times)

    def connect_from_node(self, address, port, kind="tcp"):
        """(seconds, error name) of a connection attempt inside the cluster's namespace."""
        script = f"""
import socket, time, errno
start = time.monotonic(); error = ""
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM if {kind!r} == "tcp" else socket.SOCK_DGRAM)
client.settimeout(5)
try:
    client.connect(({address!r}, {port}))
    if {kind!r} == "udp": client.send(b"x"); client.recv(1)
except TimeoutError: error = "timeout"
except OSError as failure: error = errno.errorcode[failure.errno]
print(time.monotonic() - start, error or "open")
"""
        seconds, error = run(self.cluster.network.inside([sys.executable, "-c", script])).stdout.split()
        return float(seconds), error


class Pods(NetworkCase):
    def test_pods_reach_each_other_on_the_same_and_on_the_other_node(self):
        self.web_on_both_nodes()
        for client in ("client-1", "client-2"):
            for server in ("web-1", "web-2"):
                self.assertEqual(self.fetch_from_pod(client, f"http://{self.ip(server)}:8080/"), server)

    def test_pod_sees_the_real_address_of_its_peer(self):
        self.start(pod("see", container(script="while :; do nc -l -p 9000 -e netstat -tn; done"), nodeName="linux-1"),
                   pod("peer", nodeName="linux-2"))
        see = self.ip("see")
        text = self.eventually(lambda: self.exec("peer", "sh", "-c", f"timeout 5 nc {see} 9000 < /dev/null"), what="somebody listens")
        self.assertIn(self.ip("peer"), text)

    def test_node_reaches_pods_on_every_node(self):
        self.web_on_both_nodes()
        for server in ("web-1", "web-2"):
            self.assertEqual(self.fetch_from_node(f"http://{self.ip(server)}:8080/"), server)

    def test_host_network_pod_has_the_nodes_address(self):
        self.start(pod("host", hostNetwork=True, nodeName="linux-1"))
        found = self.get("pod", "host")["status"]
        self.assertEqual(found["podIP"], found["hostIP"])

    def test_host_port_answers_on_its_node(self):
        serving = web_pod("web")["spec"]["containers"][0]
        serving["ports"] = [{"containerPort": 8080, "hostPort": 14444}]
        self.start(pod("mapped", serving, nodeName="linux-2"), pod("client", nodeName="linux-1"))
        address = self.get("pod", "mapped")["status"]["hostIP"]
        self.assertEqual(self.fetch_from_pod("client", f"http://{address}:14444/"), "mapped")
        self.assertEqual(self.fetch_from_node(f"http://{address}:14444/"), "mapped")


class Services(NetworkCase):
    def test_cluster_ip_spreads_over_all_ready_pods_from_everywhere(self):
        ip = self.web_on_both_nodes()["clusterIP"]
        for fetch in (self.from_pod("client-1"), self.from_pod("client-2"), self.fetch_from_node):
            self.assertEqual(set(self.answers(fetch, f"http://{ip}/", 24)), {"web-1", "web-2"})

    def test_pod_reaches_itself_through_its_service(self):
        self.start(web_pod("web"), service("web", {"app": "web"}))
        ip = self.get("service", "web")["spec"]["clusterIP"]
        self.assertEqual(self.answers(self.from_pod("web"), f"http://{ip}/", 3), {"web": 3})

    def test_pod_that_is_not_ready_gets_nothing(self):
        ip = self.web_on_both_nodes()["clusterIP"]
        self.exec("web-1", "mv", "/tmp/www/index.html", "/tmp/www/gone.html")
        self.eventually(lambda: set(self.answers(self.fetch_from_node, f"http://{ip}/", 12)) == {"web-2"}, 60, "only web-2 answers")
        self.exec("web-1", "mv", "/tmp/www/gone.html", "/tmp/www/index.html")
        self.eventually(lambda: set(self.answers(self.fetch_from_node, f"http://{ip}/", 12)) == {"web-1", "web-2"}, 60, "both answer")

    def test_session_affinity_keeps_a_client_with_one_pod(self):
        ip = self.web_on_both_nodes(sessionAffinity="ClientIP")["clusterIP"]
        for client in ("client-1", "client-2"):
            self.assertEqual(len(self.answers(self.from_pod(client), f"http://{ip}/", 12)), 1)

    def test_node_port_answers_on_every_node(self):
        port = self.web_on_both_nodes(type="NodePort")["ports"][0]["nodePort"]
        self.assertTrue(30000 <= port <= 32767)
        for address in self.node_addresses():
            self.assertEqual(set(self.answers(self.fetch_from_node, f"http://{address}:{port}/")), {"web-1", "web-2"})
            # A client's node port may lead it back to a pod on its own node, through the port of the switch from which it came.
            for client in ("client-1", "client-2"):
                self.assertEqual(set(self.answers(self.from_pod(client), f"http://{address}:{port}/")), {"web-1", "web-2"})

    def test_external_traffic_policy_local_stays_on_the_node(self):
        port = self.web_on_both_nodes(type="NodePort", externalTrafficPolicy="Local")["ports"][0]["nodePort"]
        address = self.get("pod", "web-2")["status"]["hostIP"]
        self.assertEqual(set(self.answers(self.fetch_from_node, f"http://{address}:{port}/")), {"web-2"})

    def test_internal_traffic_policy_local_stays_on_the_node(self):
        ip = self.web_on_both_nodes(internalTrafficPolicy="Local")["clusterIP"]
        for number in (1, 2):
            self.assertEqual(set(self.answers(self.from_pod(f"client-{number}"), f"http://{ip}/", 8)), {f"web-{number}"})

    def test_external_ip_is_served(self):
        self.web_on_both_nodes(externalIPs=["198.51.100.7"])
        self.assertEqual(set(self.answers(self.from_pod("client-1"), "http://198.51.100.7/")), {"web-1", "web-2"})

    def test_udp_reaches_every_pod(self):
        serve = lambda number: pod(f"udp-{number}", container(script="exec udp serve 5353"), labels={"app": "udp"}, nodeName=f"linux-{number}")
        self.start(serve(1), serve(2), pod("client"), service("udp", {"app": "udp"}, port=5353, target=5353, protocol="UDP"))
        ip = self.get("service", "udp")["spec"]["clusterIP"]
        ask = lambda: self.exec("client", "udp", "ask", ip, "5353", "hello").strip()
        self.eventually(lambda: {ask() for _ in range(16)} == {"udp-1 hello", "udp-2 hello"}, what="both answer")

    def test_addresses_and_ports_are_given_once_and_come_back(self):
        self.apply(service("one", {"app": "x"}))
        ip = self.get("service", "one")["spec"]["clusterIP"]
        taken = service("two", {"app": "x"}, clusterIP=ip)
        self.assertIn("provided IP is already allocated", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(taken)))
        outside = service("two", {"app": "x"}, clusterIP="10.244.0.77")
        self.assertIn("not in the valid range", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(outside)))
        self.kubectl("delete", "service", "one")
        self.eventually(lambda: self.kubectl_run("create", "-f", "-", stdin=json.dumps(taken), check=False).returncode == 0, 60)

    def test_endpoints_list_ready_pods(self):
        self.web_on_both_nodes()
        wanted = {self.ip("web-1"), self.ip("web-2")}
        listed = lambda: {address["ip"] for subset in self.get("endpoints", "web", warnings=True).get("subsets", []) for address in subset.get("addresses", [])}
        self.eventually(lambda: listed() == wanted, 60, "endpoints")
        slices = lambda: self.list("endpointslices", "kubernetes.io/service-name=web")
        sliced = lambda: {address for found in slices() for endpoint in found["endpoints"] for address in endpoint["addresses"]}
        self.eventually(lambda: sliced() == wanted, what="endpoint slices")

    def test_many_services_and_one_change_are_quick(self):
        self.start(web_pod("web"), pod("client"))
        many = [service(f"many-{number}", {"app": "web"}) for number in range(200)]
        self.kubectl("create", "-f", "-", stdin=as_list(many), seconds=300)
        ip = self.get("service", "many-199")["spec"]["clusterIP"]
        self.assertEqual(self.eventually(lambda: self.fetch_from_pod("client", f"http://{ip}/"), 60), "web")


class Unreachable(NetworkCase):
    """A packet for a pod, service or node-port range that no rule takes is answered on the node."""

    def test_unknown_service_address_is_refused_at_once(self):
        for address in ("10.96.0.200", "10.111.255.2"):  # services get no address of the first 256 unless they ask for it
            seconds, error = self.connect_from_node(address, 80)
            self.assertIn(error, ("EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED"))
            self.assertLess(seconds, 3)

    def test_unknown_pod_address_is_refused_at_once(self):
        seconds, error = self.connect_from_node("10.244.250.9", 80)
        self.assertIn(error, ("EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED"))
        self.assertLess(seconds, 3)

    def test_service_without_ready_pods_refuses_at_once(self):
        self.start(pod("client"), service("empty", {"app": "nobody"}))
        ip = self.get("service", "empty")["spec"]["clusterIP"]
        self.eventually(lambda: self.connect_from_node(ip, 80)[1] in ("ECONNREFUSED", "EHOSTUNREACH"), 60)
        # Its own proxy may hear of the service later than the other node's. An address that nobody has is told after three seconds.
        ask = ("exec", "client", "--", "timeout", "2", "wget", "-qO-", f"http://{ip}/")
        self.eventually(lambda: re.search("(?i)refused|unreachable|no route", self.kubectl_fails(*ask)), what="the pod is refused at once")

    def test_unused_node_port_is_refused_at_once(self):
        for address in self.node_addresses():
            seconds, error = self.connect_from_node(address, UNUSED_NODE_PORT)
            self.assertIn(error, ("ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"))
            self.assertLess(seconds, 3)


if __name__ == "__main__":
    unittest.main()
