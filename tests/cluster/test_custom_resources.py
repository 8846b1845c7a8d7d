"""Custom resources as people use them, with the oldest and the newest kubectl."""

import json
import unittest

from harness import ClusterCase


def definition(group, plural="sprockets", kind="Sprocket", scope="Namespaced"):
    """A definition with everything that kubectl shows: columns, short names, subresources, defaults."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, "shortNames": ["spr"], "categories": ["all"]},
            "versions": [{
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": "Sprocket is what the test makes.",
                    "properties": {
                        "spec": {"type": "object", "required": ["size"], "properties": {
                            "size": {"type": "integer", "minimum": 1, "description": "Size counts."},
                            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                            "replicas": {"type": "integer", "default": 1},
                        }},
                        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}}},
                    },
                }},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                                             {"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
            }],
        },
    }


class CustomResources:
    """The tests of one client; the two classes at the end run them."""

    def setUp(self):
        super().setUp()
        self.group = f"{self.namespace}.example.com"
        self.kubectl("apply", "-f", "-", namespaced=False, stdin=json.dumps(definition(self.group)))
        self.addCleanup(self.kubectl_run, "delete", "crd", f"sprockets.{self.group}", "--ignore-not-found", check=False)
        self.kubectl("wait", "--for=condition=Established", f"crd/sprockets.{self.group}", "--timeout=10s", namespaced=False)

    def sprocket(self, name, **spec):
        return {"apiVersion": f"{self.group}/v1", "kind": "Sprocket", "metadata": {"name": name}, "spec": spec}

    def test_objects_are_applied_shown_and_deleted(self):
        resource = f"sprockets.{self.group}"
        self.apply(self.sprocket("one", size=3))
        table = self.kubectl("get", resource)
        for word in ("NAME", "SIZE", "COLOR", "one", "3", "red"):
            self.assertIn(word, table)
        self.apply(self.sprocket("one", size=4, color="blue"))
        self.assertEqual(self.kubectl("get", resource, "one", "-o", "jsonpath={.spec.size} {.spec.color}"), "4 blue")
        self.assertEqual(self.kubectl("get", resource, "one", "-o", "jsonpath={.metadata.generation}"), "2")
        self.kubectl("patch", resource, "one", "--type=merge", "-p", '{"spec":{"size":5}}')
        self.kubectl("label", resource, "one", "tier=x")
        self.assertEqual(self.kubectl("get", resource, "-l", "tier=x", "-o", "name").strip(), f"sprocket.{self.group}/one")
        self.kubectl("scale", resource, "one", "--replicas=3")
        self.assertEqual(self.kubectl("get", resource, "one", "-o", "jsonpath={.spec.replicas}"), "3")
        self.kubectl("delete", resource, "one")
        self.assertEqual(self.kubectl("get", resource, "-o", "name"), "")

    def test_explain_and_resources_know_the_kind(self):
        self.assertIn("Size counts.", self.kubectl("explain", "sprockets.spec.size", f"--api-version={self.group}/v1"))
        self.assertIn("sprockets", self.kubectl("api-resources", f"--api-group={self.group}", namespaced=False))

    def test_objects_that_do_not_fit_are_refused(self):
        self.assertIn("size", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(self.sprocket("bad", size=0))))
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(self.sprocket("bad", size=1, shape="round")))
        self.assertRegex(error, "(?i)unknown field")

    def test_objects_go_with_their_namespace(self):
        other = self.namespace + "-x"
        self.kubectl("create", "namespace", other, namespaced=False)
        sprocket = self.sprocket("inside", size=1)
        sprocket["metadata"]["namespace"] = other
        self.kubectl("create", "-f", "-", namespaced=False, stdin=json.dumps(sprocket))
        self.kubectl("delete", "namespace", other, "--timeout=60s", namespaced=False)
        self.assertEqual(self.kubectl("get", f"sprockets.{self.group}", "-A", "-o", "name", namespaced=False), "")

    def test_objects_go_with_their_owner_and_with_their_definition(self):
        owner = json.loads(self.kubectl("create", "configmap", "owner", "-o", "json"))
        owned = self.sprocket("owned", size=1)
        owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]
        self.apply(owned)
        self.kubectl("delete", "configmap", "owner")
        self.eventually(lambda: self.kubectl("get", f"sprockets.{self.group}", "-o", "name") == "", 120, "the garbage collector removes it")
        self.apply(self.sprocket("last", size=1))
        self.kubectl("delete", "crd", f"sprockets.{self.group}", "--timeout=30s", namespaced=False)
        done = self.kubectl_run("get", f"sprockets.{self.group}", check=False)
        self.assertIn("doesn't have a resource type", done.stderr)


class CustomResourcesWithTheNewestKubectl(CustomResources, ClusterCase):
    client = "new"


class CustomResourcesWithKubectl120(CustomResources, ClusterCase):
    client = "1.20"


if __name__ == "__main__":
    unittest.main()
