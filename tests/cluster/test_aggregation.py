"""An extension API server behind the aggregation layer, with kubectl, on a control plane of its own without nodes."""

import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from control_plane_case import ControlPlaneCase
from harness import CLIENTS, eventually, needs_newest_kubectl, run, slow

PORT = 9445
ENDPOINT = "10.99.0.1"  # of a service: not one that only this machine has
API = "v1alpha1.wardle.example.com"
FLUNDERS = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders"

API_SERVICE = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API, "labels": {"test": "aggregation"}},
               "spec": {"group": "wardle.example.com", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 200,
                        "service": {"namespace": "default", "name": "ext"}}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ext", "namespace": "default"},
           "spec": {"ports": [{"port": 443, "targetPort": PORT}]}}
SLICE = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
         "metadata": {"name": "ext", "namespace": "default", "labels": {"kubernetes.io/service-name": "ext"}},
         "ports": [{"name": "", "port": PORT}], "endpoints": [{"addresses": [ENDPOINT]}]}


def flunder(name, **metadata):
    return {"apiVersion": "wardle.example.com/v1alpha1", "kind": "Flunder", "metadata": {"name": name, **metadata}, "spec": {"reference": "x"}}


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class Aggregation(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        run(self.network.inside(["ip", "address", "add", f"{ENDPOINT}/32", "dev", "lo"]))
        self.server.start()
        self.server.wait_for_default_namespace()
        self.extension = None
        self.addCleanup(self.stop_extension)

    def kubectl(self, *words, **options):
        return self.server.kubectl(*words, **options)

    def create(self, *objects, **options):
        return self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), **options)

    def start_extension(self):
        """It trusts who is certified by what every extension API server is told."""
        certificate, key, proxy = self.folder / "tls.crt", self.folder / "tls.key", self.folder / "front-proxy-ca.crt"
        if not certificate.exists():
            run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=ext", "-addext",
                 "subjectAltName=DNS:ext.default.svc", "-keyout", key, "-out", certificate])
        told = json.loads(self.kubectl("get", "configmap", "-n", "kube-system", "extension-apiserver-authentication", "-o", "json").stdout)
        proxy.write_text(told["data"]["requestheader-client-ca-file"])
        self.assertEqual(told["data"]["requestheader-username-headers"], '["X-Remote-User"]')
        script = pathlib.Path(__file__).with_name("extension_server.py")
        words = [sys.executable, str(script), str(PORT), str(certificate), str(key), str(proxy)]
        self.extension = subprocess.Popen(self.network.inside(words), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.extension.stdout.readline()

    def stop_extension(self):
        if self.extension:
            self.extension.terminate()
            self.extension.wait(60)
            self.extension.stdout.close()
            self.extension = None

    def aggregate(self):
        self.start_extension()
        service = json.loads(json.dumps(API_SERVICE))
        service["spec"]["caBundle"] = base64.b64encode((self.folder / "tls.crt").read_bytes()).decode()
        self.create(SERVICE, SLICE, service)
        self.kubectl("wait", "--for=condition=Available", f"apiservice/{API}", "--timeout=60s")

    def availability(self):
        return self.kubectl("get", "apiservice", API, "--no-headers").stdout.split(None, 2)[2].rsplit(None, 1)[0].strip()

    def test_kubectl_uses_the_resources_as_any_others(self):
        self.aggregate()
        self.assertIn("flunders", self.kubectl("api-resources", "--api-group=wardle.example.com").stdout)
        self.assertIn("wardle.example.com/v1alpha1", self.kubectl("api-versions").stdout)
        self.assertIn("Whom it knows.", self.kubectl("explain", "flunders.spec.reference").stdout)
        self.create(flunder("one"), flunder("two"))
        self.assertIn("AlreadyExists", self.create(flunder("one"), check=False).stderr)
        self.assertEqual(self.kubectl("get", "fl", "-o", "name").stdout.split(), ["flunder.wardle.example.com/one", "flunder.wardle.example.com/two"])
        self.kubectl("patch", "flunder", "one", "--type=merge", "-p", '{"spec":{"reference":"y"}}')
        self.assertEqual(self.kubectl("get", "flunder", "one", "-o", "jsonpath={.spec.reference}").stdout, "y")
        self.assertIn('flunders.wardle.example.com "none" not found', self.kubectl("get", "flunder", "none", check=False).stderr)
        self.kubectl("delete", "flunder", "one")
        self.kubectl("delete", "flunders", "--all")
        self.assertEqual(self.kubectl("get", "flunders", "-o", "name").stdout, "")

    def test_a_watch_is_passed_on_at_once(self):
        self.aggregate()
        watch = subprocess.Popen(self.network.inside([str(CLIENTS["new"]), "get", "flunders", "--watch", "-o", "name"]), text=True,
                                 stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                 env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.server.kubeconfig)})
        try:
            self.create(flunder("seen"))
            self.assertEqual(watch.stdout.readline().strip(), "flunder.wardle.example.com/seen")
            self.create(flunder("later"))
            self.assertEqual(watch.stdout.readline().strip(), "flunder.wardle.example.com/later")
        finally:
            watch.send_signal(signal.SIGTERM)
            watch.wait(60)
            watch.stdout.close()

    def test_the_server_is_told_who_asks_and_gets_no_credentials(self):
        self.aggregate()
        asked = self.server.raw("GET", f"{FLUNDERS}/x/user", "--header", "X-Remote-User: mallory", "--header", "X-Remote-Group: evil")
        self.assertEqual(asked["user"], ["kubernetes-admin"])
        self.assertIn("system:masters", asked["groups"])
        self.assertNotIn("evil", asked["groups"])
        token = self.kubectl("create", "token", "default").stdout.strip()
        refused = self.server.raw("GET", f"{FLUNDERS}/x/user", "--token", token)
        self.assertEqual(refused["reason"], "Forbidden")
        self.kubectl("create", "clusterrole", "flunders", "--verb=get", "--resource=flunders.wardle.example.com/user")
        self.kubectl("create", "clusterrolebinding", "flunders", "--clusterrole=flunders", "--serviceaccount=default:default")
        asked = eventually(lambda: [found for found in [self.server.raw("GET", f"{FLUNDERS}/x/user", "--token", token)] if "user" in found], 60)[0]
        self.assertEqual(asked["user"], ["system:serviceaccount:default:default"])
        self.assertIn("system:serviceaccounts:default", asked["groups"])
        self.assertIsNone(asked["authorization"])
        self.assertTrue(any(name.startswith("x-remote-extra-authentication.kubernetes.io") for name in asked["extra"]))

    def test_an_upgrade_becomes_bytes_both_ways(self):
        self.aggregate()
        script = ("import sys; from raw_request import connect; c = connect(sys.argv[1]); c.connect(); "
                  "c.sock.sendall(('GET %s/x/echo HTTP/1.1\\r\\nHost: a\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n' % sys.argv[2]).encode()); "
                  "answer = c.sock.makefile('rb'); head = b''.join(iter(answer.readline, b'\\r\\n')); assert b' 101 ' in head, head; "
                  "c.sock.sendall(b'ping'); print(answer.read(4).decode())")
        done = run(self.network.inside([sys.executable, "-c", script, str(self.server.kubeconfig), FLUNDERS]),
                   cwd=pathlib.Path(__file__).parent)
        self.assertEqual(done.stdout.strip(), "ping")

    @slow
    def test_availability_follows_the_server(self):
        self.create(API_SERVICE)
        eventually(lambda: self.availability() == "False (ServiceNotFound)", 60)
        self.create(SERVICE)
        eventually(lambda: self.availability() == "False (EndpointsNotFound)", 60)
        self.create(SLICE)
        eventually(lambda: self.availability() == "False (FailedDiscoveryCheck)", 60)
        refused = self.server.raw("GET", FLUNDERS)
        self.assertEqual((refused["code"], refused["text"]), (503, "service unavailable\n"))
        discovery = self.server.raw("GET", "/apis", "--header", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        found = [group["versions"] for group in discovery["items"] if group["metadata"]["name"] == "wardle.example.com"]
        self.assertEqual(found, [[{"version": "v1alpha1", "freshness": "Stale"}]])
        self.start_extension()
        # Whose authority is not known: there is an answer, but requests do not trust it.
        eventually(lambda: self.availability() == "True", 60)
        self.assertIn("error trying to reach service", self.server.raw("GET", FLUNDERS)["text"])
        bundle = base64.b64encode((self.folder / "tls.crt").read_bytes()).decode()
        self.kubectl("patch", "apiservice", API, "--type=merge", "-p", json.dumps({"spec": {"caBundle": bundle}}))
        eventually(lambda: "items" in self.server.raw("GET", FLUNDERS), 60)
        self.stop_extension()
        eventually(lambda: self.availability() == "False (FailedDiscoveryCheck)", 60)
        self.assertIn("Deployment", self.kubectl("api-resources", "--api-group=apps").stdout)
        self.assertIn('aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 1', self.kubectl("get", "--raw", "/metrics").stdout)

    def test_api_services_are_listed_patched_and_deleted_as_a_collection(self):
        listed = self.kubectl("get", "apiservices").stdout
        for words in ("NAME", "SERVICE", "AVAILABLE", "AGE"):
            self.assertIn(words, listed.splitlines()[0])
        self.assertRegex(listed, r"(?m)^v1\.apps +Local +True ")
        self.aggregate()
        self.assertRegex(self.kubectl("get", "apiservices").stdout, rf"(?m)^{API} +default/ext +True ")
        self.kubectl("patch", "apiservice", API, "--type=merge", "-p", '{"spec":{"versionPriority":400}}')
        status = {"status": {"conditions": [{"type": "StatusUpdated", "status": "True", "reason": "E2E", "message": "Set by a test"}]}}
        self.kubectl("patch", "apiservice", API, "--subresource=status", "--type=merge", "-p", json.dumps(status))
        eventually(lambda: self.availability() == "True", 60)
        shown = json.loads(self.kubectl("get", "apiservice", API, "-o", "json").stdout)
        self.assertEqual(shown["spec"]["versionPriority"], 400)
        self.assertEqual({one["type"] for one in shown["status"]["conditions"]}, {"Available", "StatusUpdated"})
        self.kubectl("delete", "apiservices", "-l", "test=aggregation")
        eventually(lambda: "flunders" not in self.kubectl("api-resources").stdout, 60)
        self.assertRegex(self.kubectl("get", "apiservices").stdout, r"(?m)^v1\.apps +Local +True ")

    @slow
    def test_a_namespace_and_owners_take_their_objects_with_them(self):
        self.aggregate()
        self.kubectl("create", "namespace", "mine")
        self.create(flunder("left", namespace="mine"))
        self.kubectl("delete", "namespace", "mine", "--timeout=60s")
        self.assertEqual(self.server.raw("GET", FLUNDERS.replace("default", "mine"))["items"], [])
        self.kubectl("create", "configmap", "owner")
        uid = self.kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}").stdout
        self.create(flunder("owned", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]))
        self.kubectl("delete", "configmap", "owner")
        # The garbage collector looks for new resources every 30 seconds.
        eventually(lambda: self.server.raw("GET", FLUNDERS)["items"] == [], 90, "the flunder goes with its owner")


if __name__ == "__main__":
    unittest.main()
