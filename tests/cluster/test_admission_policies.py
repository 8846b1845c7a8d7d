"""Admission policies as kubectl sees them, on a control plane of its own without nodes."""

import json
import os
import unittest

from control_plane_case import ControlPlaneCase
from harness import eventually, needs_newest_kubectl

GROUP = "admissionregistration.k8s.io/v1"


def rules(*resources, operations=("CREATE", "UPDATE"), group=""):
    return {"resourceRules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": list(operations), "resources": list(resources)}]}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class AdmissionPolicies(ControlPlaneCase):
    def setUp(self):
        super().setUp()
        self.server.start()
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 60, "the namespace default")

    def send(self, verb, *objects, check=True):
        return self.server.kubectl(verb, "-f", "-", check=check,
                                   stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def policy(self, kind, name, spec, **binding):
        self.send("apply", {"apiVersion": GROUP, "kind": f"{kind}AdmissionPolicy", "metadata": {"name": name}, "spec": spec},
                  {"apiVersion": GROUP, "kind": f"{kind}AdmissionPolicyBinding", "metadata": {"name": name},
                   "spec": {"policyName": name, **binding}})

    def refused(self, made):
        """What kubectl is told; policies act a moment after they are written."""
        done = self.send("create", made, check=False)
        if done.returncode == 0:
            self.server.kubectl("delete", "configmap", made["metadata"]["name"])
        return done.stderr if done.returncode else ""

    def data(self, name):
        return json.loads(self.server.kubectl("get", "configmap", name, "-o", "json").stdout)["data"]

    def test_a_policy_denies_and_warns(self):
        self.policy("Validating", "short", {
            "matchConstraints": rules("configmaps"),
            "variables": [{"name": "value", "expression": "object.data.value"}],
            "validations": [{"expression": "variables.value.size() <= 3", "messageExpression": "variables.value + ' is too long'"}],
        }, validationActions=["Deny"], matchResources={"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}})
        told = eventually(lambda: self.refused(config_map("a", value="long")), 60, "a refusal")
        self.assertIn("ValidatingAdmissionPolicy 'short' with binding 'short' denied request: long is too long", told)
        self.send("create", config_map("a", value="abc"))
        changed = self.server.kubectl("patch", "configmap", "a", "--type=merge", "-p", '{"data":{"value":"abcd"}}', check=False)
        self.assertIn("abcd is too long", changed.stderr)
        self.server.kubectl("patch", "validatingadmissionpolicybinding", "short", "--type=merge", "-p",
                            '{"spec":{"validationActions":["Warn","Audit"]}}')
        warning = "Warning: Validation failed for ValidatingAdmissionPolicy 'short' with binding 'short': long is too long"
        create = ("create", "configmap", "b", "--from-literal=value=long", "--dry-run=server")
        eventually(lambda: warning in self.server.kubectl(*create, check=False).stderr, 60, "a warning instead of the refusal")

    def test_parameters_come_from_a_config_map_and_a_custom_resource(self):
        self.send("create", config_map("limit", most="3"))
        self.policy("Validating", "limited", {
            "matchConstraints": rules("secrets"), "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [{"expression": "object.metadata.name.size() <= int(params.data.most)"}],
        }, validationActions=["Deny"], paramRef={"name": "limit", "parameterNotFoundAction": "Deny"})
        create = ("create", "secret", "generic", "long", "--dry-run=server")
        eventually(lambda: "limited" in self.server.kubectl(*create, check=False).stderr, 60, "a refusal")
        self.send("replace", config_map("limit", most="9"))
        eventually(lambda: self.server.kubectl(*create, check=False).returncode == 0, 60, "the changed parameter holds")
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"most": {"type": "integer"}}}}}
        self.send("create", {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "limits.rules.example.com"},
            "spec": {"group": "rules.example.com", "scope": "Cluster", "names": {"plural": "limits", "kind": "Limit"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
        limit = {"apiVersion": "rules.example.com/v1", "kind": "Limit", "metadata": {"name": "one"}, "spec": {"most": 2}}
        eventually(lambda: self.send("create", limit, check=False).returncode == 0, 60, "the custom resource")
        self.policy("Validating", "limited", {
            "matchConstraints": rules("secrets"), "paramKind": {"apiVersion": "rules.example.com/v1", "kind": "Limit"},
            "validations": [{"expression": "object.metadata.name.size() <= params.spec.most"}],
        }, validationActions=["Deny"], paramRef={"name": "one", "parameterNotFoundAction": "Deny"})
        eventually(lambda: "failed expression: object.metadata.name.size() <= params.spec.most"
                   in self.server.kubectl(*create, check=False).stderr, 60, "a refusal")

    def test_expressions_that_do_not_fit_are_told(self):
        self.policy("Validating", "typed", {
            "matchConstraints": rules("deployments", group="apps"),
            "validations": [{"expression": "object.spec.replicas > 1"}, {"expression": "object.spec.maxRetries < 10"}],
        }, validationActions=["Deny"])
        shown = eventually(lambda: (text := self.server.kubectl("get", "validatingadmissionpolicy", "typed", "-o", "yaml").stdout)
                           and "expressionWarnings" in text and text, 10, "the status")
        self.assertIn("fieldRef: spec.validations[1].expression", shown)
        self.assertIn("undefined field 'maxRetries'", shown)
        broken = self.send("create", {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "broken"}, "spec": {
            "matchConstraints": rules("pods"), "validations": [{"expression": "object."}]}}, check=False)
        self.assertIn("compilation failed: ERROR: <input>:1:8: Syntax error", broken.stderr)

    def test_policies_change_objects(self):
        self.policy("Mutating", "applied", {
            "matchConstraints": rules("configmaps"), "reinvocationPolicy": "Never",
            "matchConditions": [{"name": "not-skipped", "expression": "object.metadata.name != 'skip-me'"}],
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'applied': request.operation}}"}},
                {"patchType": "JSONPatch", "jsonPatch": {
                    "expression": "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('patched'), value: 'yes'}]"}}],
        })

        def changed():
            self.server.kubectl("delete", "configmap", "a", "--ignore-not-found")
            self.send("create", config_map("a", own="1"))
            return "applied" in self.data("a")
        eventually(changed, 60, "a change")
        self.assertEqual(self.data("a"), {"own": "1", "applied": "CREATE", "patched": "yes"})
        self.send("create", config_map("skip-me", own="1"))
        self.assertEqual(self.data("skip-me"), {"own": "1"})
