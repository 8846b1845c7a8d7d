"""A control plane of its own, without nodes, and webhooks that it can reach: by URL, and as the service `hooks`."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import unittest

from control_plane_case import ControlPlaneCase
from harness import needs_newest_kubectl, run

PORT = 9444
ENDPOINT = "10.99.0.1"  # of a service: not one that only this machine has


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class WebhookCase(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        run(self.network.inside(["ip", "address", "add", f"{ENDPOINT}/32", "dev", "lo"]))
        self.start_webhooks()
        self.server.start()
        self.server.wait_for_default_namespace()

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
            process.wait(120)
            process.stdout.close()
        self.addCleanup(stop)

    def apply(self, *objects):
        self.server.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def serve(self):
        """The service, with the webhooks as its endpoint."""
        self.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks", "namespace": "default"},
                    "spec": {"ports": [{"port": 443, "targetPort": PORT}]}},
                   {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                    "metadata": {"name": "hooks", "namespace": "default", "labels": {"kubernetes.io/service-name": "hooks"}},
                    "ports": [{"name": "", "port": PORT}], "endpoints": [{"addresses": [ENDPOINT]}]})
