"""Group-managed service accounts by name: who may use a credential spec, and what its pods get. There is no domain: the emulated node's
runtime is handed the spec and does nothing with it."""

import json
import unittest

from test_windows_node import WindowsPodCase, windows_pod

TEXT = {"type": "string"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gmsacredentialspecs.windows.k8s.io",
                 "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/issues/689"}},
    "spec": {
        "group": "windows.k8s.io",
        "scope": "Cluster",
        "names": {"plural": "gmsacredentialspecs", "kind": "GMSACredentialSpec"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "credspec": {"type": "object", "properties": {
                "CmsPlugins": {"type": "array", "items": TEXT},
                "DomainJoinConfig": {"type": "object", "properties": {"NetBiosName": TEXT, "MachineAccountName": TEXT}},
            }}}}}}],
    },
}
CONTENTS = {"CmsPlugins": ["ActiveDirectory"], "DomainJoinConfig": {"NetBiosName": "CONTOSO", "MachineAccountName": "web"}}


def naming(name, spec="web", account="trusted", **options):
    return windows_pod(name, serviceAccountName=account,
                       securityContext={"windowsOptions": {"gmsaCredentialSpecName": spec, **options}})


# SEC-12
class CredentialSpecs(WindowsPodCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.kubectl, "delete", "crd", DEFINITION["metadata"]["name"], "--ignore-not-found", namespaced=False)
        self.apply(DEFINITION)
        self.kubectl("wait", "--for=condition=Established", "crd/" + DEFINITION["metadata"]["name"], "--timeout=30s", namespaced=False)
        spec = {"apiVersion": "windows.k8s.io/v1", "kind": "GMSACredentialSpec", "metadata": {"name": "web"}, "credspec": CONTENTS}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(spec), namespaced=False)
        for account in ("trusted", "other"):
            self.kubectl("create", "serviceaccount", account)
        self.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "use-web"}, "rules": [
            {"verbs": ["use"], "apiGroups": ["windows.k8s.io"], "resources": ["gmsacredentialspecs"], "resourceNames": ["web"]}]})
        self.kubectl("create", "rolebinding", "use-web", "--role=use-web", f"--serviceaccount={self.namespace}:trusted")

    def refusal(self, wanted):
        return self.kubectl_fails("create", "-f", "-", stdin=json.dumps(wanted))

    def test_a_pod_gets_the_spec_that_its_service_account_may_use(self):
        self.apply(naming("allowed"))
        options = self.wait_ready("allowed")["spec"]["securityContext"]["windowsOptions"]
        self.assertEqual(json.loads(options["gmsaCredentialSpec"]), CONTENTS)
        self.assertIn("service account \"other\" is not authorized to `use` GMSA cred spec \"web\"", self.refusal(naming("denied", account="other")))
        self.assertIn("is not authorized", self.refusal(naming("unknown", spec="unknown")))

    def test_contents_that_are_written_by_hand_have_to_be_those_of_the_name(self):
        self.apply(naming("same", gmsaCredentialSpec=json.dumps(CONTENTS, indent=2)))
        wrong = json.dumps({**CONTENTS, "CmsPlugins": []})
        self.assertIn("does not match the contents", self.refusal(naming("wrong", gmsaCredentialSpec=wrong)))
        nameless = windows_pod("nameless", container_fields={"securityContext": {"windowsOptions": {"gmsaCredentialSpec": wrong}}})
        self.assertIn("spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName: Required value", self.refusal(nameless))
        change = {"spec": {"securityContext": {"windowsOptions": {"gmsaCredentialSpec": wrong}}}}
        self.assertIn("pod updates may not change fields other than", self.kubectl_fails("patch", "pod", "same", "-p", json.dumps(change)))


if __name__ == "__main__":
    unittest.main()
