"""Custom resources as people use them, with the oldest and the newest kubectl."""

import json
import unittest

from harness import ClusterCase, eventually
from webhook_case import PORT, WebhookCase


def definition(group, plural="sprockets", kind="Sprocket", scope="Namespaced"):
    """A definition with everything that kubectl shows: columns, short names, subresources, defaults."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, "shortNames": ["spr"], "categories": ["machinery"]},
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
        self.kubectl("wait", "--for=condition=Established", f"crd/sprockets.{self.group}", "--timeout=60s", namespaced=False)

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
        # The old client fails where another test's definition goes while it asks for one group after the other.
        resources = self.eventually(lambda: self.kubectl("api-resources", f"--api-group={self.group}", namespaced=False))
        self.assertIn("sprockets", resources)

    def test_objects_that_do_not_fit_are_refused(self):
        self.assertIn("size", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(self.sprocket("bad", size=0))))
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(self.sprocket("bad", size=1, shape="round")))
        self.assertRegex(error, "(?i)unknown field")

    def test_objects_obey_the_rules_of_their_definition(self):
        ruled = definition(self.group, plural="cogs", kind="Cog")
        ruled["spec"]["names"] = {"plural": "cogs", "kind": "Cog"}
        spec = ruled["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["x-kubernetes-validations"] = [
            {"rule": "self.replicas <= self.size", "messageExpression": "'at most %d replicas'.format([self.size])", "fieldPath": ".replicas"},
            {"rule": "self.color == oldSelf.color", "message": "color is immutable"},
        ]
        self.addCleanup(self.kubectl_run, "delete", "crd", f"cogs.{self.group}", "--ignore-not-found", check=False)
        self.kubectl("apply", "-f", "-", namespaced=False, stdin=json.dumps(ruled))
        self.kubectl("wait", "--for=condition=Established", f"crd/cogs.{self.group}", "--timeout=60s", namespaced=False)
        cog = {"apiVersion": f"{self.group}/v1", "kind": "Cog", "metadata": {"name": "one"}, "spec": {"size": 2, "replicas": 3}}
        error = self.kubectl_fails("apply", "-f", "-", stdin=json.dumps(cog))
        self.assertIn("spec.replicas: Invalid value: at most 2 replicas", error)
        cog["spec"]["replicas"] = 1
        self.apply(cog)
        cog["spec"]["color"] = "blue"
        self.assertIn("color is immutable", self.kubectl_fails("apply", "-f", "-", stdin=json.dumps(cog)))
        spec["x-kubernetes-validations"] = [{"rule": "self.shape == 'round'"}]
        error = self.kubectl_fails("apply", "-f", "-", namespaced=False, stdin=json.dumps(ruled))
        self.assertIn("undefined field 'shape'", error)

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
        self.kubectl("delete", "crd", f"sprockets.{self.group}", "--timeout=60s", namespaced=False)
        done = self.kubectl_run("get", f"sprockets.{self.group}", check=False)
        self.assertIn("doesn't have a resource type", done.stderr)


class Conversion(WebhookCase):
    """What upstream's conformance tests ask of conversion webhooks, and what a webhook that fails may spoil."""

    PROPERTIES = {"v1": {"hostPort": {"type": "string"}}, "v2": {"host": {"type": "string"}, "port": {"type": "string"}}}

    def versions(self, stored):
        return [{"name": name, "served": True, "storage": name == stored,
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                 "additionalPrinterColumns": [{"name": field, "type": "string", "jsonPath": f".{field}"} for field in properties]}
                for name, properties in self.PROPERTIES.items()]

    def define(self, client):
        self.apply({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": {"name": "backends.stable.example.com"},
                    "spec": {"group": "stable.example.com", "scope": "Namespaced", "names": {"plural": "backends", "kind": "Backend"},
                             "versions": self.versions("v1"),
                             "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v1beta1"],
                                                                               "clientConfig": {**client, "caBundle": self.authority}}}}})
        self.server.kubectl("wait", "--for=condition=Established", "crd/backends.stable.example.com", "--timeout=60s")

    def store_in(self, version):
        self.server.kubectl("patch", "crd", "backends.stable.example.com", "--type=merge", "-p",
                            json.dumps({"spec": {"versions": self.versions(version)}}))

    def create(self, name, version="v1", **fields):
        fields = fields or {"hostPort": "localhost:8080"}
        self.apply({"apiVersion": f"stable.example.com/{version}", "kind": "Backend", "metadata": {"name": name}, **fields})

    def get(self, version, *arguments):
        return self.server.kubectl("get", f"backends.{version}.stable.example.com", *arguments, check=False)

    def listed(self, version):
        done = self.get(version, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {one["metadata"]["name"]: {key: one.get(key) for key in ("apiVersion", "hostPort", "host", "port")}
                for one in json.loads(done.stdout)["items"]}

    def test_objects_are_converted_between_versions(self):
        self.serve()
        self.define({"service": {"namespace": "default", "name": "hooks", "path": "/convert"}})
        self.create("one")
        v1 = {"apiVersion": "stable.example.com/v1", "hostPort": "localhost:8080", "host": None, "port": None}
        v2 = {"apiVersion": "stable.example.com/v2", "hostPort": None, "host": "localhost", "port": "8080"}
        self.assertEqual(self.listed("v2"), {"one": v2})
        table = self.get("v2").stdout
        self.assertRegex(table, r"NAME +HOST +PORT\none +localhost +8080")

        self.store_in("v2")
        eventually(lambda: self.server.kubectl("get", "crd", "backends.stable.example.com", "-o", "jsonpath={.status.storedVersions}").stdout
                   == '["v1","v2"]', 60, "the storage version has changed")
        self.create("two")
        self.assertEqual(self.listed("v1"), {"one": v1, "two": v1})
        self.assertEqual(self.listed("v2"), {"one": v2, "two": v2})
        self.create("one", "v2", host="example.com", port="443")
        self.assertEqual(self.listed("v1")["one"]["hostPort"], "example.com:443")
        self.server.kubectl("patch", "backends.v1.stable.example.com", "two", "--type=merge", "-p", '{"hostPort":"a:1"}')
        self.assertEqual(self.listed("v2")["two"]["host"], "a")
        self.server.kubectl("delete", "backends.v1.stable.example.com", "--all")
        self.assertEqual(self.listed("v2"), {})

    def stored_versions(self):
        return self.server.kubectl("get", "crd", "backends.stable.example.com", "-o", "jsonpath={.status.storedVersions}").stdout

    def test_a_migration_frees_a_definition_of_an_old_version(self):
        self.define({"url": f"https://127.0.0.1:{PORT}/convert"})
        self.create("one")
        self.store_in("v2")
        eventually(lambda: self.stored_versions() == '["v1","v2"]', 60, "the storage version has changed")
        self.apply({"apiVersion": "storagemigration.k8s.io/v1beta1", "kind": "StorageVersionMigration", "metadata": {"name": "backends"},
                    "spec": {"resource": {"group": "stable.example.com", "resource": "backends"}}})
        self.server.kubectl("wait", "--for=condition=Succeeded", "storageversionmigration/backends", "--timeout=100s")
        eventually(lambda: self.stored_versions() == '["v2"]', 60, "v1 is not stored any more")
        self.server.kubectl("patch", "crd", "backends.stable.example.com", "--type=merge", "-p", json.dumps(
            {"spec": {"versions": self.versions("v2")[1:], "conversion": {"strategy": "None", "webhook": None}}}))
        expected = {"one": {"apiVersion": "stable.example.com/v2", "hostPort": None, "host": "localhost", "port": "8080"}}
        eventually(lambda: self.listed("v2") == expected, 60, "the object is read without a conversion")

    def test_a_webhook_that_fails_spoils_other_versions_only(self):
        self.define({"url": f"https://127.0.0.1:{PORT}/unconverted"})
        self.create("one")
        self.assertIn("invalid groupVersion (expected stable.example.com/v2, received stable.example.com/v1)", self.get("v2").stderr)
        self.assertEqual(self.get("v1", "-o", "name").stdout.strip(), "backend.stable.example.com/one")
        self.assertIn("apiserver_conversion_webhook_request_total", self.server.kubectl("get", "--raw", "/metrics").stdout)
        self.server.kubectl("delete", "crd", "backends.stable.example.com", "--timeout=60s")


class CustomResourcesWithTheNewestKubectl(CustomResources, ClusterCase):
    client = "new"


class CustomResourcesWithKubectl120(CustomResources, ClusterCase):
    client = "1.20"


if __name__ == "__main__":
    unittest.main()
