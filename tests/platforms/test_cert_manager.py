"""cert-manager: issues, and renews before they end, the certificates that Certificate objects ask for."""

import base64
import shutil
import unittest

from platform_case import PlatformCase, harness

NAMESPACE = "cert-manager"
TAG = "v0.1.0"  # the chart in the module has this version; a release sets its own


class CertManager(PlatformCase):
    modules = ("cert-manager",)

    def install(self):
        for program in ("controller", "webhook", "cainjector"):
            self.add_image(f"quay.io/jetstack/cert-manager-{program}:{TAG}", "cert-manager", program)
        files = self.module("cert-manager") / "files/deploy"
        chart = self.cluster.folder / "cert-manager"
        shutil.copytree(files / "charts/cert-manager", chart)
        # As a release does: the definitions are templates of the chart, too.
        (chart / "Chart.template.yaml").rename(chart / "Chart.yaml")
        for path in (files / "crds").glob("*.yaml"):
            shutil.copy(path, chart / "templates")
        self.helm("install", "cert-manager", chart, "--namespace", NAMESPACE, "--create-namespace",
                  "--set", "startupapicheck.enabled=false", "--wait", "--timeout", "180s")
        self.wait_available(NAMESPACE, "cert-manager", "cert-manager-webhook", "cert-manager-cainjector")

    def issue(self, **spec):
        self.eventually(lambda: self.kubectl_run("apply", "-f", "-", stdin=harness.as_list([
            {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "own"}, "spec": {"selfSigned": {}}}]),
            check=False).returncode == 0, 60, "the webhook of cert-manager answers")
        self.apply({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "web"},
                    "spec": {"secretName": "web-tls", "dnsNames": ["web.example.test"], "issuerRef": {"name": "own"}, **spec}})
        self.kubectl("wait", "--for=condition=Ready", "certificate/web", "--timeout=60s", seconds=70)
        return self.certificate()

    def certificate(self):
        return base64.b64decode(self.get("secret", "web-tls")["data"]["tls.crt"]).decode()

    def test_a_certificate_is_issued_and_renewed_before_it_ends(self):
        first = self.issue(duration="1h", renewBefore="59m40s", privateKey={"algorithm": "ECDSA", "size": 256})
        shown = harness.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], stdin=first).stdout
        self.assertIn("DNS:web.example.test", shown)
        self.eventually(lambda: self.certificate() != first, 60, "the certificate is renewed")
        self.assertGreaterEqual(self.get("certificate", "web")["status"]["revision"], 2)

    def test_its_webhook_refuses_a_certificate_without_a_name(self):
        self.issue()
        refused = self.kubectl_fails("apply", "-f", "-", stdin=harness.as_list([
            {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "wrong"},
             "spec": {"secretName": "wrong-tls", "issuerRef": {"name": "own"}}}]))
        self.assertIn('admission webhook "webhook.cert-manager.io" denied the request', refused)


if __name__ == "__main__":
    unittest.main()
