"""Emulated Windows nodes in a cluster that is not ours: joined by the words that upstream's kubeadm prints, used by upstream's kubectl.

A class a version, because a class holds the control plane that its tests share. Its tests are steps of one story and run in the order of
their names: join, use, leave.
"""

import atexit
import json
import os
import unittest

from control_plane import (DOMAIN, POD_SUBNET, PORTHOLE, ROOT, SERVICE_SUBNET, TOOLS, VERSIONS, ControlPlane, eventually,
                           fetched_through_forward, run)

NODE = "box-windows-1"
IMAGE = "registry.porthole.internal/web:2"
FOREIGN_RIGHTS = ROOT / "packaging/windows/examples/foreign-cluster.yaml"


def condition(found, kind):
    return next((entry["status"] for entry in found.get("status", {}).get("conditions", []) if entry["type"] == kind), None)


def windows_pod(name, **fields):
    container = {"name": "main", "image": IMAGE, "ports": [{"containerPort": 80}],
                 "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 5, "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [container], **fields}}


class Shared:
    """One control plane and one emulated host for a class; a failed start is told once and costs its time once. One at a time runs."""

    running = None

    def __init__(self, version):
        self.version = version
        self.plane = None
        self.trouble = ""

    def get(self):
        if self.trouble:
            raise AssertionError(f"the cluster did not start: {self.trouble}")
        if not self.plane:
            if Shared.running:
                Shared.running.end()
            Shared.running = self
            self.trouble = "the first failed test says why"
            self.plane = ControlPlane(self.version)
            atexit.register(self.end)
            try:
                self.plane.start()
                self.plane.kubectl("apply", "-f", FOREIGN_RIGHTS)
                self.join()
            except Exception as error:
                raise AssertionError(f"{error}\n{self.plane.log_tails()}") from error
            self.trouble = ""
        return self.plane

    def join(self, *options):
        plane = self.plane
        plane.porthole("winnode", "join", *plane.join_words(), "--prefix", "box-", *options, "--detach", seconds=300)
        node = eventually(self.node_with_range, 60, "the node has a range of pods")
        plane.route(node["spec"]["podCIDR"])

    def node_with_range(self):
        node = json.loads(self.plane.kubectl("get", "node", NODE, "-o", "json").stdout)
        return node if node["spec"].get("podCIDR") else None

    def end(self):
        plane, self.plane = self.plane, None
        if plane:
            plane.stop()


class Story:
    """What is the same in every version."""

    alone = True  # one cluster at a time: the steps follow each other

    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a cluster on this machine needs root")
        if not VERSIONS[self.shared.version].exists():
            raise unittest.SkipTest(f"upstream {self.shared.version} is not built: ./run test foreign builds it with Go")
        self.plane = self.shared.get()

    def kubectl(self, *words, **options):
        return self.plane.kubectl(*words, **options).stdout

    def get(self, kind, name, *more):
        return json.loads(self.kubectl("get", kind, name, "-o", "json", *more))

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def eventually(self, attempt, seconds, what):
        try:
            return eventually(attempt, seconds, what, interval=0.3)
        except AssertionError as error:
            events = self.plane.kubectl("get", "events", "-A", check=False).stdout
            raise AssertionError(f"{error}\n{events}\n{self.plane.log_tails()}") from None

    def ready(self, kind, name, seconds=90):
        return self.eventually(lambda: condition(self.get(kind, name), "Ready") == "True" and self.get(kind, name), seconds,
                               f"{kind} {name} is ready")

    def fetch(self, url):
        return run(self.plane.network.inside(["timeout", "3", str(TOOLS / "busybox"), "wget", "-qO-", url])).stdout

    def exec(self, pod, *command):
        return self.kubectl("exec", pod, "--", *command)

    def fetch_inside(self, pod, url):
        return self.exec(pod, "C:\\web\\fetch.exe", url)

    # JOI-01, JOI-04
    def test_1_joins_by_the_words_of_kubeadm_and_is_ready(self):
        node = self.ready("node", NODE)
        labels, info = node["metadata"]["labels"], node["status"]["nodeInfo"]
        self.assertEqual(labels["kubernetes.io/os"], "windows")
        self.assertEqual(labels["node.kubernetes.io/windows-build"], "10.0.20348")
        self.assertEqual(info["operatingSystem"], "windows")
        requests = json.loads(self.kubectl("get", "csr", "-o", "json"))["items"]
        self.assertTrue(requests)
        for request in requests:
            self.assertTrue(request["status"].get("certificate"), "approved and signed by upstream's controllers")
        lease = self.eventually(lambda: self.get("lease", NODE, "-n", "kube-node-lease"), 20, "the node's lease")
        self.assertEqual(lease["metadata"]["ownerReferences"][0]["name"], NODE)

    def test_1_status_asks_with_the_nodes_own_certificate(self):
        self.assertRegex(self.plane.porthole("winnode", "status").stdout, NODE + r" +windows 2022 \(emulated\) +\S+ +Ready")

    def test_1_learns_the_ranges_from_kubeadms_configuration(self):
        log = (self.plane.data / f"logs/{NODE}-join.log").read_text()
        self.assertIn(f"pods in {POD_SUBNET}, services in {SERVICE_SUBNET}", log)
        kubelet = self.on_host("reg", "query", "HKLM\\System\\CurrentControlSet\\Services\\kubelet", "/v", "ImagePath").stdout
        self.assertIn("--cluster-dns=10.222.0.10", kubelet)
        self.assertIn(f"--cluster-domain={DOMAIN}", kubelet)

    # JOI-02
    def test_1_wrong_words_are_named(self):
        server, _, token, _, ca_hash = self.plane.join_words()
        rows = [("unknown token", "abcdef.0123456789abcdef", ca_hash, "the token is unknown to the server"),
                ("a token's wrong second half", token[:7] + "x" * 16, ca_hash, "second half"),
                ("another cluster's key", token, "sha256:" + "a" * 64, "does not match --ca-cert-hash")]
        for name, some_token, some_hash, expected in rows:
            with self.subTest(name):
                refused = self.on_host("kubeadm.exe", "join", server, "--token", some_token, "--discovery-token-ca-cert-hash", some_hash,
                                       "--node-name", NODE)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(expected, refused.stderr)

    def on_host(self, *command, seconds=120):
        host = self.plane.data / "nodes" / NODE
        return run(self.plane.network.inside([PORTHOLE, "winhost", "exec", "--data", host, "--", *command]), check=False, seconds=seconds,
                   env=self.plane.environment())

    # VER-05, VER-06, VER-08
    def test_2_the_sample_answers_by_pod_and_by_service(self):
        self.kubectl("apply", "--validate=false", "-f", ROOT / "samples/web.yaml")  # 1.20 does not know spec.os
        self.kubectl("rollout", "status", "deployment/win-web", "--timeout=120s", seconds=130)
        pods = json.loads(self.kubectl("get", "pods", "-l", "app=win-web", "-o", "json"))["items"]
        self.assertEqual({pod["spec"]["nodeName"] for pod in pods}, {NODE})
        for pod in pods:
            page = self.eventually(lambda: self.fetch(f"http://{pod['status']['podIP']}/"), 30, "the pod answers")
            self.assertIn(pod["metadata"]["name"], page)
        address = self.get("service", "win-web")["spec"]["clusterIP"]
        name = pods[0]["metadata"]["name"]
        self.eventually(lambda: "win-web-" in self.fetch_inside(name, f"http://{address}/"), 30, "the service answers")

    def test_3_a_service_follows_its_pods(self):
        """kube-proxy.exe sees changes of endpoint slices: of v1beta1 in 1.20."""
        self.kubectl("scale", "deployment/win-web", "--replicas=1")
        self.eventually(lambda: self.count("pods", "app=win-web") == 1, 60, "one pod is left")
        name = json.loads(self.kubectl("get", "pods", "-l", "app=win-web", "-o", "json"))["items"][0]["metadata"]["name"]
        address = self.get("service", "win-web")["spec"]["clusterIP"]
        self.apply({**windows_pod("client"), "kind": "Pod"})
        self.ready("pod", "client")
        for _ in range(4):
            self.eventually(lambda: name in self.fetch_inside("client", f"http://{address}/"), 30, "the pod that is left answers")
        self.kubectl("scale", "deployment/win-web", "--replicas=0")
        self.eventually(lambda: self.count("pods", "app=win-web") == 0, 60, "no pod is left")
        refused = self.plane.kubectl("exec", "client", "--", "C:\\web\\fetch.exe", f"http://{address}/", check=False)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)

    def count(self, kind, selector):
        return len(json.loads(self.kubectl("get", kind, "-l", selector, "-o", "json"))["items"])

    # KBL-29
    def test_4_logs_exec_and_port_forward_through_upstreams_server(self):
        self.apply(windows_pod("talk"))
        address = self.ready("pod", "talk")["status"]["podIP"]
        self.eventually(lambda: self.fetch(f"http://{address}/seen-by-the-log"), 30, "the pod answers")
        self.eventually(lambda: "/seen-by-the-log" in self.kubectl("logs", "talk"), 20, "the request is logged")
        self.assertIn("hello from cmd", self.exec("talk", "cmd", "/c", "echo hello from cmd"))
        self.assertEqual(self.plane.kubectl("exec", "talk", "--", "cmd", "/c", "exit 42", check=False).returncode, 42)
        typed = self.plane.kubectl("exec", "-i", "talk", "--", "cmd", stdin="set /a 6*7\r\nexit\r\n").stdout
        self.assertIn("42", typed)
        self.assertIn("talk", self.port_forwarded("talk"))

    def port_forwarded(self, name):
        words = self.plane.kubectl_command("port-forward", f"pod/{name}", ":80")
        return fetched_through_forward(words, self.plane.environment(), self.fetch)

    def test_5_tokens_config_maps_and_secrets_are_in_their_places(self):
        self.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"word.txt": "from a config map"}},
                   {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}, "stringData": {"word.txt": "from a secret"}})
        projected = windows_pod("volumes", volumes=[
            {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "audience": "somebody"}}]}},
            {"name": "words", "configMap": {"name": "words"}}, {"name": "hidden", "secret": {"secretName": "hidden"}}])
        projected["spec"]["containers"][0]["volumeMounts"] = [
            {"name": name, "mountPath": f"C:\\{name}"} for name in ("token", "words", "hidden")]
        self.apply(projected)
        self.ready("pod", "volumes")
        self.assertIn("from a config map", self.exec("volumes", "cmd", "/c", "type", "C:\\words\\word.txt"))
        self.assertIn("from a secret", self.exec("volumes", "cmd", "/c", "type", "C:\\hidden\\word.txt"))
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {
            "token": self.exec("volumes", "cmd", "/c", "type", "C:\\token\\token").strip(), "audiences": ["somebody"]}}
        answer = json.loads(self.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))["status"]
        self.assertTrue(answer.get("authenticated"), answer)
        self.assertEqual(answer["user"]["extra"]["authentication.kubernetes.io/pod-name"], ["volumes"])
        own = self.exec("volumes", "cmd", "/c", "type", "C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount\\token").strip()
        self.assertEqual(own.count("."), 2, "every pod has its account's token")

    def test_6_agents_go_on_when_the_server_is_replaced(self):
        self.plane.restart("kube-apiserver")
        self.eventually(lambda: self.plane.kubectl("get", "--raw", "/readyz", check=False).stdout == "ok", 120, "the API server is back")
        self.apply(windows_pod("after"))
        self.ready("pod", "after", 120)
        self.assertEqual(condition(self.get("node", NODE), "Ready"), "True")

    def test_7_deleted_pods_go(self):
        self.kubectl("delete", "deployment,pods", "--all", "--wait=false")
        self.eventually(lambda: not json.loads(self.kubectl("get", "pods", "-o", "json"))["items"], 90, "no pod is left")

    # JOI-19
    def test_8_leaves_and_joins_an_overlay(self):
        self.plane.porthole("winnode", "leave", seconds=120)
        self.assertFalse(self.plane.data.exists())
        self.kubectl("delete", "node", NODE)
        self.shared.join("--backend", "vxlan")
        node = self.ready("node", NODE)
        self.assertEqual(node["metadata"]["annotations"]["flannel.alpha.coreos.com/backend-type"], "vxlan")
        self.assertIn("vxlan0", self.on_host("porthole.exe", "hns", "list").stdout)
        self.apply(windows_pod("overlaid"))
        self.ready("pod", "overlaid")
        self.assertIn("overlaid", self.port_forwarded("overlaid"))
        self.plane.porthole("winnode", "leave", seconds=120)


class Oldest(Story, unittest.TestCase):
    shared = Shared("1.20")


class Newest(Story, unittest.TestCase):
    shared = Shared("newest")
