"""Admission webhooks over real connections, on a control plane of its own without nodes."""

import base64
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from harness import CLIENTS, Network, eventually, run
from test_access import ControlPlane

PORT = 9444
ENDPOINT = "10.99.0.1"  # of a service: not one that only this machine has


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@unittest.skipUnless(CLIENTS["new"].exists(), "the newest kubectl is not built: ./run clients")
class Webhooks(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.network = Network(f"porthole-test-{os.getpid()}-{secrets.token_hex(2)}")
        self.addCleanup(self.network.delete)
        run(self.network.inside(["ip", "address", "add", f"{ENDPOINT}/32", "dev", "lo"]))
        self.start_webhooks()
        self.server = ControlPlane(self.network, self.folder)
        self.addCleanup(self.server.stop)
        self.server.start()
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 20, "the namespace default")

    def start_webhooks(self):
        certificate, key = self.folder / "tls.crt", self.folder / "tls.key"
        run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hooks", "-addext",
             "subjectAltName=IP:127.0.0.1,DNS:hooks.default.svc", "-keyout", key, "-out", certificate])
        self.authority = base64.b64encode(certificate.read_bytes()).decode()
        script = pathlib.Path(__file__).with_name("webhook_server.py")
        process = subprocess.Popen(self.network.inside([sys.executable, str(script), str(PORT), str(certificate), str(key)]),
                                   stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        process.stdout.readline()

        def stop():
            process.terminate()
            process.wait(10)
            process.stdout.close()
        self.addCleanup(stop)

    def apply(self, *objects):
        self.server.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def configure(self, kind, path, client=None, rule=None, **more):
        """One webhook for what is created of config maps with the label hook=NAME, where NAME is the path."""
        name = path.strip("/")
        rule = rule or {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        client = client or {"url": f"https://127.0.0.1:{PORT}{path}"}
        selector = {} if rule["operations"] == ["CONNECT"] else {"objectSelector": {"matchLabels": {"hook": name}}}
        self.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": name},
                    "webhooks": [{"name": f"{name}.example.com", "clientConfig": {**client, "caBundle": self.authority}, "rules": [rule],
                                  "sideEffects": "None", "admissionReviewVersions": ["v1"], **selector, **more}]})

    def create(self, name, hook):
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"hook": hook}}, "data": {"a": "b"}}
        return self.server.kubectl("create", "-f", "-", check=False, stdin=json.dumps(made))

    def test_a_webhook_changes_and_refuses(self):
        self.configure("Mutating", "/mutate")
        self.configure("Validating", "/deny")
        self.assertEqual(self.create("one", "mutate").returncode, 0)
        data = json.loads(self.server.kubectl("get", "configmap", "one", "-o", "json").stdout)["data"]
        self.assertEqual(data, {"a": "b", "webhook": "kubernetes-admin"})
        refused = self.create("two", "deny").stderr
        self.assertIn('admission webhook "deny.example.com" denied the request: not in this cluster', refused)
        self.assertIn("Warning: ask the team", refused)

    def test_a_service_is_reached_at_its_endpoint(self):
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks", "namespace": "default"},
                    "spec": {"ports": [{"port": 443, "targetPort": PORT}]}},
                   {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                    "metadata": {"name": "hooks", "namespace": "default", "labels": {"kubernetes.io/service-name": "hooks"}},
                    "ports": [{"name": "", "port": PORT}], "endpoints": [{"addresses": [ENDPOINT]}]})
        self.configure("Validating", "/deny", {"service": {"namespace": "default", "name": "hooks", "path": "/deny"}})
        self.assertIn("denied the request: not in this cluster", self.create("one", "deny").stderr)
        self.configure("Validating", "/allow", {"service": {"namespace": "default", "name": "hooks", "path": "/allow"}})
        self.assertEqual(self.create("two", "allow").returncode, 0)

    def test_hostile_webhooks_harm_their_request_alone(self):
        for path in ("/slow", "/wrong", "/huge", "/loop"):
            self.configure("Validating", path, timeoutSeconds=2)
        words = {"slow": "context deadline exceeded", "wrong": "expected response.uid=", "huge": "the answer is longer", "loop": "status code 307"}
        for hook, why in words.items():
            begun = time.monotonic()
            refused = self.create(f"map-{hook}", hook)
            self.assertIn(f'failed calling webhook "{hook}.example.com"', refused.stderr)
            self.assertIn(why, refused.stderr)
            self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(self.create("plain", "none").returncode, 0)
        self.assertIn('rejection_code="500"', self.server.kubectl("get", "--raw", "/metrics").stdout)
        self.configure("Validating", "/slow", timeoutSeconds=1, failurePolicy="Ignore")
        self.assertEqual(self.create("ignored", "slow").returncode, 0)

    def test_connects_are_reviewed(self):
        self.server.kubectl("run", "web", "--image=example.test/web:1")
        self.configure("Validating", "/attach",
                       rule={"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/attach"]})
        answer = self.server.raw("POST", "/api/v1/namespaces/default/pods/web/attach?stdin=true")
        self.assertIn("denied the request: PodAttachOptions True", json.dumps(answer))


if __name__ == "__main__":
    unittest.main()
