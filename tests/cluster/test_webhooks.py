"""Admission webhooks over real connections, on a control plane of its own without nodes."""

import json
import time
import unittest

from webhook_case import PORT, WebhookCase
from webhook_server import SLOW


class Webhooks(WebhookCase):
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
        self.serve()
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
            self.assertLess(time.monotonic() - begun, SLOW)
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
