"""The rows about extension: a webhook's share of a create, and 100,000 custom objects. Works on a Bench that has signed in."""

import base64
import json
import pathlib
import subprocess
import sys
import time

import harness
from copies import create_copies

PORT = 9444
OBJECTS = 100_000
OBJECT_BYTES = 1000
GROUP = "bench.example.com"
COLLECTION = f"/apis/{GROUP}/v1/namespaces/many/parts"


def measure_webhook(bench):
    """A create one at a time, first without a webhook, then with one that changes the object; the peer is the webhook by itself."""
    folder = bench.cluster.folder
    body = folder / "small.json"
    body.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "hook-"}, "data": {"a": "b"}}))
    path = "/api/v1/namespaces/hooked/configmaps"
    bench.kubectl("create", "namespace", "hooked")
    options = [*bench.headers("content-type: application/json"), "-d", str(body)]
    create = lambda: bench.load.run(bench.server + path, *options, in_flight=1, connections=1)[1]
    plain = create()
    webhooks, authority = start_webhooks(bench)
    try:
        hook = {"name": "bench.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": f"https://127.0.0.1:{PORT}/mutate", "caBundle": authority},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooked"}}}
        bench.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                                                            "metadata": {"name": "bench"}, "webhooks": [hook]}))
        harness.eventually(lambda: "webhook" in bench.raw("POST", path, body.read_text()).get("data", {}), 10)
        hooked = create()
        review = folder / "review.json"
        request = {"uid": "1", "userInfo": {"username": "bench"}, "object": json.loads(body.read_text())}
        review.write_text(json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
        alone = bench.load.run(f"https://127.0.0.1:{PORT}/mutate", "--h1", "-d", str(review), in_flight=1, connections=1)[1]
        bench.kubectl("delete", "mutatingwebhookconfiguration", "bench")
    finally:
        webhooks.terminate()
        webhooks.wait(10)
    bench.table.row("create with a mutating webhook, more than without", f"{(hooked - plain) * 1e3:.2f} ms", "", f"webhook alone {alone * 1e3:.2f} ms")


def start_webhooks(bench):
    """(process, certificate as base64)"""
    folder = bench.cluster.folder
    certificate, key = folder / "hooks.crt", folder / "hooks.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hooks", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    script = pathlib.Path(harness.__file__).with_name("webhook_server.py")
    process = bench.background([sys.executable, script, PORT, certificate, key], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process, base64.b64encode(certificate.read_bytes()).decode()


def measure_many(bench, resident):
    """`resident`: bytes of RSS of a process id."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}, "size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"parts.{GROUP}"},
                  "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "parts", "kind": "Part"}, "versions": [version]}}
    bench.kubectl("create", "namespace", "many")
    bench.kubectl("apply", "-f", "-", stdin=json.dumps(definition))
    part = {"apiVersion": f"{GROUP}/v1", "kind": "Part", "metadata": {"generateName": "p-"},
            "spec": {"size": 7, "text": "x" * (OBJECT_BYTES - 400)}}
    harness.eventually(lambda: bench.raw("POST", COLLECTION, json.dumps(part)).get("kind") == "Part", 10)
    server = lambda: bench.cluster.processes()["server"]
    before, started = resident(server()), time.monotonic()
    create_copies(bench.cluster.network, bench.server + COLLECTION, bench.token, part, OBJECTS, bench.cluster.folder)
    seconds = time.monotonic() - started
    bench.table.row(f"{OBJECTS:,} custom objects of {OBJECT_BYTES} B created", f"{OBJECTS / seconds:,.0f}/s", "", "")
    time.sleep(15)  # until what only the work needed has been given back
    bench.table.row(f"server, {OBJECTS:,} custom objects more: RSS more", f"{(resident(server()) - before) / 1e6:.0f} MB", "", "")
    mean = bench.load.run(f"{bench.server}{COLLECTION}?limit=500", *bench.headers(), in_flight=1, connections=1)[1]
    bench.table.row("a page of 500 of them", f"{mean * 1e3:.1f} ms", "", "")
    bench.cluster.kill("server")
    started = time.monotonic()
    bench.until(started, lambda: bench.raw("GET", f"{COLLECTION}?limit=1").get("kind") == "PartList")
    bench.table.row("server killed → the same served again", f"{time.monotonic() - started:.1f} s", "", "")
