"""Identities of the control plane, kubelets' certificates, and `porthole certs` on a running cluster."""

import datetime
import json
import ssl
import subprocess
import sys
import unittest

from harness import DISTURBED, ClusterCase, SharedCluster, needs_newest_kubectl, run, slow
from manifests import web_deployment

PEER = "import ssl,sys; print(ssl.get_server_certificate((sys.argv[1], 10250)))"


class Identities(ClusterCase):
    @needs_newest_kubectl
    def test_controllers_act_as_their_accounts(self):
        self.apply(web_deployment("web", replicas=1))
        self.wait_rolled_out("web")
        sets = json.loads(self.kubectl("get", "replicasets", "-o", "json", "--show-managed-fields"))["items"]
        self.assertEqual({entry["manager"] for entry in sets[0]["metadata"]["managedFields"]}, {"kube-controller-manager"})
        accounts = {item["metadata"]["name"] for item in json.loads(self.kubectl("get", "serviceaccounts", "-n", "kube-system", "-o", "json",
                                                                                namespaced=False))["items"]}
        self.assertLessEqual({"deployment-controller", "replicaset-controller", "generic-garbage-collector"}, accounts)
        self.assertEqual(self.cluster.denials(), [])


class KubeletCertificates(ClusterCase):
    shared = DISTURBED
    alone = True  # a node more would count in other tests

    def requests(self):
        items = json.loads(self.kubectl("get", "csr", "-o", "json", namespaced=False))["items"]
        return [item for item in items if item["spec"]["signerName"] == "kubernetes.io/kubelet-serving"]

    def test_nodes_serve_with_certificates_that_the_server_verifies(self):
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        authority = self.cluster.data / "pki/kubelet-serving-ca.crt"
        for node in nodes:
            address = next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
            def verified():
                pem = run(self.cluster.network.inside([sys.executable, "-c", PEER, address])).stdout
                done = run(["openssl", "verify", "-CAfile", authority, "-verify_ip", address], stdin=pem, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                return True
            self.eventually(verified, 60, f"{node['metadata']['name']} serves with its certificate")
        # A node renews its certificate when it likes.
        decisions = lambda: [[condition["type"] for condition in request["status"]["conditions"]] for request in self.requests()]
        self.eventually(lambda: all(types == ["Approved"] for types in decisions()), what="their requests are approved")
        self.assertNotIn("cannot be verified", (self.cluster.data / "logs/server.log").read_text())

    @needs_newest_kubectl
    def test_a_kubelet_with_a_certificate_of_another_authority_is_not_asked(self):
        """A listener that is no kubelet, at the address and port that a node of this name has."""
        folder = self.cluster.folder
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
             "/O=system:nodes/CN=system:node:liar", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "liar.key", "-out",
             folder / "liar.crt"])
        listener = subprocess.Popen(self.cluster.network.inside(["openssl", "s_server", "-accept", "127.0.0.1:19250", "-cert",
                                                                 str(folder / "liar.crt"), "-key", str(folder / "liar.key"), "-www"]),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            self.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "liar"}})
            self.kubectl("patch", "node", "liar", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 19250}}}}), namespaced=False)
            def told():  # once the listener listens, and the server knows the address
                error = self.kubectl_fails("get", "--raw", "/api/v1/nodes/liar/proxy/healthz", namespaced=False)
                self.assertIn("certificate not trusted", error)
                return True
            self.eventually(told, what="the liar is not asked")
        finally:
            listener.terminate()
            listener.wait(60)
            self.kubectl("delete", "node", "liar", "--ignore-not-found", namespaced=False)


class Certs(ClusterCase):
    @needs_newest_kubectl
    def test_the_key_of_tokens_is_rotated_without_refusing_any(self):
        listed = self.cluster.porthole("certs", "list").stdout
        for name in ("kubelet-serving-ca", "front-proxy-client", "apiserver", "service-account-key: one key"):
            self.assertIn(name, listed)
        def keys():
            return [key["kid"] for key in json.loads(self.kubectl("get", "--raw", "/openid/v1/jwks", namespaced=False))["keys"]]
        before, old = keys(), self.kubectl("create", "token", "default").strip()
        self.cluster.porthole("certs", "rotate", "service-account-key", "--start")
        def rotated():
            self.assertEqual(self.who(old), f"system:serviceaccount:{self.namespace}:default", "at every moment")
            return len(keys()) == 2
        self.eventually(rotated, 60, "the server knows both keys")
        self.assertEqual(keys()[1:], before)
        self.assertEqual(self.who(self.kubectl("create", "token", "default").strip()), f"system:serviceaccount:{self.namespace}:default")
        self.assertIn("two keys", self.cluster.porthole("certs", "list").stdout)
        refused = self.cluster.porthole("certs", "rotate", "service-account-key", "--finish", check=False)
        self.assertIn("running pods may have tokens of the previous key", refused.stderr)

    def who(self, token):
        """As whom the server knows the token: it may do nothing, and the refusal names it."""
        status = self.cluster.raw("GET", "/api/v1/secrets", "--token", token)
        self.assertEqual(status["code"], 403, status)
        return status["message"].split('"')[1]

    def test_a_renewed_certificate_is_served_without_a_restart(self):
        def made():
            return ssl.PEM_cert_to_DER_cert((self.cluster.data / "pki/apiserver.crt").read_text())
        script = "import ssl,sys; sys.stdout.write(ssl.get_server_certificate(('127.0.0.1', 6443)))"
        shown = lambda: ssl.PEM_cert_to_DER_cert(run(self.cluster.network.inside([sys.executable, "-c", script])).stdout)
        before = shown()
        self.cluster.porthole("certs", "renew", "apiserver")
        self.assertNotEqual(made(), before)
        self.eventually(lambda: shown() == made(), 60, "the new certificate is served")


class ForcedRotation(ClusterCase):
    shared = SharedCluster("linux=1,windows=1")

    def rotate_at_once(self):
        """As after a theft of the key: no node has followed. Until the nodes are refused, and since when."""
        log = self.cluster.data / "logs/linux-1-agent.log"
        size = log.stat().st_size
        self.cluster.porthole("certs", "rotate", "ca", "--start")
        said = self.cluster.porthole("certs", "rotate", "ca", "--finish", "--force").stdout
        self.assertIn("linux-1, windows-1 still had certificates of the old authority", said)
        self.eventually(lambda: "node lease cannot be renewed" in log.read_text()[size:], 90, "the server refuses the nodes")
        return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # as leases have it

    def nodes_since(self, since):
        """Whose kubelets the server has heard since then. The administrator's certificate has been replaced, too."""
        self.cluster.porthole("kubeconfig", "--merge", "--kubeconfig", self.cluster.kubeconfig)
        leases = json.loads(self.kubectl("get", "leases", "-n", "kube-node-lease", "-o", "json", namespaced=False))["items"]
        return sorted(lease["metadata"]["name"] for lease in leases if lease["spec"]["renewTime"] > since)

    @slow
    def test_nodes_that_have_not_followed_a_forced_rotation_get_other_certificates(self):
        both = ["linux-1", "windows-1"]
        since = self.rotate_at_once()
        self.cluster.up()
        self.eventually(lambda: self.nodes_since(since) == both, 120, "nodes of a running cluster join again")
        since = self.rotate_at_once()
        self.cluster.down()
        self.cluster.up()
        self.eventually(lambda: self.nodes_since(since) == both, 30, "so do those of a cluster that was stopped")
        since = self.rotate_at_once()
        self.cluster.kill("supervisor")
        self.eventually(lambda: self.nodes_since(since) == both, 120, "the next supervisor sees to it as well")


if __name__ == "__main__":
    unittest.main()
