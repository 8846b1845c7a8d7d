"""A mixed cluster: one Linux node and two emulated Windows nodes, joined as real ones would be, their agents the same .exe files."""

import contextlib
import json
import os
import pathlib
import unittest

from harness import MIXED, MIXED_PODS, PORTHOLE, ROOT, ClusterCase, condition, fetched_through_forward, needs_newest_kubectl, run
from manifests import PROBE_SECONDS, pod, service, web_pod

IMAGE = "registry.porthole.internal/web:2"
WINDOWS = {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}}


def windows_pod(name, command=None, labels=None, container_fields=None, **fields):
    """The sample web server, or another program of the image."""
    main = {"name": "main", "image": IMAGE, "resources": {"requests": {"cpu": "10m"}}, **(container_fields or {})}
    if command:
        main["command"] = command
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 5, "containers": [main], **WINDOWS, **fields}}


def web_server(name, labels=None, **fields):
    return windows_pod(name, labels=labels, container_fields={
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "timeoutSeconds": PROBE_SECONDS}}, **fields)


class WindowsCase(ClusterCase):
    shared = MIXED
    alone = True

    def wait_ready(self, pod, seconds=90):
        return super().wait_ready(pod, seconds)

    def ip(self, name):
        return self.get("pod", name)["status"]["podIP"]

    def process_on(self, node, program):
        """The Linux pid of a program on an emulated host, outside of its containers, or 0."""
        first = json.loads((self.cluster.data / "nodes" / node / "h/runc/host/state.json").read_text())["init_process_pid"]
        space = os.readlink(f"/proc/{first}/ns/pid")
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "comm").read_text().strip() == program and os.readlink(process / "ns/pid") == space:
                    return int(process.name)
        return 0

    def linux_client(self):
        self.apply(pod("client", nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("client")
        return lambda url: self.fetch_from_pod("client", url)

    def answers(self, fetch, url, seconds=30):
        return self.eventually(lambda: fetch(url), seconds, f"{url} answers")


class WindowsPodCase(WindowsCase):
    """Of pods and their volumes, not of the nodes."""

    shared = MIXED_PODS


class Nodes(WindowsCase):
    def nodes(self):
        return {node["metadata"]["name"]: node for node in json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]}

    # KBL-24, CLI-01
    def test_windows_nodes_are_ready_and_say_what_they_are(self):
        nodes = self.nodes()
        self.assertEqual(sorted(nodes), ["linux-1", "windows-1", "windows-2"])
        for name in ("windows-1", "windows-2"):
            node = nodes[name]
            self.assertEqual(condition(node, "Ready"), "True")
            labels, info = node["metadata"]["labels"], node["status"]["nodeInfo"]
            self.assertEqual(labels["kubernetes.io/os"], "windows")
            self.assertEqual(labels["node.kubernetes.io/windows-build"], "10.0.20348")
            self.assertEqual(info["operatingSystem"], "windows")
            self.assertIn("Windows Server 2022", info["osImage"])
            self.assertRegex(info["containerRuntimeVersion"], r"^porthole-wine://\d+\.\d+\.\d+\+wine-\d+\.\d+$")
        table = self.kubectl("get", "nodes", "-o", "wide", namespaced=False)
        self.assertRegex(table, r"(?m)^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME$")
        self.assertRegex(table, r"(?m)^windows-1 +Ready +.* Windows Server 2022\b.* 10\.0\.20348\.\d+ +porthole-wine://\S+$")
        self.assertRegex(table, r"(?m)^linux-1 +Ready +.* containerd://\S+$")

    def test_status_says_that_they_are_emulated(self):
        self.assertRegex(self.cluster.porthole("status").stdout, r"windows-2 +windows 2022 \(emulated, Wine \d+\.\d+\) +\S+ +Ready")


class Sample(WindowsCase):
    # VER-11
    def test_two_replicas_behind_a_service_answer_linux_and_windows(self):
        self.kubectl("apply", "-f", ROOT / "samples/web.yaml")
        self.wait_rolled_out("win-web", 120)
        pods = self.list("pods", "app=win-web")
        self.assertEqual(len(pods), 2)
        for found in pods:  # asked again soon where Wine takes longer to start
            self.assertEqual(found["spec"]["containers"][0]["readinessProbe"]["periodSeconds"], 2)
        self.eventually(lambda: len(self.get("endpoints", "win-web", warnings=True)["subsets"][0]["addresses"]) == 2, 20, "two endpoints")
        fetch = self.linux_client()
        for found in pods:
            self.assertIn(found["metadata"]["name"], self.answers(fetch, f"http://{found['status']['podIP']}/").lower())
        address = self.get("service", "win-web")["spec"]["clusterIP"]
        self.assertIn("win-web", self.answers(fetch, f"http://{address}/").lower())
        self.assertIn("win-web", self.answers(fetch, f"http://win-web.{self.namespace}.svc.cluster.local/").lower())

    # KBL-29, CLI-05, LIM-48, API-17
    def test_logs_exec_and_port_forward(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        fetch = self.linux_client()
        self.answers(fetch, f"http://{self.ip('web')}/seen-by-the-log")
        self.eventually(lambda: "/seen-by-the-log" in self.kubectl("logs", "web"), 10, "the request is logged")
        self.assertIn("hello from cmd", self.exec("web", "cmd", "/c", "echo hello from cmd"))
        done = self.kubectl_run("exec", "web", "--", "cmd", "/c", "exit 42", check=False)
        self.assertEqual(done.returncode, 42, done.stderr)
        self.assertIn("web", self.port_forwarded("web", 80).lower())

    def port_forwarded(self, name, port):
        words = self.cluster.kubectl_command(self.client, "-n", self.namespace, "port-forward", f"pod/{name}", f":{port}")
        return fetched_through_forward(words, self.cluster.environment(), self.fetch_from_node)


class LifeCycle(WindowsCase):
    # POD-15
    def test_exit_codes_keep_their_32_bits(self):
        self.apply(windows_pod("fails", ["cmd", "/c", "exit -1073741819"], restartPolicy="Never"))
        self.wait_phase("fails", "Failed", seconds=90)
        state = self.get("pod", "fails")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(state["exitCode"] & 0xFFFFFFFF, 0xC0000005)

    def test_a_killed_container_comes_back_in_the_same_pod(self):
        self.apply(web_server("web"))
        before = self.wait_ready("web")["status"]
        self.kubectl_run("exec", "web", "--", "taskkill", "/f", "/im", "web.exe", check=False)
        after = self.eventually(lambda: self.restarted("web"), 60, "restarted")["status"]
        self.assertEqual(before["podIP"], after["podIP"])

    def restarted(self, name):
        found = self.try_get("pod", name)
        return found if found and found["status"]["containerStatuses"][0]["restartCount"] == 1 and condition(found, "Ready") == "True" else None

    def test_configuration_and_secrets_are_mounted(self):
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site"}, "data": {"page.txt": "from a config map"}})
        mounted = web_server("web", volumes=[{"name": "site", "configMap": {"name": "site"}}])
        mounted["spec"]["containers"][0]["volumeMounts"] = [{"name": "site", "mountPath": "C:\\site"}]
        self.apply(mounted)
        self.wait_ready("web")
        self.assertIn("from a config map", self.answers(self.linux_client(), f"http://{self.ip('web')}/page.txt"))


class Network(WindowsCase):
    def test_windows_pods_reach_linux_pods_services_and_names(self):
        linux = web_pod("linux-web", nodeSelector={"kubernetes.io/os": "linux"})
        self.apply(linux, service("linux-web", {"app": "linux-web"}), web_server("web"))
        self.wait_ready("linux-web")
        self.wait_ready("web")
        for host in (f"{self.ip('linux-web')}:8080", self.get("service", "linux-web")["spec"]["clusterIP"],
                     f"linux-web.{self.namespace}.svc.cluster.local"):
            page = self.eventually(lambda: self.exec("web", "C:\\web\\fetch.exe", f"http://{host}/"), 30, f"{host} answers")
            self.assertIn("linux-web", page)

    # SVC-01, SVC-18
    def test_node_port_is_answered_by_every_node(self):
        self.apply(*[web_server(f"web-{number}", {"app": "web"}, nodeName=f"windows-{number}") for number in (1, 2)],
                   service("web", {"app": "web"}, target=80, type="NodePort"))
        self.wait_ready("web-1")
        self.wait_ready("web-2")
        port = self.get("service", "web")["spec"]["ports"][0]["nodePort"]
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        for node in nodes:
            address = next(entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP")
            self.assertIn("web", self.answers(self.fetch_from_node, f"http://{address}:{port}/").lower())

    # SVC-01, SVC-30
    @needs_newest_kubectl
    def test_addresses_that_a_controller_of_load_balancers_gives_are_served_by_nodes_of_both_systems(self):
        given, external = "203.0.113.9", "198.51.100.7"
        self.apply(*[web_server(f"web-{number}", {"app": "web"}, nodeName=f"windows-{number}") for number in (1, 2)],
                   service("web", {"app": "web"}, target=80, type="LoadBalancer", externalIPs=[external]))
        self.wait_ready("web-1")
        self.wait_ready("web-2")
        self.assertEqual(self.get("service", "web")["status"]["loadBalancer"], {}, "nobody has given one yet")
        ingress = lambda *addresses: self.kubectl("patch", "service", "web", "--subresource=status", "--type=merge", "-p", json.dumps(
            {"status": {"loadBalancer": {"ingress": [{"ip": address} for address in addresses]}}}))
        ingress(given)
        from_linux, from_windows = self.linux_client(), lambda url: self.exec("web-1", "C:\\web\\fetch.exe", url)
        outside = self.cluster.network.inside(["ip", "route"])
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        for address in (given, external):
            for fetch in (from_linux, from_windows):
                self.assertIn("web-", self.answers(fetch, f"http://{address}/").lower(), address)
            self.addCleanup(run, [*outside, "delete", address], check=False)
            for node in nodes:
                node_address = next(entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP")
                run([*outside, "replace", address, "via", node_address])
                with self.subTest(address=address, through=node["metadata"]["name"]):
                    self.assertIn("web-", self.answers(self.fetch_from_node, f"http://{address}/").lower())
        ingress()
        self.eventually(lambda: not self.reached(from_linux, f"http://{given}/"), 30, "the address is taken back")
        self.assertIn("web-", self.answers(from_linux, f"http://{external}/").lower(), "the other one stays")

    @staticmethod
    def reached(fetch, url):
        try:
            return fetch(url)
        except AssertionError:
            return ""


class Samples(WindowsCase):
    # VER-10, SVC-23
    def test_host_port_is_mapped_and_a_second_replica_stays_pending(self):
        self.kubectl("apply", "-f", ROOT / "samples/host-port.yaml")
        found = self.eventually(lambda: [pod for pod in self.list("pods") if condition(pod, "Ready") == "True"], 90, "one pod runs")[0]
        address = found["status"]["hostIP"]
        self.assertIn("host:", self.answers(self.fetch_from_node, f"http://{address}:4444/"))
        self.kubectl("scale", "deployment", "win-web-host-port", "--replicas=3")
        self.wait_event("FailedScheduling", "didn't have free ports for the requested pod ports")
        ready = lambda: sorted(condition(pod, "Ready") == "True" for pod in self.list("pods"))
        self.eventually(lambda: ready() == [False, True, True], 60, "one pod a node, and one that waits")
        self.assertEqual(sorted(pod["status"]["phase"] for pod in self.list("pods")), ["Pending", "Running", "Running"])

    def test_pod_from_json_and_daemon_set(self):
        self.kubectl("apply", "-f", ROOT / "samples/pod.json")
        self.kubectl("apply", "-f", ROOT / "samples/daemon-set.yaml")
        for found in self.eventually(lambda: len(self.list("pods")) == 3 and self.list("pods"), 30, "a pod a node, and one more"):
            self.wait_ready(found["metadata"]["name"])
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.list("pods")}, {"windows-1", "windows-2"})

    def test_volumes(self):
        self.kubectl("apply", "-f", ROOT / "samples/volumes.yaml")
        for found in self.eventually(lambda: self.list("pods"), 30, "its pods"):
            self.wait_ready(found["metadata"]["name"])
        fetch, address = self.linux_client(), self.ip("win-web-volumes")
        for path, text in (("config/greeting", "hello from a ConfigMap"), ("secret/password", "swordfish"),
                           ("pod/labels", 'app="win-web-volumes"'), ("scratch/written", "written by the init container")):
            self.assertIn(text, self.answers(fetch, f"http://{address}/{path}"), path)

    # SEC-14, LIM-01
    def test_hyper_v_isolation_is_refused_with_the_reason(self):
        self.kubectl("apply", "-f", ROOT / "samples/hyper-v.yaml", warnings=True)
        self.wait_phase("win-web-hyper-v", "Failed", seconds=60)
        status = self.get("pod", "win-web-hyper-v")["status"]
        self.assertEqual(status["reason"], "HyperVIsolationUnsupported")
        self.assertIn("process isolation is the only mode", status["message"])


class Recovery(WindowsCase):
    def restarts(self, name):
        return self.get("pod", name)["status"]["containerStatuses"][0]["restartCount"]

    def test_runtime_that_is_killed_leaves_pods_running_and_adopts_them(self):
        self.apply(web_server("web", nodeName="windows-1"))
        self.wait_ready("web")
        fetch = self.linux_client()
        url = f"http://{self.ip('web')}/"
        self.answers(fetch, url)
        before = self.cluster.processes()["windows-1/winhost"]
        self.cluster.kill("windows-1/winhost")
        self.assertIn("web", self.answers(fetch, url, 5))
        self.eventually(lambda: self.cluster.processes().get("windows-1/winhost", before) != before, 20, "the runtime is back")
        self.apply(web_server("second", nodeName="windows-1"))
        self.wait_ready("second")
        self.assertIn("web", self.answers(fetch, url, 5))
        self.assertEqual(self.restarts("web"), 0)

    def test_host_that_reboots_brings_its_pods_back(self):
        self.apply(web_server("web", nodeName="windows-2"))
        self.wait_ready("web")
        host = self.cluster.data / "nodes/windows-2"
        run(self.cluster.network.inside([PORTHOLE, "winhost", "reboot", "--data", host]), env=self.cluster.environment(), seconds=120)
        self.eventually(lambda: self.restarts("web") >= 1 and condition(self.get("pod", "web"), "Ready") == "True", 120, "the pod is back")
        self.assertIn("web", self.answers(self.linux_client(), f"http://{self.ip('web')}/"))
        for service_ in ("kubelet", "flanneld", "kube-proxy"):
            self.eventually(lambda: self.process_on("windows-2", f"{service_}.exe"), 30, f"{service_} runs again, if it was started too early, too")


if __name__ == "__main__":
    unittest.main()
