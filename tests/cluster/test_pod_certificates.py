"""Certificates of pods and trust bundles, in volumes on both systems. The signer is this test, with openssl; kubectl and openssl are the judges."""

import base64
import json
import pathlib
import re
import ssl
import tempfile
import time

from harness import run
from manifests import container, pod
from test_windows_node import WindowsCase, windows_pod

SIGNER = "test.example.com/web"
FILES = {"credentialBundlePath": "both.pem", "keyPath": "key.pem", "certificateChainPath": "chain.pem"}
ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]
API = "/apis/certificates.k8s.io/v1beta1"


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class PodCertificates(WindowsCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
                     "-subj", "/CN=ca of the test", "-days", "1")
        self.bundle = SIGNER.replace("/", ":") + ":" + self.namespace
        self.apply({"apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
                    "metadata": {"name": self.bundle, "labels": {"test": self.namespace}},
                    "spec": {"signerName": SIGNER, "trustBundle": (self.folder / "ca.pem").read_text()}})
        self.addCleanup(self.kubectl, "delete", "clustertrustbundle", self.bundle, namespaced=False)

    def openssl(self, *words, **options):
        return run(["openssl", *words], cwd=self.folder, **options).stdout

    def with_certificate(self, made):
        """The pod with a volume of its certificate, and of the signer's."""
        sources = [{"podCertificate": {"signerName": SIGNER, "keyType": "ECDSAP256", **FILES}},
                   {"clusterTrustBundle": {"signerName": SIGNER, "labelSelector": {"matchLabels": {"test": self.namespace}}, "path": "ca.pem"}}]
        made["spec"]["volumes"] = [{"name": "tls", "projected": {"sources": sources}}]
        made["spec"]["containers"][0]["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
        return made

    def request_of(self, name):
        """The pod's request that is not answered yet."""
        return self.eventually(lambda: next((one for one in self.list("podcertificaterequests") if one["spec"]["podName"] == name and
                                             not one.get("status", {}).get("conditions")), None), 60, f"a request of {name}")

    def answer(self, request, status):
        path = f"{API}/namespaces/{self.namespace}/podcertificaterequests/{request['metadata']['name']}/status"
        answer = self.cluster.raw("PATCH", path, "--header", "Content-Type: application/merge-patch+json", body=json.dumps({"status": status}))
        self.assertEqual(answer["kind"], "PodCertificateRequest", answer)

    def sign(self, request):
        (self.folder / "stub.der").write_bytes(base64.b64decode(request["spec"]["stubPKCS10Request"]))
        (self.folder / "names").write_text(f"subjectAltName = critical, DNS:{request['spec']['podName']}\n")
        chain = self.openssl("x509", "-req", "-inform", "DER", "-in", "stub.der", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                             "-days", "1", "-extfile", "names")
        (self.folder / "leaf.pem").write_text(chain)
        dates = dict(line.split("=") for line in self.openssl("x509", "-in", "leaf.pem", "-noout", "-dates").splitlines())
        begin, end = (ssl.cert_time_to_seconds(dates[key]) for key in ("notBefore", "notAfter"))
        self.answer(request, {"certificateChain": chain, "notBefore": stamp(begin), "notAfter": stamp(end), "beginRefreshAt": stamp(begin + 3600),
                              "conditions": [{"type": "Issued", "status": "True", "reason": "Signed", "message": "by the test"}]})

    def states(self, name):
        """How many certificates of the signer are in each state, by the metrics of the pod's kubelet."""
        node = self.get("pod", name)["spec"]["nodeName"]
        metrics = self.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics", namespaced=False)
        found = re.findall(f'^kubelet_podcertificate_states{{signer_name="{SIGNER}",state="(.*)"}} (.*)$', metrics, re.MULTILINE)
        return {state: int(count) for state, count in found}

    def check_files(self, name, read):
        """What the pod has is a key with its certificate, which the bundle verifies."""
        for file in [*FILES.values(), "ca.pem"]:
            (self.folder / f"{name}-{file}").write_text(read(file).replace("\r", ""))
        self.assertIn("OK", self.openssl("verify", "-CAfile", f"{name}-ca.pem", f"{name}-chain.pem"))
        keys = [self.openssl("pkey", "-in", f"{name}-{file}", "-pubout") for file in ("key.pem", "both.pem")]
        self.assertEqual(keys, [self.openssl("x509", "-in", f"{name}-chain.pem", "-noout", "-pubkey")] * 2)
        self.assertIn(f"DNS:{name}", self.openssl("x509", "-in", f"{name}-chain.pem", "-noout", "-ext", "subjectAltName"))

    def test_pods_of_both_systems_get_certificates_from_a_signer_and_its_trust_bundle(self):
        self.apply(self.with_certificate(pod("lin", container(script="sleep 600"), nodeSelector={"kubernetes.io/os": "linux"})),
                   self.with_certificate(windows_pod("win", ENDLESS)))
        for name in ("lin", "win"):
            request = self.request_of(name)
            self.assertEqual(request["spec"]["nodeName"], self.get("pod", name)["spec"]["nodeName"])
            self.sign(request)
        for name in ("lin", "win"):
            self.wait_ready(name)
            self.assertEqual(self.states(name), {"fresh": 1})
        self.check_files("lin", lambda file: self.exec("lin", "cat", f"/tls/{file}"))
        self.check_files("win", lambda file: self.exec("win", "cmd", "/c", f"type C:\\tls\\{file}"))
        self.apply(self.with_certificate(pod("refused", container(script="sleep 600"), nodeSelector={"kubernetes.io/os": "linux"})))
        self.answer(self.request_of("refused"), {"conditions": [{"type": "Denied", "status": "True", "reason": "Unknown", "message": "who?"}]})
        self.wait_event("FailedMount", 'PodCertificateRequest was permanently denied: reason="Unknown" message="who?"')
        self.assertEqual(self.states("refused"), {"fresh": 1, "denied": 1})

    def test_the_authority_of_the_api_server_is_published(self):
        found = self.list_everywhere("clustertrustbundles", "spec.signerName=kubernetes.io/kube-apiserver-serving")
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["spec"]["trustBundle"].strip(), self.get("configmap", "kube-root-ca.crt")["data"]["ca.crt"].strip())

    def list_everywhere(self, kind, selector):
        return json.loads(self.kubectl("get", kind, "--field-selector", selector, "-o", "json", namespaced=False))["items"]
