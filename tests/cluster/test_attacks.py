"""Attacks on the control plane, typed as an attacker would who has a token with few rights: each is refused, and the next request is served."""

import base64
import json
import pathlib
import re
import secrets
import subprocess
import sys
import time
import urllib.parse

from harness import ClusterCase, needs_newest_kubectl, raw_request, run
from manifests import container, pod

NODE = "linux-1"
FLOOD = pathlib.Path(__file__).with_name("flood.py")
JSON_PATCH = "Content-Type: application/json-patch+json"
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."
ASKED = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class TokenCase(ClusterCase):
    def token(self, *rules, everywhere=False):
        """Of a new service account with a role that `kubectl create role` makes of `rules`."""
        name, kinds = "a" + secrets.token_hex(3), ("clusterrole", "clusterrolebinding") if everywhere else ("role", "rolebinding")
        self.kubectl("create", "serviceaccount", name)
        name_there = f"{self.namespace}-{name}" if everywhere else name
        self.kubectl("create", kinds[0], name_there, *rules)
        self.kubectl("create", kinds[1], name_there, f"--{kinds[0]}={name_there}", f"--serviceaccount={self.namespace}:{name}")
        if everywhere:
            self.addCleanup(lambda: self.kubectl("delete", kinds[0] + "," + kinds[1], name_there, namespaced=False))
        token = self.token_of(name)
        return token

    def token_of(self, account, seconds=3600, **spec):
        """As `kubectl create token`, which kubectl 1.20 does not know."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds, **spec}}
        made = self.kubectl("create", "--raw", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token", "-f", "-",
                            stdin=json.dumps(request))
        return json.loads(made)["status"]["token"]

    def text(self, method, path, token, body="", header="Content-Type: application/json", headers=()):
        words = [word for one in (header, *headers) for word in ("--header", one)]
        return raw_request(self.cluster.network, self.cluster.kubeconfig, method, path, "--token", token, *words, body=body)

    def ask(self, *words, **options):
        return json.loads(self.text(*words, **options))

    def refused(self, answer, *codes):
        self.assertEqual(answer["kind"], "Status", answer)
        self.assertIn(answer["code"], codes, answer)


class ByReaders(TokenCase):
    def test_the_servers_certificate_is_not_shown_through_a_node(self):
        token = self.token("--verb=get,create", "--resource=nodes/proxy", everywhere=True)
        self.refused(self.ask("GET", f"/api/v1/nodes/https:{NODE}:6443/proxy/api/v1/secrets", token), 401, 403)

    def test_rights_to_one_name_show_one_object(self):
        for name in ("foo", "other"):
            self.kubectl("create", "secret", "generic", name, "--from-literal=key=value")
        token = self.token("--verb=list,watch", "--resource=secrets", "--resource-name=foo")
        secrets_of = f"/api/v1/namespaces/{self.namespace}/secrets"
        allowed = self.ask("GET", secrets_of + "?fieldSelector=metadata.name%3Dfoo", token)
        self.assertEqual([one["metadata"]["name"] for one in allowed["items"]], ["foo"])
        self.refused(self.ask("GET", secrets_of + "?fieldSelector=metadata.namespace!%3Dx%5C,metadata.name%3Dfoo", token), 400, 403)
        watched = self.text("GET", f"/api/v1/watch/namespaces/{self.namespace}/secrets/foo?timeoutSeconds=3", token)
        self.assertEqual({json.loads(line)["object"]["metadata"]["name"] for line in watched.splitlines() if line}, {"foo"})

    def test_a_namespace_in_the_path_gives_no_rights_beyond_it(self):
        token = self.token("--verb=*", "--resource=*.*", "--resource=*")
        for path in ("nodes", f"nodes/{NODE}", f"nodes/{NODE}/proxy/pods", "namespaces/kube-system", "persistentvolumes"):
            self.refused(self.ask("GET", f"/api/v1/namespaces/{self.namespace}/{path}", token), 403, 404)

    def test_a_token_is_good_for_its_audience_alone(self):
        def review(token, audience):
            request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": [audience]}}
            status = self.cluster.raw("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=json.dumps(request))["status"]
            return status.get("authenticated", False), status.get("audiences")
        for_vault = self.token_of("default", audiences=["vault"])
        self.assertEqual(review(self.token_of("default"), "vault"), (False, None))
        self.assertEqual(review(for_vault, "vault"), (True, ["vault"]))
        self.refused(self.ask("GET", "/api/v1/namespaces", for_vault), 401)

    def test_a_websocket_runs_nothing_with_the_right_to_get(self):
        token = self.token("--verb=get", "--resource=pods/exec,pods/attach,pods/portforward")
        for subresource in ("exec?command=id&stdout=true", "attach?stdout=true", "portforward?ports=80"):
            path = f"/api/v1/namespaces/{self.namespace}/pods/any/{subresource}"
            answer = self.ask("GET", path, token, headers=(*WEBSOCKET, "Sec-WebSocket-Protocol: v5.channel.k8s.io"))
            self.refused(answer, 403)
            self.assertIn('cannot create resource "pods/', answer["message"])

    def test_a_token_in_a_websocket_protocol_stays_with_the_server(self):
        refusal = "HTTP/1.1 400 Bad Request\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"
        self.apply(pod("collector", container(script=f"while :; do printf '{refusal}' | nc -l -p 8080 >>/tmp/seen; done")))
        token = self.token("--verb=get,create", "--resource=pods/proxy")
        self.wait_ready("collector")
        protocols = f"Sec-WebSocket-Protocol: {BEARER_PROTOCOL}{base64.urlsafe_b64encode(token.encode()).decode().rstrip('=')}, mine"
        path = f"/api/v1/namespaces/{self.namespace}/pods/collector:8080/proxy/"
        self.eventually(lambda: self.text("GET", path, "", headers=(*WEBSOCKET, protocols)) and "mine" in self.exec("collector", "cat", "/tmp/seen"),
                        30, "the pod is asked")
        seen = self.exec("collector", "cat", "/tmp/seen")
        self.assertNotIn(BEARER_PROTOCOL, seen)
        self.assertNotIn("uthorization", seen)

    @needs_newest_kubectl
    def test_a_proxy_goes_to_no_address_of_the_servers_own_machine(self):
        self.apply(pod("nowhere", schedulerName="nobody"))
        token = self.token("--verb=get", "--resource=pods/proxy")
        for address in ("127.0.0.1", "169.254.169.254"):
            status = json.dumps({"status": {"podIP": address, "podIPs": [{"ip": address}]}})
            self.kubectl("patch", "pod", "nowhere", "--subresource=status", "--type=merge", "-p", status)
            answer = self.ask("GET", f"/api/v1/namespaces/{self.namespace}/pods/https:nowhere:6443/proxy/version", token)
            self.refused(answer, 400)
            self.assertIn("address not allowed", answer["message"])

    def test_a_token_lives_as_long_as_it_says(self):
        self.kubectl("create", "serviceaccount", "short")
        claims = self.token_of("short", 3607).split(".")[1]
        expires = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"]
        self.assertLess(expires - time.time(), 3700)


class ByWriters(TokenCase):
    def test_patching_creates_nothing(self):
        token = self.token("--verb=get,patch,update", "--resource=configmaps")
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": self.namespace}}
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/new"
        apply = "Content-Type: application/apply-patch+yaml"
        self.refused(self.ask("PATCH", path + "?fieldManager=a&force=true", token, json.dumps(applied), apply), 403)
        self.refused(self.ask("PUT", path, token, json.dumps(applied)), 403, 404)
        self.assertIsNone(self.try_get("configmap", "new"))

    def test_roles_give_no_more_than_their_author_has(self):
        group, api = "rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"
        token = self.token("--verb=get,create,update,patch", f"--resource=clusterroles.{group},clusterrolebindings.{group}", everywhere=True)
        meta = {"apiVersion": f"{group}/v1", "metadata": {"name": self.namespace}}
        everything = {**meta, "kind": "ClusterRole", "aggregationRule": {"clusterRoleSelectors": [{}]}}
        self.refused(self.ask("POST", f"{api}/clusterroles", token, json.dumps(everything)), 403)
        for role in ("not-there", "cluster-admin"):
            binding = {**meta, "kind": "ClusterRoleBinding", "subjects": [{"kind": "User", "name": "u", "apiGroup": group}],
                       "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role}}
            self.refused(self.ask("POST", f"{api}/clusterrolebindings", token, json.dumps(binding)), 403, 404)

    def test_a_patch_neither_ends_the_server_nor_spoils_the_object(self):
        token = self.token("--verb=get,patch,delete", "--resource=configmaps")
        self.kubectl("create", "configmap", "deep", "--from-literal=key=value")
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/deep"
        nested = '{"a":' * 500 + "1" + "}" * 500
        doubling, end = [{"op": "add", "path": "/x", "value": json.loads(nested)}], "/x" + "/a" * 499
        for _ in range(8):
            doubling.append({"op": "copy", "from": "/x", "path": end})
            end += "/a" * (end.count("/a") + 1)
        refusals = [self.ask("PATCH", path, token, json.dumps(doubling), JSON_PATCH)]
        fields = "/metadata/managedFields/0/fieldsV1/f:x"
        poison = [{"op": "add", "path": fields, "value": json.loads(nested.replace('"a"', '"f:a"'))},
                  {"op": "add", "path": fields + "/f:a" * 499, "value": json.loads('{"f:a":' * 100 + "{}" + "}" * 100)}]
        refusals.append(self.ask("PATCH", path, token, json.dumps(poison), JSON_PATCH))
        for refusal in refusals:
            self.refused(refusal, 400, 413, 422)
            self.assertRegex(refusal["message"], "deep|depth|nest")
        self.assertEqual(self.get("configmap", "deep")["data"], {"key": "value"})
        self.kubectl("annotate", "configmap", "deep", "a=b")
        self.kubectl("delete", "configmap", "deep")

    def test_patches_do_not_grow_an_object_without_end(self):
        token = self.token("--verb=get,patch", "--resource=configmaps")
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "grows"},
                                                            "data": {"a": "x" * 400_000}}))
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/grows"
        copies = json.dumps([{"op": "copy", "from": "/data/a", "path": f"/data/copy-{n}"} for n in range(4)])
        self.refused(self.ask("PATCH", path, token, copies, JSON_PATCH), 413, 422)
        # Where nothing but the size is checked.
        copies = json.dumps([{"op": "add", "path": "/metadata/annotations", "value": {}}] +
                            [{"op": "copy", "from": "/data/a", "path": f"/metadata/annotations/copy-{n}"} for n in range(4)])
        self.refused(self.ask("PATCH", path, token, copies, JSON_PATCH), 413, 422)
        self.assertEqual(list(self.get("configmap", "grows")["data"]), ["a"])

    def test_a_mirror_annotation_hides_no_service_account(self):
        mirror = pod("mirror", serviceAccountName="not-there")
        mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        self.refused(self.ask("POST", f"/api/v1/namespaces/{self.namespace}/pods", self.token("--verb=create", "--resource=pods"), json.dumps(mirror)), 403, 422)

    def test_aliases_of_one_long_text_are_refused(self):
        token = self.token_of("default")
        bomb = 'a: &a "' + "x" * 1000000 + '"\nb: [' + "*a," * 100000 + "*a]"
        self.refused(self.ask("POST", ASKED, token, bomb, "Content-Type: application/yaml"), 400, 413, 422)


SILENT = """
import socket, sys
listening = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""


class ByFloods(TokenCase):
    def test_one_user_is_refused_and_nobody_else_is(self):
        """The user's level has few seats, so that few requests are a flood; one that a webhook does not answer holds its seat for 3 s."""
        self.add_silent_webhook()
        token = self.token("--verb=create", "--resource=configmaps")
        quiet = self.token("--verb=get,list", "--resource=nodes", everywhere=True)
        user = json.loads(self.text("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", token,
                                    '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'))["status"]["userInfo"]["username"]
        meta, name = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "metadata": {"name": self.namespace}}, self.namespace
        queuing = {"queues": 4, "handSize": 1, "queueLengthLimit": 1}
        limited = {"nominalConcurrencyShares": 1, "borrowingLimitPercent": 0, "limitResponse": {"type": "Queue", "queuing": queuing}}
        rules = {"subjects": [{"kind": "User", "user": {"name": user}}],
                 "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}]}
        schema = {"matchingPrecedence": 20, "distinguisherMethod": {"type": "ByUser"}, "rules": [rules], "priorityLevelConfiguration": {"name": name}}
        self.apply({**meta, "kind": "PriorityLevelConfiguration", "spec": {"type": "Limited", "limited": limited}},
                   {**meta, "kind": "FlowSchema", "spec": schema})
        self.addCleanup(lambda: self.kubectl("delete", "flowschema,prioritylevelconfiguration", name, namespaced=False))
        conditions = ["get", "flowschema", name, "-o", "jsonpath={.status.conditions[?(@.type=='Dangling')].status}"]
        self.eventually(lambda: self.kubectl(*conditions, namespaced=False) == "False", 60, "the server follows the flow schema")

        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "flood-"}}
        flood = subprocess.Popen(self.cluster.network.inside([sys.executable, str(FLOOD), str(self.cluster.kubeconfig),
                                                              path, "24", "--token", token, "--body", json.dumps(config_map)]),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(flood.wait, 60)
        self.addCleanup(flood.stdout.close)
        self.addCleanup(flood.stdin.close)
        self.eventually(lambda: self.waiting(name) == "1", 60, "a request waits")
        nodes = self.ask("GET", "/api/v1/nodes", quiet)  # while the flood goes on, and is refused
        for node in nodes["items"]:
            ready = [one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"]
            self.assertEqual(ready, ["True"], node["metadata"]["name"])
        answers = json.loads(flood.communicate("", timeout=120)[0])
        refused = [after for code, after in answers if code == 429]
        self.assertGreater(len(refused), 10, answers)
        self.assertEqual(set(refused), {"1"})
        self.assertIn(500, [code for code, _ in answers])

    def add_silent_webhook(self):
        """Asked about configuration maps of this namespace; takes connections and says nothing."""
        silent = subprocess.Popen(self.cluster.network.inside([sys.executable, "-c", SILENT]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: silent.communicate("", timeout=60))
        port = silent.stdout.readline().strip()
        hook = {"name": "silent.test.internal", "clientConfig": {"url": f"https://127.0.0.1:{port}/"}, "sideEffects": "None", "timeoutSeconds": 3,
                "admissionReviewVersions": ["v1"], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}
        self.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": self.namespace},
                    "webhooks": [hook]})
        self.addCleanup(lambda: self.kubectl("delete", "validatingwebhookconfiguration", self.namespace, namespaced=False))

    def waiting(self, level):
        metric = f'apiserver_flowcontrol_current_inqueue_requests{{priority_level="{level}",flow_schema="{level}"}} '
        metrics = self.kubectl("get", "--raw", "/metrics", namespaced=False)
        return next((line.removeprefix(metric) for line in metrics.splitlines() if line.startswith(metric)), "0")


# Sends the head of a request whose body it keeps, and prints the answer's code.
WITHOUT_BODY = """
import pathlib, socket, ssl, sys
sys.path.insert(0, sys.argv[1])
import raw_request
host, port, authority = raw_request.read_cluster(pathlib.Path(sys.argv[2]).read_text())
connection = ssl.create_default_context(cadata=authority).wrap_socket(socket.create_connection((host, port), 20), server_hostname=host)
connection.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 3000000\\r\\n\\r\\n{")
print(connection.recv(4096).split()[1].decode())
"""


class ByStrangers(TokenCase):
    def test_their_bodies_are_not_waited_for(self):
        words = [sys.executable, "-c", WITHOUT_BODY, str(FLOOD.parent), str(self.cluster.kubeconfig)]
        self.assertIn(run(self.cluster.network.inside(words), seconds=30).stdout.strip(), ("401", "403"))

    def test_a_certificate_of_their_own_is_not_taken_for_none(self):
        self.assertIn("gitVersion", self.text("GET", "/version", ""))
        files = [self.cluster.folder / f"stranger.{kind}" for kind in ("crt", "key")]
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/O=system:masters/CN=me",
             "-out", str(files[0]), "-keyout", str(files[1])])
        known = self.cluster.kubeconfig.read_text()
        for field, file in zip(("client-certificate-data", "client-key-data"), files):
            known = re.sub(rf'("?{field}"?:\s*"?)[^"\s,]+', lambda match: match.group(1) + base64.b64encode(file.read_bytes()).decode(), known)
        stranger = self.cluster.folder / "stranger.kubeconfig"
        stranger.write_text(known)
        for path in ("/version", "/api/v1/nodes"):
            self.refused(json.loads(raw_request(self.cluster.network, stranger, "GET", path)), 401)

    def test_what_they_ask_for_makes_no_series(self):
        asked = "x" + secrets.token_hex(8)
        for n in range(20):
            self.refused(self.ask("GET", f"/apis/{asked}{n}/v1/{asked}?{urllib.parse.urlencode({'a': asked})}", ""), 401, 403, 404)
        self.assertNotIn(asked, self.kubectl("get", "--raw", "/metrics"))
