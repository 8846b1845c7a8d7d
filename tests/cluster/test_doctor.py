"""`porthole doctor` on a cluster that `up --hardened` made, and the rotation of its certificate authority."""

import base64
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

from harness import ClusterCase, SharedCluster, needs_newest_kubectl, run, slow
from manifests import pod

HARDENED = SharedCluster("linux=1,windows=1", "--hardened")
RAW_REQUEST = pathlib.Path(__file__).with_name("raw_request.py")
# What is left to a person, with the reasons in docs/guide/hardening.md.
EXPLAINED = {"3.1.1", "5.1.7", "kubelets require Kubernetes' kernel settings"}
# What the profile leaves to a person, as the same page says: images that no registry has, and a server that judges images.
MISSING = {"1.2.11", "5.5.1"}


class Doctor(ClusterCase):
    shared = HARDENED
    alone = True  # one finds what the other makes wrong

    maxDiff = None

    def examine(self):
        done = self.cluster.porthole("doctor", "-o", "json", check=False)
        self.assertTrue(done.stdout.startswith("{"), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def test_a_hardened_cluster_has_no_unexplained_finding(self):
        code, report = self.examine()
        self.assertEqual(code, 0, report["summary"])
        told = {finding["item"] or finding["title"]: finding for finding in report["findings"]}
        unexplained = [finding for name, finding in told.items() if finding["verdict"] in ("warn", "fail") and name not in EXPLAINED | MISSING]
        self.assertEqual(unexplained, [])
        for item in ("1.1.21", "1.2.16", "4.2.14", "5.1.1"):  # files, server, kubelets and API were all asked
            self.assertEqual(told[item]["verdict"], "pass", told[item])

    def test_what_is_wrong_is_found(self):
        key = self.cluster.data / "pki/sa.key"
        os.chmod(key, 0o644)
        self.addCleanup(os.chmod, key, 0o600)
        self.kubectl("create", "clusterrolebinding", self.namespace, "--clusterrole=view", "--group=system:unauthenticated", namespaced=False)
        self.addCleanup(self.kubectl, "delete", "clusterrolebinding", self.namespace, namespaced=False)
        code, report = self.examine()
        self.assertEqual(code, 1)
        failed = {finding["item"] or finding["title"]: finding["objects"] for finding in report["findings"] if finding["verdict"] == "fail"}
        self.assertEqual(failed["1.1.21"], [f"{key} (644)"])
        self.assertEqual(failed["no role is bound to anonymous users"], [f"ClusterRole view by {self.namespace}"])

    # TRB-12, TRB-15
    def test_the_machine_is_examined_as_a_node(self):
        done = self.cluster.porthole("doctor", "--node", "-o", "json", check=False)
        findings = json.loads(done.stdout)["findings"]
        self.assertEqual([finding for finding in findings if finding["verdict"] == "fail"], [])
        self.assertEqual(done.returncode, 0)
        told = {(finding["title"], finding["detail"]) for finding in findings}
        self.assertTrue({("the node's programs run", "kubelet"), ("the clock is in step with the API server's", "")} <= told, told)
        address = self.kubectl("get", "node", "linux-1", "-o", "jsonpath={.status.addresses[0].address}", namespaced=False)
        self.assertRegex(dict(told)["an adapter has the node's address"], rf"^{address} on ")


class AuthorityRotation(ClusterCase):
    shared = HARDENED
    alone = True  # the old kubeconfigs end

    def rotate(self, step, *words, **options):
        return self.cluster.porthole("certs", "rotate", "ca", step, *words, **options)

    def ready_nodes(self):
        items = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        conditions = {item["metadata"]["name"]: {one["type"]: one["status"] for one in item["status"]["conditions"]} for item in items}
        return sorted(name for name, found in conditions.items() if found.get("Ready") == "True")

    def code(self, kubeconfig):
        words = [sys.executable, str(RAW_REQUEST), str(kubeconfig), "GET", "/api/v1/nodes"]
        status = json.loads(run(self.cluster.network.inside(words), stdin="").stdout)
        return status.get("code", 200)

    def ask_as_pod(self):
        """With what the pod has been given, as a program in it would: the answer's kind, and how many authorities its ca.crt has."""
        given = "/var/run/secrets/kubernetes.io/serviceaccount/"
        token, authority = (self.exec("asker", "cat", given + name) for name in ("token", "ca.crt"))
        own = self.cluster.folder / "pod.kubeconfig"
        encoded = base64.b64encode(authority.encode()).decode()
        own.write_text(f"server: https://127.0.0.1:6443\ncertificate-authority-data: {encoded}\n")
        answer = run(self.cluster.network.inside([sys.executable, str(RAW_REQUEST), str(own), "GET", "/api", "--token", token.strip()]), stdin="")
        self.assertEqual(json.loads(answer.stdout)["kind"], "APIVersions")
        return authority.count("BEGIN CERTIFICATE")

    @needs_newest_kubectl
    @slow
    def test_the_authority_is_replaced_while_everything_runs(self):
        before = self.ready_nodes()
        old = self.cluster.folder / "old.kubeconfig"
        shutil.copy(self.cluster.data / "admin.kubeconfig", old)
        self.apply(pod("asker", nodeSelector={"kubernetes.io/os": "linux"}))
        self.addCleanup(self.kubectl, "delete", "pod", "asker", "--grace-period=1")  # what the doctor would find
        self.wait_phase("asker", "Running")
        self.assertEqual(self.ask_as_pod(), 1)

        self.rotate("--start")
        pki = self.cluster.data / "pki"
        def served_by_new():
            shown = run(self.cluster.network.inside(["openssl", "s_client", "-connect", "127.0.0.1:6443", "-CAfile", str(pki / "ca-previous.crt"),
                                                     "-verify_return_error"]), stdin="", check=False).stdout
            self.assertIn("Verify return code: 0", shown, "who knows only the old authority verifies the server at every moment")
            return "issuer=CN = porthole-ca-" in shown
        self.eventually(served_by_new, 60, "the server serves with a certificate of the new authority")
        self.assertEqual(self.code(old), 200, "the old kubeconfig is valid until the end")
        self.assertIn("running pods", self.rotate("--finish", check=False).stderr)
        merged = lambda: self.cluster.porthole("kubeconfig", "--merge", "--kubeconfig", self.cluster.kubeconfig, check=False).returncode == 0
        self.eventually(merged, 60, "the kubeconfig has the new authority")

        def followed():
            self.assertEqual(self.ready_nodes(), before)
            self.ask_as_pod()
            status = self.rotate("--status").stdout
            missing = [name for name in before if not re.search(rf"(?m)^system:node:{name} +new ", status)]
            self.assertEqual(missing, [], status)
            return True
        self.eventually(followed, 240, "every node came with a certificate of the new authority")
        self.eventually(lambda: self.ask_as_pod() == 2, 300, "the pod's ca.crt has both authorities")

        self.rotate("--finish", "--force")
        # Its certificate with the new authority, since the old one does not even verify the server any longer.
        field = r'(certificate-authority-data"?:\s*"?)([^"\s,]+)'
        mixed = self.cluster.folder / "mixed.kubeconfig"
        new = re.search(field, (self.cluster.data / "admin.kubeconfig").read_text()).group(2)
        mixed.write_text(re.sub(field, lambda found: found.group(1) + new, old.read_text()))
        self.eventually(lambda: self.code(mixed) == 401, 60, "the old administrator's certificate is refused")
        self.eventually(lambda: "unknown authority" in self.kubectl_fails("--kubeconfig", old, "get", "nodes"), 60)
        self.cluster.porthole("kubeconfig", "--merge", "--kubeconfig", self.cluster.kubeconfig)
        self.assertEqual(self.ready_nodes(), before)
        self.assertIn("one authority", self.rotate("--status").stdout)
        self.ask_as_pod()


if __name__ == "__main__":
    unittest.main()
