"""Users of an issuer of tokens, admission plugins and other choices about access, on a control plane of its own without nodes."""

import base64
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

from control_plane_case import ControlPlaneCase
from harness import PORTHOLE, eventually, needs_newest_kubectl, run

ISSUER_PORT = 9443
ISSUER = f"https://127.0.0.1:{ISSUER_PORT}"

AUTHENTICATION = """apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {{enabled: true, conditions: [{{path: /livez}}, {{path: /readyz}}]}}
jwt:
- issuer:
    url: {url}
    audiences: [porthole]
    certificateAuthority: |
{authority}
  claimMappings:
    username: {{claim: sub, prefix: "oidc:"}}
    groups: {{claim: groups, prefix: "oidc:"}}
"""

ADMISSION = """apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: User, qps: 1, burst: 3}]
- name: PodNodeSelector
  path: selectors.yaml
- name: ImagePolicyWebhook
  configuration: {imagePolicy: {kubeConfigFile: POLICY, allowTTL: -1, denyTTL: -1}}
"""

PLUGINS = "AlwaysPullImages,DenyServiceExternalIPs,EventRateLimit,ImagePolicyWebhook,PodNodeSelector"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenIssuer:
    """The process of token_issuer.py with its certificate and its signing key, all below `folder`."""

    def __init__(self, network, folder):
        self.folder = folder
        folder.mkdir()
        run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=issuer", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"])
        self.new_key("first")
        self.allow_images(True)
        script = pathlib.Path(__file__).with_name("token_issuer.py")
        self.process = subprocess.Popen(network.inside([sys.executable, str(script), str(ISSUER_PORT), str(folder / "tls.crt"),
                                                        str(folder / "tls.key"), str(folder)]),
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()

    def new_key(self, name):
        """Publishes a key, and signs with it from now on."""
        self.key, self.key_id = self.folder / f"{name}.pem", name
        run(["openssl", "genrsa", "-out", self.key, "2048"])
        modulus = run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"]).stdout.strip().split("=")[1]
        keys = {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": name, "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"}]}
        (self.folder / "jwks.json").write_text(json.dumps(keys))

    def allow_images(self, allowed):
        (self.folder / "policy.json").write_text(json.dumps({"allowed": allowed} if allowed else {"allowed": False, "reason": "unsigned"}))

    def token(self, lifetime=600, algorithm="RS256", **claims):
        body = {"iss": ISSUER, "aud": "porthole", "sub": "jane", "exp": int(time.time()) + lifetime, **claims}
        part = ".".join(base64url(json.dumps(piece).encode()) for piece in ({"alg": algorithm, "kid": self.key_id}, body))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=part.encode(), capture_output=True, check=True)
        return f"{part}.{base64url(signed.stdout)}"

    def stop(self):
        self.process.terminate()
        self.process.wait(120)
        self.process.stdout.close()


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class Access(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        self.issuer = TokenIssuer(self.network, self.folder / "issuer")
        self.addCleanup(self.issuer.stop)
        self.server.start("--authentication-config", self.write_authentication(), "--enable-admission-plugins", PLUGINS,
                         "--admission-control-config-file", self.write_admission())
        self.token_kubeconfig = self.server.write_token_kubeconfig()
        self.server.wait_for_default_namespace()

    def write_authentication(self):
        authority = "".join(f"      {line}\n" for line in (self.folder / "issuer/tls.crt").read_text().splitlines())
        path = self.folder / "authentication.yaml"
        path.write_text(AUTHENTICATION.format(url=ISSUER, authority=authority))
        return path

    def write_admission(self):
        (self.folder / "selectors.yaml").write_text("podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: zone=inner}\n")
        policy = self.folder / "policy.kubeconfig"
        policy.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "policy",
            "clusters": [{"name": "policy", "cluster": {"server": f"{ISSUER}/policy", "certificate-authority": str(self.folder / "issuer/tls.crt")}}],
            "users": [{"name": "policy", "user": {}}],
            "contexts": [{"name": "policy", "context": {"cluster": "policy", "user": "policy"}}]}))
        path = self.folder / "admission.yaml"
        path.write_text(ADMISSION.replace("POLICY", str(policy)))
        return path

    def as_user(self, token, *words, **options):
        return self.server.kubectl("--kubeconfig", self.token_kubeconfig, f"--token={token}", *words, **options)

    def test_users_of_an_issuer_get_in_by_their_tokens(self):
        token = self.issuer.token(groups=["team"])
        who = json.loads(eventually(lambda: self.as_user(token, "auth", "whoami", "-o", "json", check=False).stdout, 60, "jane is let in"))
        self.assertEqual(who["status"]["userInfo"]["username"], "oidc:jane")
        self.assertIn("oidc:team", who["status"]["userInfo"]["groups"])
        self.assertIn('User "oidc:jane" cannot list resource "configmaps"', self.as_user(token, "get", "configmaps", check=False).stderr)
        self.server.kubectl("create", "rolebinding", "team", "--clusterrole=view", "--group=oidc:team", "-n", "default")
        eventually(lambda: self.as_user(token, "get", "configmaps", check=False).returncode == 0, 60, "the role holds")

        for refused in (self.issuer.token(lifetime=-1), self.issuer.token(aud="else"), self.issuer.token(algorithm="none"),
                        token[:-8] + "AAAAAAAA"):
            self.assertRegex(self.as_user(refused, "get", "configmaps", check=False).stderr, "Unauthorized|must be logged in")
        self.issuer.new_key("second")
        fresh = self.issuer.token(groups=["team"])
        eventually(lambda: self.as_user(fresh, "get", "configmaps", check=False).returncode == 0, 60, "the new key is known")

    def test_anonymous_requests_reach_only_what_the_file_says(self):
        self.assertEqual(self.server.raw("GET", "/livez", "--token", ""), {"code": 200, "text": "ok"})
        self.assertEqual(self.server.raw("GET", "/version", "--token", "")["code"], 401)

    def test_the_server_tells_the_settings_that_are_its_defaults(self):
        page = self.server.raw("GET", "/flagz", "--header", "Accept: text/plain")["text"]
        told = dict(line.split("=", 1) for line in page.splitlines() if "=" in line)
        expected = {"anonymous-auth": "true", "audit-log-maxage": "30", "audit-log-maxbackup": "10", "audit-log-maxsize": "100",
                    "audit-webhook-batch-max-wait": "30s", "audit-webhook-initial-backoff": "10s", "authorization-mode": "Node,RBAC",
                    "enable-priority-and-fairness": "true", "oidc-signing-algs": "RS256", "pod-security-default": "privileged",
                    "requestheader-username-headers": "X-Remote-User", "revive-supervisor": "false", "tls-min-version": "VersionTLS12"}
        self.assertEqual({name: told.get(name) for name in expected}, expected)

    def test_a_changed_file_counts_while_the_server_runs(self):
        path = self.folder / "authentication.yaml"
        before = path.read_text()
        def code():
            return self.server.raw("GET", "/version", "--token", "").get("code", 200)
        def reloads(status):
            text = self.server.raw("GET", "/metrics")["text"]
            return int(re.search(rf'authentication_config_controller_automatic_reloads_total{{status="{status}"}} (\d+)', text).group(1))
        def write(text):  # at once: the server may look at any time
            made = path.with_suffix(".new")
            made.write_text(text)
            made.rename(path)
        write(before.replace("{path: /livez}", "{path: /livez}, {path: /version}"))
        eventually(lambda: code() == 200, 60, "the version is for everyone")
        write("kind: Nothing\n")
        eventually(lambda: reloads("failure"), 60, "the wrong file is counted")
        self.assertEqual(code(), 200, "what was stays in use")
        self.assertIn("the changed authentication configuration is not used", (self.folder / "server.log").read_text())
        write(before)
        eventually(lambda: code() == 401, 60, "the version is for users")
        eventually(lambda: reloads("success") == 2, 60, "both changes are counted")

    def test_admission_plugins_of_a_hardened_cluster(self):
        self.server.kubectl("run", "web", "--image=example.test/web:1", "--image-pull-policy=IfNotPresent")
        spec = json.loads(self.server.kubectl("get", "pod", "web", "-o", "json").stdout)["spec"]
        self.assertEqual(spec["containers"][0]["imagePullPolicy"], "Always")
        self.assertEqual(spec["nodeSelector"], {"zone": "inner"})
        self.issuer.allow_images(False)
        try:
            self.assertIn("image policy webhook backend denied one or more images: unsigned",
                          self.server.kubectl("run", "bad", "--image=example.test/bad:1", check=False).stderr)
        finally:
            self.issuer.allow_images(True)
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "out"},
                   "spec": {"ports": [{"port": 80}], "externalIPs": ["192.0.2.1"]}}
        self.assertIn("Use of external IPs is denied by admission control",
                      self.server.kubectl("create", "-f", "-", check=False, stdin=json.dumps(service)).stderr)
        def write_event(number):
            return self.server.raw("POST", "/api/v1/namespaces/default/events", body=json.dumps({
                "metadata": {"name": f"e{number}"}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}}))
        with concurrent.futures.ThreadPoolExecutor(20) as pool:  # faster than the limit gives new events, on a slow machine, too
            events = list(pool.map(write_event, range(20)))
        limited = [event for event in events if event.get("code") == 429]
        self.assertTrue(limited)
        self.assertRegex(limited[0]["message"], re.escape("Too many requests: limit reached on type User for key "))

    def test_options_that_are_not_valid_end_the_server_with_one_line(self):
        data = self.folder / "refused"
        done = run(self.network.inside([str(PORTHOLE), "server", "--data", str(data), "--port", "7443", "--enable-admission-plugins", "Nothing"]),
                   check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('porthole: enable-admission-plugins plugin "Nothing" is unknown', done.stderr)


if __name__ == "__main__":
    unittest.main()
