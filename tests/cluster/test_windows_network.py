"""Networking of Windows nodes as the requirements number it: addresses, services, names, and what a host keeps of them.

The cluster is that of the worked example: pods in 192.168.0.0/16, one Linux and two Windows nodes; cluster DNS with an address and a
domain of its own. A third Windows node is of the oldest build that can be one.
"""

import ipaddress
import json
import pathlib
import re
import shutil
import socketserver
import struct
import subprocess
import sys
import tempfile
import unittest

import yaml

from harness import CLIENTS, PORTHOLE, ROOT, TOOLS, SharedCluster, needs_newest_kubectl, run, slow
from manifests import PAGE, PROBE_SECONDS, container, pod, service
from test_windows_node import WindowsCase, web_server, windows_pod
from windows_probe_case import ProbeCase

import windows_probe  # the harness knows where

FETCH = "C:\\web\\fetch.exe"
DNS, DOMAIN = "10.96.0.53", "corp.example"
PODS, SERVICES, MACHINES = (ipaddress.ip_network(text) for text in ("192.168.0.0/16", "10.96.0.0/12", "10.89.0.0/24"))
EXAMPLE = SharedCluster("linux=1,windows=2,windows=1:1809", "--cluster-cidr", str(PODS), "--service-cidr", str(SERVICES),
                        "--node-cidr", str(MACHINES), "--cluster-dns", DNS, "--cluster-domain", DOMAIN)
NODES = ("linux-1", "windows-1", "windows-2")
OLDER = "windows-3"  # its host network service has neither direct server return nor session affinity, and 64 backends a load balancer
OUTSIDE = "10.89.0.200"  # a machine that is no node
CNI = "k/cni/config"


def linux_server(name, labels, **fields):
    """On the port that the Windows web server has, so that one service leads to both."""
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "timeoutSeconds": PROBE_SECONDS}
    serving = container(script=PAGE.replace("8080", "80"), readinessProbe=probe)
    return pod(name, serving, labels=labels, **fields)


class NetworkCase(WindowsCase):
    shared = EXAMPLE

    def host(self, node, *command, check=True):
        """Runs a program on an emulated host, as its administrator."""
        words = [PORTHOLE, "winhost", "exec", "--data", self.cluster.data / "nodes" / node, "--", *command]
        return run(self.cluster.network.inside(words), seconds=120, env=self.cluster.environment(), check=check)

    def drive(self, node):
        return self.cluster.data / "nodes" / node / "C"

    def service_command(self, node, name):
        """The command line under which a service of the host runs."""
        return self.host(node, "cmd", "/c", "reg", "query", f"HKLM\\System\\CurrentControlSet\\Services\\{name}", "/v", "ImagePath").stdout

    def hns(self, node):
        return json.loads(self.host(node, "porthole.exe", "hns", "list", "-o", "json").stdout)

    def endpoint(self, node, address):
        """The HNS endpoint of a pod."""
        return next(found for found in self.hns(node)["endpoints"] if found["IpConfigurations"][0]["IpAddress"] == address)

    def nodes(self):
        return {node["metadata"]["name"]: node for node in json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]}

    def from_windows(self, name):
        return lambda url: self.exec(name, FETCH, url)

    def one_server_a_node(self, labels):
        self.apply(linux_server("web-linux-1", labels, nodeName="linux-1"),
                   *[web_server(f"web-{node}", labels, nodeName=node) for node in NODES[1:]])
        for node in NODES:
            self.wait_ready(f"web-{node}")

    def clients(self):
        return {"linux pod": self.linux_client(), "linux node": self.fetch_from_node,
                **{f"pod on {node}": self.from_windows(f"web-{node}") for node in NODES[1:]}}

    def assert_all_answer(self, fetch, url, names, seconds=60):
        seen = set()

        def all_seen():
            seen.update(re.findall(r"web-(?:linux|windows)-\d", fetch(url).lower()))
            return seen == set(names)

        self.eventually(all_seen, seconds, f"{names} answer at {url}")


class Addresses(NetworkCase):
    # NET-01, NET-05, IPM-01, LIM-62
    def test_the_worked_example_has_its_three_ranges(self):
        nodes = self.nodes()
        ranges = {name: node["spec"]["podCIDR"] for name, node in nodes.items()}
        self.assertEqual(ranges["linux-1"], "192.168.0.0/24")
        self.assertEqual(set(ranges.values()), {f"192.168.{number}.0/24" for number in range(4)})
        for node in nodes.values():
            self.assertEqual(node["spec"]["podCIDRs"], [node["spec"]["podCIDR"]])
            address = next(entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP")
            self.assertIn(ipaddress.ip_address(address), MACHINES)
        # Nobody told a node its range: it is what the API says.
        for name in (*NODES[1:], OLDER):
            told = self.host(name, "cmd", "/c", "type", "C:\\run\\flannel\\subnet.env").stdout
            self.assertIn(f"FLANNEL_NETWORK={PODS}", told)
            self.assertIn(f"FLANNEL_SUBNET={ranges[name].replace('.0/', '.1/')}", told)
        self.apply(service("web", {"app": "web"}))
        self.assertIn(ipaddress.ip_address(self.get("service", "web")["spec"]["clusterIP"]), SERVICES)

    # NET-05
    @slow
    def test_all_pods_of_the_worked_example_reach_each_other(self):
        self.one_server_a_node({"app": "web"})
        clients = self.clients()
        found = self.nodes()
        for node, range_ in ((name, ipaddress.ip_network(found[name]["spec"]["podCIDR"])) for name in NODES):
            address = self.ip(f"web-{node}")
            self.assertIn(ipaddress.ip_address(address), range_)
            for client, fetch in clients.items():
                with self.subTest(f"{client} to the pod on {node}"):
                    self.assertIn(f"web-{node}", self.answers(fetch, f"http://{address}/").lower())

    # NET-12
    def test_the_linux_node_has_a_bridge_and_a_route_for_each_other_node(self):
        addresses = {name: (node["spec"]["podCIDR"], node["status"]["addresses"][0]["address"]) for name, node in self.nodes().items()}
        routes = lambda: {one["dst"]: one for one in json.loads(run(["ip", "-n", self.cluster.network.name, "-json", "route"]).stdout)}
        for name in NODES[1:]:
            self.eventually(lambda: routes()[addresses[name][0]].get("gateway") == addresses[name][1], 20, f"a route to the pods of {name}")
        self.apply(pod("any", nodeName="linux-1"))
        self.wait_ready("any")
        bridge = routes()[addresses["linux-1"][0]]["dev"]
        self.assertEqual(json.loads(run(["ip", "-n", self.cluster.network.name, "-json", "-d", "link", "show", bridge]).stdout)[0]
                         ["linkinfo"]["info_kind"], "bridge")


class Plugins(NetworkCase):
    def write_configuration(self, node, name, text):
        path = self.drive(node) / CNI / name
        path.write_text(text)
        self.addCleanup(path.unlink, missing_ok=True)

    def own_configuration(self, node, **changes):
        return json.loads((self.drive(node) / CNI / "10-porthole.conf").read_text()) | changes

    # NET-33, NET-43, DNS-08
    def test_an_edited_configuration_counts_for_the_pods_after_it(self):
        node = "windows-1"
        self.apply(web_server("before", nodeName=node))
        self.wait_ready("before")
        former = self.endpoint(node, self.ip("before"))
        kubelet = self.process_on(node, "kubelet.exe")
        self.assertTrue(kubelet)
        # Sorted first, with what runtimes do not know: a suffix of the administrator's own, behind those of the pod.
        edited = self.own_configuration(node, dns={"nameservers": [DNS], "search": ["edited.example"]}, capabilities={"portMappings": True})
        self.write_configuration(node, "05-edited.conf", json.dumps(edited))
        self.apply(web_server("after", nodeName=node))
        self.wait_ready("after")
        self.assertIn("edited.example", json.dumps(self.endpoint(node, self.ip("after"))["Dns"]))
        self.assertEqual(self.endpoint(node, self.ip("before"))["Dns"], former["Dns"])
        self.assertEqual(self.process_on(node, "kubelet.exe"), kubelet, "the kubelet was not restarted")

    # NET-33
    def test_a_broken_configuration_is_named_and_a_corrected_one_works(self):
        node = "windows-1"
        self.write_configuration(node, "05-broken.conf", json.dumps(self.own_configuration(node, type="no-such-plugin")))
        self.apply(web_server("web", nodeName=node))
        self.wait_event("FailedCreatePodSandBox", "no-such-plugin", 60)
        (self.drive(node) / CNI / "05-broken.conf").unlink()
        self.wait_ready("web")

    def use_flannels_plugin(self, node):
        own = self.own_configuration(node)
        delegate = {key: own[key] for key in ("type", "apiVersion", "dns", "policies", "loopbackDSR")}
        self.write_configuration(node, "05-flannel.conf", json.dumps(
            {"cniVersion": "0.3.1", "name": own["name"], "type": "flannel", "capabilities": own["capabilities"], "delegate": delegate}))

    # NET-15
    def test_flannels_meta_plugin_gives_pods_of_the_nodes_range(self):
        node = "windows-2"
        self.use_flannels_plugin(node)
        self.apply(web_server("web", nodeName=node))
        self.wait_ready("web")
        address = self.ip("web")
        self.assertIn(ipaddress.ip_address(address), ipaddress.ip_network(self.nodes()[node]["spec"]["podCIDR"]))
        kept = self.drive(node) / "var/lib/cni/flannel"
        self.assertEqual(len(list(kept.iterdir())), 1)
        self.assertIn("web", self.answers(self.linux_client(), f"http://{address}/"))
        self.kubectl("delete", "pod", "web")
        self.eventually(lambda: not list(kept.iterdir()), 30, "what was delegated is undone")
        self.assertFalse((self.drive(node) / "var/lib/cni/networks/cbr0" / address).exists())

    # TRB-10
    def test_a_missing_subnet_file_is_named_with_the_daemon_and_the_remedy(self):
        node = "windows-2"
        self.use_flannels_plugin(node)
        self.host(node, "net", "stop", "flanneld")
        try:
            self.eventually(lambda: not self.process_on(node, "flanneld.exe"), 20, "it has stopped")
            (self.drive(node) / "run/flannel/subnet.env").unlink()
            self.apply(web_server("web", nodeName=node))
            told = self.wait_event("FailedCreatePodSandBox", "subnet.env")
        finally:
            self.host(node, "net", "start", "flanneld")
        self.assert_names_what_helps(told["message"], "/run/flannel/subnet.env")
        self.wait_ready("web")

    # TRB-10
    def test_the_plugin_for_linux_names_a_missing_subnet_file_too(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.cluster.folder))
        (folder / "flannel").symlink_to(PORTHOLE)
        asked = {"cniVersion": "1.0.0", "name": "cbr0", "type": "flannel", "subnetFile": str(folder / "subnet.env")}
        done = run([folder / "flannel"], stdin=json.dumps(asked), check=False, env={
            "CNI_COMMAND": "ADD", "CNI_CONTAINERID": "any", "CNI_NETNS": "/proc/self/ns/net", "CNI_IFNAME": "eth0", "CNI_PATH": str(folder)})
        self.assertNotEqual(done.returncode, 0)
        self.assert_names_what_helps(json.loads(done.stdout)["msg"], asked["subnetFile"])

    def assert_names_what_helps(self, message, path):
        for text in (path, "the subnet daemon (flanneld) has not written it: see its log", "By hand: write ", "FLANNEL_SUBNET"):
            self.assertIn(text, message)

    # NET-44, HNS-11, LIM-50
    def test_the_runtime_calls_the_plugins_that_are_released(self):
        node = "windows-1"
        self.apply(web_server("web", nodeName=node))
        self.wait_ready("web")
        kubelet = self.service_command(node, "kubelet")
        self.assertIn("--container-runtime-endpoint=npipe:", kubelet)
        self.assertNotRegex(kubelet, "cni|network-plugin")
        endpoint = self.endpoint(node, self.ip("web"))
        self.assertRegex(endpoint["Name"], "^[0-9a-f]{32,64}_cbr0$")  # named for the sandbox of the runtime
        for name in ("win-bridge.exe", "win-overlay.exe", "flannel.exe", "host-local.exe"):
            self.assertTrue((self.drive(node) / "k/cni" / name).exists(), name)


class Host(NetworkCase):
    # HNS-15, CLI-10
    def test_what_the_host_keeps_is_listed(self):
        node = "windows-1"
        self.apply(web_server("web", nodeName=node), service("web", {"app": "web"}, target=80))
        self.wait_ready("web")
        address = self.get("service", "web")["spec"]["clusterIP"]
        text = self.eventually(lambda: (lambda listed: listed if address in listed else None)(
            self.host(node, "porthole.exe", "hns", "list").stdout), 30, "the service is programmed")
        self.assertRegex(text, r"(?i)networks: 1\n(.*\n)+ +cbr0 +L2Bridge")
        self.assertRegex(text, rf"{re.escape(self.ip('web'))}")
        for heading in ("endpoints", "namespaces", "load balancers"):
            self.assertRegex(text.lower(), f"{heading}: [1-9]")
        only = json.loads(self.host(node, "porthole.exe", "hns", "list", "--name", "cbr0", "-o", "json").stdout)
        self.assertEqual([network["Name"] for network in only["networks"]], ["cbr0"])
        printed = yaml.safe_load(self.host(node, "porthole.exe", "hns", "list", "--name", "cbr0", "-o", "yaml").stdout)
        self.assertEqual(printed["networks"], only["networks"])

    # HNS-12, DNS-07
    def test_names_and_routes_are_settings_of_the_pods_own_compartment(self):
        node = "windows-1"
        own = {"nameservers": ["192.0.2.53"], "searches": ["first.example"]}
        self.apply(web_server("plain", nodeName=node), web_server("own", nodeName=node, dnsPolicy="None", dnsConfig=own))
        self.wait_ready("plain")
        self.wait_ready("own")
        plain, other = (self.endpoint(node, self.ip(name)) for name in ("plain", "own"))
        self.assertNotEqual(plain["HostComputeNamespace"], other["HostComputeNamespace"])
        self.assertEqual(plain["Dns"]["ServerList"], [DNS])
        self.assertEqual(plain["Dns"]["Search"][0], f"{self.namespace}.svc.{DOMAIN}")
        self.assertEqual((other["Dns"]["ServerList"], other["Dns"]["Search"]), (own["nameservers"], own["searches"]))
        gateway = self.nodes()[node]["spec"]["podCIDR"].replace(".0/24", ".2")
        self.assertEqual([(route["DestinationPrefix"], route["NextHop"]) for route in plain["Routes"]], [("0.0.0.0/0", gateway)])
        self.assertIn(gateway, self.exec("plain", "ipconfig"))
        shown = self.exec("own", "ipconfig", "/all")
        self.assertRegex(shown, r"DNS Servers \. .* : 192\.0\.2\.53\s")
        key = "HKLM\\System\\CurrentControlSet\\Services\\Tcpip\\Parameters"
        self.assertRegex(self.exec("own", "reg", "query", key, "/v", "SearchList"), r"SearchList\s+REG_SZ\s+first\.example\s")
        self.assertRegex(shown, r"DNS Suffix Search List\. .* : first\.example\s")
        # No file is mapped into the container for it.
        hosts = self.exec("own", "cmd", "/c", "dir", "C:\\windows\\system32\\drivers\\etc")
        self.assertNotIn("resolv", hosts.lower())

    # SVC-06, SVC-32
    def test_kube_proxy_names_what_it_needs(self):
        refused = self.host("windows-1", "kube-proxy.exe", "--kubeconfig=C:\\k\\config", "--logtostderr=true", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Environment variable KUBE_NETWORK and network-flag not initialized", refused.stderr)
        told = self.host("windows-1", "kube-proxy.exe", "--help").stdout
        for flag in ("v", "proxy-mode", "hostname-override", "kubeconfig", "master", "bind-address", "network-name", "source-vip", "enable-dsr",
                     "cluster-cidr", "feature-gates", "log-dir", "logtostderr", "windows-service", "config"):
            self.assertIn(f"--{flag}", told)
        self.assertIn("--network-name=cbr0", self.service_command("windows-1", "kube-proxy"))

    # SVC-11
    def test_direct_server_return_without_its_gate_or_on_a_build_without_it_ends_kube_proxy(self):
        words = ["kube-proxy.exe", "--kubeconfig=C:\\k\\config", f"--hostname-override={OLDER}", "--network-name=cbr0", "--enable-dsr=true",
                 "--healthz-port=0"]
        for more, cause in ((["--feature-gates=WinDSR=false"], "WinDSR feature gate not enabled"),
                            ([], "Platform does not support feature DSR: the host network service has version 9.2")):
            with self.subTest(cause):
                refused = self.host(OLDER, *words, *more, check=False)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(cause, refused.stderr)


class Services(NetworkCase):
    # SVC-04, SVC-27
    def test_a_service_leads_to_backends_of_both_systems_from_everywhere(self):
        web = {"app": "web"}
        self.one_server_a_node(web)
        self.apply(service("web", web, target=80, type="NodePort"))
        found = self.get("service", "web")["spec"]
        linux = self.nodes()["linux-1"]["status"]["addresses"][0]["address"]
        for client, fetch in self.clients().items():
            with self.subTest(client):
                self.assert_all_answer(fetch, f"http://{found['clusterIP']}/", [f"web-{node}" for node in NODES])
        with self.subTest("node port of the Linux node"):
            self.assert_all_answer(self.fetch_from_node, f"http://{linux}:{found['ports'][0]['nodePort']}/", [f"web-{node}" for node in NODES])

    # PRV-08, SVC-01
    def test_services_without_a_selector_reach_a_machine_outside_the_cluster(self):
        outside, switch = f"porthole-{self.cluster.id}-outside", f"porthole-{self.cluster.id}-switch"
        run(["ip", "netns", "add", outside])
        self.addCleanup(run, ["ip", "netns", "delete", outside])
        run(["ip", "-n", switch, "link", "add", f"o{self.cluster.id}", "master", "switch", "up", "type", "veth", "peer", "eth0", "netns", outside])
        run(["ip", "-n", outside, "address", "add", f"{OUTSIDE}/24", "dev", "eth0"])
        run(["ip", "-n", outside, "link", "set", "eth0", "up"])
        run(["ip", "-n", outside, "route", "add", "default", "via", str(MACHINES[1])])
        page = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-", dir=self.cluster.folder))
        (page / "index.html").write_text("a machine of its own")
        server = subprocess.Popen(["nsenter", f"--net=/run/netns/{outside}", str(TOOLS / "busybox"), "httpd", "-f", "-p", "8080", "-h", str(page)])
        self.addCleanup(server.wait, 10)
        self.addCleanup(server.terminate)
        self.apply(service("database", port=80, target=8080),
                   {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                    "metadata": {"name": "database-1", "labels": {"kubernetes.io/service-name": "database"}},
                    "ports": [{"name": "main", "port": 8080}], "endpoints": [{"addresses": [OUTSIDE]}]},
                   {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "alias"},
                    "spec": {"type": "ExternalName", "externalName": f"database.{self.namespace}.svc.{DOMAIN}"}},
                   web_server("web-windows-1", nodeName="windows-1"))
        self.wait_ready("web-windows-1")
        for client, fetch in (("linux pod", self.linux_client()), ("windows pod", self.from_windows("web-windows-1"))):
            for name in ("database", "alias"):
                with self.subTest(f"{client} to {name}"):
                    self.assertIn("a machine of its own", self.answers(fetch, f"http://{name}/", 60))

    # SVC-12, SVC-13, SVC-14, LIM-21
    def test_affinity_holds_where_windows_has_it_and_what_has_no_effect_is_told(self):
        web = {"app": "web"}
        self.apply(web_server("asks", nodeName=OLDER))
        self.one_server_a_node(web)
        sticky = service("web", web, target=80, sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}})
        self.kubectl("apply", "-f", "-", stdin=json.dumps(sticky), warnings=True)
        address = self.get("service", "web")["spec"]["clusterIP"]
        self.eventually(lambda: self.ready_endpoints("web") == 3, 30, "three endpoints")
        for client, fetch in self.clients().items():
            with self.subTest(client):
                self.answers(fetch, f"http://{address}/", 60)
                # A proxy may just have taken the last endpoint in, after which another backend may be the one that stays.
                same = lambda: len({fetch(f"http://{address}/").strip() for _ in range(8)}) == 1
                self.assertTrue(same() or same(), "another backend each time")
        self.wait_ready("asks")
        self.assert_all_answer(self.from_windows("asks"), f"http://{address}/", [f"web-{node}" for node in NODES])
        self.assert_told("SessionAffinityTimeoutIgnored", "no effect on Windows", *NODES[1:])
        self.assert_told("SessionAffinityUnsupported", "Session Affinity is not supported on this version of Windows", OLDER)

    def assert_told(self, reason, text, *nodes):
        """By an event of the service "web" and in the logs of those nodes' proxies, and in no other's."""
        told = lambda: [event["type"] for event in self.list("events") if (event["reason"], event["involvedObject"]["kind"]) == (reason, "Service")
                        and event["involvedObject"]["name"] == "web" and text in event["message"]]
        self.assertEqual(set(self.eventually(told, 60, f"event {reason}")), {"Warning"})
        says = lambda name: [line for line in (self.drive(name) / "k/logs/kube-proxy.log").read_text().splitlines()
                             if f"{self.namespace}/web" in line and reason in line]
        self.assertEqual({name for name in (*NODES[1:], OLDER) if says(name)}, set(nodes))

    # SVC-16, SVC-17, LIM-14
    def test_local_traffic_policy_needs_direct_server_return_and_is_cluster_without(self):
        for node, name in ((NODES[1], "web"), (NODES[2], "elsewhere")):
            local = service(name, {"app": name}, target=80, type="NodePort", externalTrafficPolicy="Local")
            self.kubectl("apply", "-f", "-", stdin=json.dumps(local), warnings=True)
            self.apply(web_server(name, nodeName=node))
        self.apply(web_server("resident", nodeName=OLDER))  # a host without pods answers no node port
        for name in ("web", "elsewhere", "resident"):
            self.wait_ready(name)
        addresses = {name: node["status"]["addresses"][0]["address"] for name, node in self.nodes().items()}
        at = lambda node, name: f"http://{addresses[node]}:{self.get('service', name)['spec']['ports'][0]['nodePort']}/asked-at-{node}"
        self.assertIn("host: web", self.answers(self.fetch_from_node, at(NODES[1], "web")).lower())
        self.assertIn("host: web", self.answers(self.fetch_from_node, at(OLDER, "web")).lower(), "it acts as Cluster")
        self.assertIn("host: elsewhere", self.answers(self.fetch_from_node, at(OLDER, "elsewhere")).lower(), "it acts as Cluster")
        with self.assertRaisesRegex(AssertionError, "refused"):
            self.fetch_from_node(at(NODES[1], "elsewhere"))
        self.assert_told("LocalTrafficPolicyNeedsDSR", "Local acts as Cluster", OLDER)
        asked = {line.split("asked-at-")[1]: line.split()[0].removeprefix("::ffff:")
                 for line in self.kubectl("logs", "web").splitlines() if "asked-at-" in line}
        self.assertEqual(asked, {NODES[1]: addresses["linux-1"], OLDER: addresses[OLDER]}, "the client's address, and the node's")

    # SVC-21, LIM-11
    def test_a_node_of_an_older_build_uses_64_backends_its_own_first_and_the_same_ones_later(self):
        self.apply(service("web", target=80), web_server("own", nodeName=OLDER))
        self.wait_ready("own")
        own, others = self.ip("own"), [f"192.168.0.{number}" for number in range(101, 171)]  # that sort before its own
        self.put_backends([*others, own])
        self.eventually(lambda: len(self.backends(OLDER)) == 64, 60, "64 backends")
        first = self.backends(OLDER)
        self.assertIn(own, first)
        self.assertLess(first, {*others, own})
        self.eventually(lambda: self.backends(NODES[1]) == {*others, own}, 60, "a newer build uses all")
        linux = lambda: run(self.cluster.network.inside(["nft", "list", "ruleset"])).stdout
        self.eventually(lambda: {*others, own} <= set(re.findall(r"192\.168\.\d+\.\d+", linux())), 30, "Linux uses all")
        self.assert_told("TooManyBackends", "64 of 71 backends are used", OLDER)
        self.put_backends([own, *reversed(others), "192.168.0.171"])
        self.eventually(lambda: len(self.backends(NODES[1])) == 72, 60, "one more")
        self.wait_event("TooManyBackends", "64 of 72")
        now = self.backends(OLDER)
        self.assertEqual(len(now), 64)
        self.assertLessEqual(len(first - now), 1, "only the new one may take the place of another")

    def put_backends(self, addresses):
        """As those of the service "web". Only the pod's own is of the older node."""
        node_of = lambda address: "linux-1" if address.startswith("192.168.0.") else OLDER
        self.apply({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                    "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}}, "ports": [{"name": "main", "port": 80}],
                    "endpoints": [{"addresses": [address], "nodeName": node_of(address)} for address in addresses]})

    def balancers(self, node, listed=None):
        """Load balancers of services of this test on a host, cluster address → document, ids in lower case."""
        ours = {found["spec"]["clusterIP"] for found in self.list("services")}
        found = {}
        for balancer in (listed or self.hns(node))["loadBalancers"]:
            for address in ours & set(balancer.get("FrontendVIPs", [])):
                found[address] = balancer | {"HostComputeEndpoints": {one.lower() for one in balancer["HostComputeEndpoints"]}}
        return found

    def backends(self, node):
        """Addresses behind the service "web" on a host."""
        listed = self.hns(node)
        used = self.balancers(node, listed)[self.get("service", "web")["spec"]["clusterIP"]]["HostComputeEndpoints"]
        return {endpoint["IpConfigurations"][0]["IpAddress"] for endpoint in listed["endpoints"] if endpoint["ID"].lower() in used}

    def endpoints_at(self, node, address):
        return [endpoint for endpoint in self.hns(node)["endpoints"] if endpoint["IpConfigurations"][0]["IpAddress"] == address]

    def two_services(self):
        """With the same backends, one on this node and one on another; their cluster addresses once they are programmed."""
        node, web = NODES[1], {"app": "web"}
        self.apply(web_server("here", web, nodeName=node), linux_server("there", web, nodeName="linux-1"),
                   *[service(name, web, target=80) for name in ("one", "two")])
        self.wait_ready("here")
        self.wait_ready("there")
        backends = lambda: [len(balancer["HostComputeEndpoints"]) for balancer in self.balancers(node).values()]
        self.eventually(lambda: backends() == [2, 2], 30, "both are programmed")
        return [self.get("service", name)["spec"]["clusterIP"] for name in ("one", "two")]

    # SVC-24
    def test_services_share_one_endpoint_for_a_pod(self):
        node, (one, two) = NODES[1], self.two_services()
        balancers, address = self.balancers(node), self.ip("there")
        (here,), (there,) = self.endpoints_at(node, self.ip("here")), self.endpoints_at(node, address)
        self.assertEqual([balancers[key]["HostComputeEndpoints"] for key in (one, two)], [{here["ID"].lower(), there["ID"].lower()}] * 2)
        self.assertEqual((here.get("Flags", 0) & 1, there["Flags"] & 1), (0, 1), "only the other node's pod is remote")
        self.assertEqual(there["MacAddress"], "-".join(["02", "11", *(f"{int(part):02X}" for part in address.split("."))]))
        for name, left in (("one", [there]), ("two", [])):
            self.kubectl("delete", "service", name)
            self.eventually(lambda: len(self.balancers(node)) == len(left), 30, f"{name} is gone")
            self.eventually(lambda: self.endpoints_at(node, address) == left, 30, "it is there as long as a service needs it")
        self.assertEqual(self.endpoints_at(node, self.ip("here")), [here], "the CNI plugin's stays")

    # SVC-26
    def test_a_proxy_that_starts_removes_what_is_stale_and_keeps_the_rest(self):
        node, (one, two) = NODES[1], self.two_services()
        before = self.balancers(node)
        self.host(node, "net", "stop", "kube-proxy")
        try:
            self.eventually(lambda: not self.process_on(node, "kube-proxy.exe"), 20, "it has stopped")
            self.assertEqual(self.balancers(node), before, "traffic goes on without it")
            self.kubectl("delete", "service", "one")
        finally:
            self.host(node, "net", "start", "kube-proxy")
        addresses = lambda: {address for balancer in self.hns(node)["loadBalancers"] for address in balancer.get("FrontendVIPs", [])}
        self.eventually(lambda: one not in addresses(), 30, "the stale one is removed")
        self.assertEqual(self.balancers(node), {two: before[two]})

    def ready_endpoints(self, name):
        slices = self.list("endpointslices", f"kubernetes.io/service-name={name}")
        return sum(endpoint["conditions"]["ready"] for one in slices for endpoint in one["endpoints"] or [])


class Datagrams(ProbeCase):
    shared = EXAMPLE
    udp = {"linux": "udp", "windows": "C:\\app\\udp.exe"}

    def ask(self, node, address):
        """What is answered to a datagram of the pod on that node."""
        return self.exec(f"udp-{node}", self.udp[node.split("-")[0]], "ask", address, "5353", "hello").strip().lower()

    # SVC-22, NET-24, LIM-60
    def test_pods_and_services_of_both_systems_answer_datagrams(self):
        labels = {"app": "udp"}
        self.apply(pod("udp-linux-1", container(script="exec udp serve 5353"), labels=labels, nodeName="linux-1"),
                   *[windows_pod(f"udp-{node}", [self.udp["windows"], "serve", "5353"], labels, container_fields={"image": windows_probe.NAME}, nodeName=node)
                     for node in NODES[1:]],
                   service("udp", labels, port=5353, target=5353, protocol="UDP"))
        for node in NODES:
            self.wait_ready(f"udp-{node}")
        cluster_ip = self.get("service", "udp")["spec"]["clusterIP"]
        for asking in NODES:
            for asked in NODES:
                with self.subTest(f"{asking} to {asked}"):
                    self.eventually(lambda: self.ask(asking, self.ip(f"udp-{asked}")) == f"udp-{asked} hello", 30)
            seen = set()
            with self.subTest(f"{asking} to the service"):
                self.eventually(lambda: seen.add(self.ask(asking, cluster_ip)) or seen == {f"udp-{node} hello" for node in NODES}, 60)


class Names(NetworkCase):
    # DNS-01, LIM-60
    def test_names_of_both_systems_are_answered_at_the_address_and_domain_asked_for(self):
        self.one_server_a_node({"app": "web"})
        self.apply(service("web", {"app": "web"}, target=80))
        dns = self.kubectl("get", "service", "-n", "kube-system", "kube-dns", "-o", "jsonpath={.spec.clusterIP}", namespaced=False)
        self.assertEqual(dns, DNS)
        for client, fetch in self.clients().items():
            if client == "linux node":
                continue
            for name in ("web", f"web.{self.namespace}.svc.{DOMAIN}"):
                with self.subTest(f"{client} to {name}"):
                    self.assertIn("web-", self.answers(fetch, f"http://{name}/").lower())
        address = self.ip("web-windows-1")
        record = f"{address.replace('.', '-')}.{self.namespace}.pod.{DOMAIN}"  # pods of Windows have records like others
        self.assertIn(f"Address: {address}", self.exec("client", "nslookup", record))

    # DNS-12
    def test_the_name_server_has_its_service_and_runs_on_linux(self):
        words = ("-n", "kube-system", "-o", "json")
        ports = json.loads(self.kubectl("get", "service", "kube-dns", *words, namespaced=False))["spec"]["ports"]
        self.assertEqual({(port["protocol"], port["port"]) for port in ports}, {("UDP", 53), ("TCP", 53)})
        slices = json.loads(self.kubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=kube-dns", *words, namespaced=False))["items"]
        linux = self.nodes()["linux-1"]
        known = {linux["status"]["addresses"][0]["address"]}
        served = {address for slice_ in slices for endpoint in slice_["endpoints"] for address in endpoint["addresses"]}
        self.assertTrue(served)
        for address in served - known:
            self.assertIn(ipaddress.ip_address(address), ipaddress.ip_network(linux["spec"]["podCIDR"]))

    # DNS-09
    def test_policies_give_their_servers_and_one_suffix_counts(self):
        node = "windows-1"
        config = {"nameservers": [DNS], "searches": [f"{self.namespace}.svc.{DOMAIN}", "second.example"]}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(web_server("none", nodeName=node, dnsPolicy="None", dnsConfig=config)), warnings=True)
        self.apply(web_server("default", nodeName=node, dnsPolicy="Default"), web_server("cluster-first", nodeName=node),
                   service("web", {"app": "none"}, target=80))
        for name in ("none", "default", "cluster-first"):
            self.wait_ready(name)
        self.answers(self.from_windows("none"), "http://web/")
        self.answers(self.from_windows("cluster-first"), "http://web/")
        done = self.kubectl_run("exec", "default", "--", FETCH, "http://web/", check=False)
        self.assertIn("cannot resolve", done.stdout + done.stderr)
        told = self.wait_event("DNSConfigForming", "first")
        self.assertEqual((told["type"], told["involvedObject"]["name"]), ("Warning", "none"))

    # DNS-10
    def test_names_outside_of_the_cluster_are_asked_of_the_machines_own_servers(self):
        upstream = self.upstream_server()
        self.apply(web_server("web"), linux_server("linux", {"app": "linux"}, nodeName="linux-1"))
        self.wait_ready("web")
        self.wait_ready("linux")
        upstream.answer("shop.example.com", self.ip("linux"))
        self.assertIn("linux", self.answers(self.from_windows("web"), "http://shop.example.com/", 60))

    def upstream_server(self):
        found = Upstream(self.cluster)
        self.addCleanup(found.stop)
        return found


class Upstream:
    """The name server that this machine's resolv.conf names, played inside of the cluster's network namespace."""

    def __init__(self, cluster):
        self.network = cluster.network
        text = open("/etc/resolv.conf", encoding="utf-8").read()
        self.address = re.search(r"^nameserver\s+(\d+\.\d+\.\d+\.\d+)", text, re.MULTILINE).group(1)
        self.process = None
        if not self.address.startswith("127."):
            run(["ip", "-n", self.network.name, "address", "add", f"{self.address}/32", "dev", "lo"])

    def answer(self, name, address):
        words = [sys.executable, __file__, "serve", self.address, name, address]
        self.process = subprocess.Popen(self.network.inside(words), stdin=subprocess.DEVNULL)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait(120)
        if not self.address.startswith("127."):
            run(["ip", "-n", self.network.name, "address", "delete", f"{self.address}/32", "dev", "lo"], check=False)


def serve_names(server, name, address):
    """Answers every question about `name` with one address, and others with "no such name"."""
    class Question(socketserver.BaseRequestHandler):
        def handle(self):
            packet, socket = self.request
            end = packet.index(b"\0", 12) + 5
            asked = ".".join(label.decode() for label in labels(packet[12:end - 4]))
            is_address = packet[end - 4:end - 2] == b"\0\1"
            known = asked.lower().rstrip(".") == name
            answers = 1 if known and is_address else 0
            head = packet[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, answers, 0, 0)
            record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 30, 4) + ipaddress.ip_address(address).packed
            socket.sendto(head + packet[12:end] + record * answers, self.client_address)

    with socketserver.UDPServer((server, 53), Question) as service_:
        service_.serve_forever()


def labels(data):
    while data and data[0]:
        yield data[1:1 + data[0]]
        data = data[1 + data[0]:]


class Sample(NetworkCase):
    # VER-12
    def test_kubectl_version_succeeds_on_a_windows_host(self):
        program = TOOLS / "kubectl.exe"
        if not program.exists():
            raise unittest.SkipTest("kubectl.exe is not built: ./run clients")
        place = self.drive("windows-1") / "kubectl.exe"
        shutil.copy(program, place)
        self.addCleanup(place.unlink)
        printed = self.host("windows-1", "C:\\kubectl.exe", "version", "--kubeconfig=C:\\k\\config").stdout
        self.assertRegex(printed, r"(?s)Client Version: v1\.\d+.*Server Version: v1\.\d+")
        self.assertRegex(self.host("windows-1", "C:\\kubectl.exe", "get", "nodes", "--kubeconfig=C:\\k\\config").stdout, r"(?m)^windows-1 +Ready ")

    # VER-12
    @needs_newest_kubectl
    def test_kubectl_version_succeeds_with_both_clients(self):
        for client in CLIENTS:
            done = self.cluster.kubectl(client, "version", "-o", "json")
            self.assertTrue(json.loads(done.stdout)["serverVersion"]["gitVersion"].startswith("v1."), client)

    # VER-04, VER-05
    def test_the_sample_has_two_pods_and_four_containers(self):
        self.kubectl("apply", "-f", ROOT / "samples/web.yaml")
        self.wait_rolled_out("win-web", 120)
        table = self.kubectl("get", "pods", "-l", "app=win-web")
        self.assertEqual(len(re.findall(r"win-web-\S+ +1/1 +Running", table)), 2)
        uids = {found["metadata"]["uid"] for found in self.list("pods", "app=win-web")}
        sandboxes, containers = (sum(self.records(node, kind, uids) for node in (*NODES[1:], OLDER)) for kind in ("s", "c"))
        self.assertEqual((sandboxes, containers), (2, 2), "an infrastructure container and a worker for each pod")

    def records(self, node, kind, uids):
        """How many sandboxes ("s") or containers ("c") of these pods the runtime of a host has."""
        folders = (self.cluster.data / "nodes" / node / "r" / kind).iterdir()
        return sum(any(uid in text for uid in uids) for text in map(self.recorded, folders))

    def recorded(self, folder):
        """The text of a record; "" for one of an earlier test that goes meanwhile."""
        try:
            return "".join(file.read_text(errors="replace") for file in folder.glob("*.json"))
        except OSError:
            return ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve_names(*sys.argv[2:])
    else:
        unittest.main()
