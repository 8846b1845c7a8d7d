"""An operator as kubebuilder lays one out (operator/), in pods of the cluster, driven from outside as its users do."""

import base64
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parents[1] / "packaging")]
import image_archive  # noqa: E402
from harness import IMAGE, TOOLS, ClusterCase, condition, run  # noqa: E402

PROGRAM = TOOLS / "clients/operator/operator"
OPERATOR_IMAGE = "porthole.test/operator:1"
GROUP = "shop.porthole.test"
DEFINITION = f"shops.{GROUP}"


def shop(name, version="v1", **spec):
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Shop", "metadata": {"name": name}, "spec": {"image": IMAGE, **spec}}


def version_of(name, storage, **fields):
    status = {"type": "object", "properties": {
        "ready": {"type": "integer"}, "leader": {"type": "string"},
        "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}
    spec = {"type": "object", "required": ["image"], "properties": {"image": {"type": "string"}, **fields}}
    return {"name": name, "served": True, "storage": storage, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Ready", "type": "integer", "jsonPath": ".status.ready"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}


class Operator(ClusterCase):
    def setUp(self):
        if not PROGRAM.exists():
            self.skipTest("the operator is not built: ./run test clients")
        super().setUp()
        self.load_image()
        self.install()

    def load_image(self):
        archive = self.cluster.folder / "operator.tar"
        if not archive.exists():
            image = image_archive.Image(name=OPERATOR_IMAGE, files={"operator": (PROGRAM.read_bytes(), 0o755)}, folders={"tmp": 0o1777},
                                        entrypoint=["/operator"], user="65532:65532")
            image_archive.write_docker(archive, [image])
            self.cluster.porthole("image", "load", archive, seconds=120)

    def install(self):
        certificate, key = self.make_certificate()
        authority = base64.b64encode(certificate).decode()
        rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]},
                 {"apiGroups": ["", "apps", "coordination.k8s.io", "events.k8s.io"], "verbs": ["*"],
                  "resources": ["configmaps", "services", "deployments", "leases", "events"]}]
        account = {"kind": "ServiceAccount", "name": "operator", "namespace": self.namespace}
        self.apply(
            self.definition(authority),
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "operator"}, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "operator"}, "subjects": [account],
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"}},
            {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "certificate"},
             "data": {"tls.crt": authority, "tls.key": base64.b64encode(key).decode()}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "webhooks"},
             "spec": {"selector": {"app": "operator"}, "ports": [{"port": 443, "targetPort": 9443}]}},
            self.deployment())
        self.addCleanup(self.uninstall)
        self.wait_rolled_out("operator", 90)
        self.apply(self.webhooks("Mutating", "mutate", authority), self.webhooks("Validating", "validate", authority))

    def uninstall(self):
        """Its objects first, as nobody would take their finalizers away afterwards."""
        self.kubectl("delete", "shops", "--all", "--timeout=30s")
        for kind, name in (("crd", DEFINITION), ("mutatingwebhookconfiguration", self.namespace), ("validatingwebhookconfiguration", self.namespace)):
            self.kubectl("delete", kind, name, "--ignore-not-found", namespaced=False)

    def make_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = pathlib.Path(folder, "tls.crt"), pathlib.Path(folder, "tls.key")
            run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=webhooks", "-addext",
                 f"subjectAltName=DNS:webhooks.{self.namespace}.svc", "-keyout", key, "-out", certificate])
            return certificate.read_bytes(), key.read_bytes()

    def service(self, path, authority):
        return {"service": {"namespace": self.namespace, "name": "webhooks", "path": path}, "caBundle": authority}

    def definition(self, authority):
        conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": self.service("/convert", authority)}}
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": DEFINITION},
                "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"}, "conversion": conversion,
                         "versions": [version_of("v1", True, replicas={"type": "integer", "minimum": 0}),
                                      version_of("v1alpha1", False, size={"type": "string"})]}}

    def webhooks(self, kind, word, authority):
        path = f"/{word}-{GROUP.replace('.', '-')}-v1-shop"
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": self.namespace},
                "webhooks": [{"name": f"{word}.{GROUP}", "clientConfig": self.service(path, authority), "sideEffects": "None",
                              "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Equivalent",
                              "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
                              "rules": [{"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["shops"],
                                         "operations": ["CREATE", "UPDATE"]}]}]}

    def deployment(self):
        field = lambda name, path: {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        main = {"name": "main", "image": OPERATOR_IMAGE, "imagePullPolicy": "IfNotPresent",
                "env": [field("POD_NAME", "metadata.name"), field("POD_NAMESPACE", "metadata.namespace")],
                "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1},
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "initialDelaySeconds": 10},
                "volumeMounts": [{"name": "certificate", "mountPath": "/certs", "readOnly": True}]}
        spec = {"serviceAccountName": "operator", "terminationGracePeriodSeconds": 1, "containers": [main],
                "securityContext": {"runAsNonRoot": True}, "volumes": [{"name": "certificate", "secret": {"secretName": "certificate"}}]}
        labels = {"app": "operator"}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator"},
                "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}}

    def wait_open(self, name, ready):
        def is_open():
            found = self.get("shop", name)
            settled = [entry for entry in found["status"].get("conditions", []) if entry["observedGeneration"] == found["metadata"]["generation"]] \
                if "status" in found else []
            return found if settled and condition(found, "Open") == "True" and found["status"]["ready"] == ready else None
        return self.eventually(is_open, 60, f"shop {name} is open with {ready}")

    # --- tests

    def test_webhooks_default_refuse_and_warn(self):
        self.create(shop("one"))
        self.assertEqual(self.get("shop", "one")["spec"]["replicas"], 1)
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(shop("many", replicas=4)))
        self.assertIn('spec.replicas: Invalid value: 4: a shop has 3 pods at most', error)
        error = self.kubectl_fails("patch", "shop", "one", "--type=merge", "-p", '{"spec":{"image":"other"}}')
        self.assertIn("spec.image: Forbidden: a shop keeps its image", error)
        done = self.kubectl_run("patch", "shop", "one", "--type=merge", "-p", '{"spec":{"replicas":0}}')
        self.assertIn("Warning: a shop without pods is closed", done.stderr)

    def test_versions_are_converted(self):
        # The rules are for v1: what comes in the old version is converted for them, and back.
        self.create(shop("old", "v1alpha1", size="large"))
        self.assertEqual(self.get(f"shops.v1.{GROUP}", "old")["spec"], {"image": IMAGE, "replicas": 2})
        self.create(shop("plain", "v1alpha1"))
        self.assertEqual(self.get(f"shops.v1alpha1.{GROUP}", "plain")["spec"], {"image": IMAGE, "size": "small"})
        self.assertIn('there is no size "huge"', self.kubectl_fails("create", "-f", "-", stdin=json.dumps(shop("huge", "v1alpha1", size="huge"))))
        self.assertIn("at most", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(shop("nine", "v1alpha1", size="9"))))
        names = self.kubectl("get", f"shops.v1alpha1.{GROUP}", "-o", "jsonpath={.items[*].spec.size}")
        self.assertEqual(names, "large small")

    def test_a_shop_goes_through_its_life(self):
        self.create(shop("corner"))
        found = self.wait_open("corner", 1)
        self.assertEqual(found["metadata"]["finalizers"], [f"{GROUP}/ledger"])
        owner = {"apiVersion": f"{GROUP}/v1", "kind": "Shop", "name": "corner", "uid": found["metadata"]["uid"],
                 "controller": True, "blockOwnerDeletion": True}
        for kind in ("deployment", "service"):
            self.assertEqual(self.get(kind, "corner")["metadata"]["ownerReferences"], [owner])
        self.wait_event("Deployed", "deployment corner created")
        address = self.get("service", "corner")["spec"]["clusterIP"]
        self.assertEqual(self.eventually(lambda: self.fetch_from_node(f"http://{address}/"), 15), "open")

        self.kubectl("patch", "shop", "corner", "--type=merge", "-p", '{"spec":{"replicas":2}}')
        self.wait_open("corner", 2)
        self.kubectl("scale", "deployment", "corner", "--replicas=0")
        self.eventually(lambda: self.get("deployment", "corner")["spec"]["replicas"] == 2, 20, "what others change is changed back")
        self.kubectl("delete", "service", "corner")
        self.eventually(lambda: self.try_get("service", "corner"), 20, "what others delete is made again")

        self.kubectl("delete", "shop", "corner", "--timeout=30s")
        self.assertEqual(self.get("configmap", "ledger")["data"], {"corner": "closed"})
        # Garbage collection looks for new kinds every 30 seconds, as upstream's does.
        self.eventually(lambda: not self.try_get("deployment", "corner") and not self.try_get("service", "corner"), 90, "its dependents are gone")

    def test_another_pod_leads_when_the_leader_ends(self):
        self.create(shop("first"))
        leader = self.wait_open("first", 1)["status"]["leader"]
        self.assertTrue(self.get("lease", GROUP)["spec"]["holderIdentity"].startswith(leader))
        self.kubectl("delete", "pod", leader, "--force", "--grace-period=0", warnings=True)
        self.wait_rolled_out("operator", 60)
        self.create(shop("second"))
        self.assertNotEqual(self.wait_open("second", 1)["status"]["leader"], leader)
        self.assertGreaterEqual(self.get("lease", GROUP)["spec"]["leaseTransitions"], 1)
