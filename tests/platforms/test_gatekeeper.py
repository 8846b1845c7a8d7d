"""Gatekeeper: policies as custom resources whose definitions it makes itself, enforced by its webhook."""

import unittest

from platform_case import PlatformCase, harness

REGO = """
package needslabel
violation[{"msg": msg}] {
  not input.review.object.metadata.labels[input.parameters.label]
  msg := sprintf("the label %v is missing", [input.parameters.label])
}
"""
TEMPLATE = {"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "needslabel"}, "spec": {
    "crd": {"spec": {"names": {"kind": "NeedsLabel"}, "validation": {"openAPIV3Schema": {
        "type": "object", "properties": {"label": {"type": "string"}}}}}},
    "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}]}}


class Gatekeeper(PlatformCase):
    modules = ("gatekeeper",)

    def install(self):
        self.add_image("docker.io/openpolicyagent/gatekeeper:v3.23.1", "gatekeeper", "gatekeeper", "manager")
        self.install_files("-f", str(self.module("gatekeeper") / "files/deploy/gatekeeper.yaml"))
        self.wait_available("gatekeeper-system", "gatekeeper-audit", "gatekeeper-controller-manager")

    def test_a_manifest_that_breaks_a_policy_is_refused(self):
        self.kubectl("apply", "-f", "-", namespaced=False, stdin=harness.as_list([TEMPLATE]))
        constraint = {"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "NeedsLabel", "metadata": {"name": self.namespace}, "spec": {
            "match": {"namespaces": [self.namespace], "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]}, "parameters": {"label": "owner"}}}
        self.eventually(lambda: self.kubectl_run("apply", "-f", "-", namespaced=False, stdin=harness.as_list([constraint]), check=False).returncode == 0,
                        60, "the constraint's kind is served")
        self.addCleanup(lambda: self.kubectl_run("delete", "needslabel", self.namespace, namespaced=False, check=False))

        def refused():
            done = self.kubectl_run("create", "configmap", "bare", "--dry-run=server", check=False)
            return done.stderr if done.returncode else None
        self.assertIn("the label owner is missing", self.eventually(refused, 60, "the policy is enforced"))
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "labels": {"owner": "us"}}})


if __name__ == "__main__":
    unittest.main()
