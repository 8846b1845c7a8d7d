"""A cluster's objects move from the data directory into a real etcd and back, and into a backup: nothing differs but versions."""

import base64
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

from harness import PORTHOLE, eventually, run
from test_etcd_store import EtcdStore, make_certificates

ENCRYPTION = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, widgets.example.com]
  providers:
  - aesgcm: {keys: [{name: k1, secret: YWFhYWFhYWFhYWFhYWFhYQ==}]}
  - identity: {}
"""
OBJECTS = """
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com,
  scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: hidden}, stringData: {password: open sesame}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata:
  {labels: {app: web}}, spec: {containers: [{name: web, image: none}]}}}}
---
{apiVersion: v1, kind: Event, metadata: {name: happened}, involvedObject: {kind: ConfigMap, name: plain, namespace: default}, reason: Test}
"""
WIDGET = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: 7}}"
KINDS = ("namespaces", "customresourcedefinitions", "configmaps", "secrets", "services", "deployments", "replicasets", "pods", "widgets",
         "serviceaccounts", "clusterroles", "events")


RELAY = 2390  # a port
HALF_WAY = 20_000  # bytes; all objects are several hundred thousand


class StoreMigration(EtcdStore):
    def setUp(self):
        super().setUp()
        self.configuration = self.folder / "encryption-configuration.yaml"
        self.configuration.write_text(ENCRYPTION)
        self.data = self.folder / "data"

    def encrypted(self):
        return "--encryption-provider-config", self.configuration

    def porthole(self, *words, check=True):
        return run(self.network.inside([str(PORTHOLE), *map(str, words)]), check=check, seconds=120)

    def migrate(self, to, *options, check=True):
        return self.porthole("store", "migrate", "--to", to, "--data", self.data, "--etcd-servers", self.etcd.urls(), *self.encrypted(),
                             *options, check=check)

    def refused(self, *words):
        done = self.porthole(*words, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def start_embedded(self):
        self.server.start(*self.encrypted())

    def start_on_etcd(self, *options):
        self.server.start("--etcd-servers", self.etcd.urls(), *self.encrypted(), *options)

    def stop_server(self):
        self.server.stop()
        self.server.process = None

    def fill(self):
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 30, "the namespace default")
        self.server.kubectl("create", "-f", "-", stdin=OBJECTS)
        eventually(lambda: self.server.kubectl("create", "-f", "-", stdin=WIDGET, check=False).returncode == 0, 30, "widgets are served")
        eventually(lambda: len(self.server.kubectl("get", "pods", "-o", "name").stdout.split()) == 2, 30, "the deployment has pods")
        eventually(self.controllers_have_ended, 60, "nothing more is written by itself")

    def controllers_have_ended(self):
        """Whether all is there that controllers owe a new cluster and these objects."""
        objects, _ = self.objects()
        for namespace in [name for kind, _, name in objects if kind == "Namespace"]:
            for owed in (("ServiceAccount", namespace, "default"), ("ConfigMap", namespace, "kube-root-ca.crt")):
                if owed not in objects:
                    return False
        admin, edit, view = (objects["ClusterRole", None, name]["rules"] for name in ("admin", "edit", "view"))
        aggregated = view and all(rule in edit for rule in view) and all(rule in admin for rule in edit)
        return aggregated and "deployment.kubernetes.io/revision" in objects["Deployment", "default", "web"]["metadata"]["annotations"]

    def objects(self):
        """By kind, namespace and name, without what a controller may write at any time, and their versions."""
        objects, versions = {}, {}
        for kind in KINDS:
            for item in json.loads(self.server.kubectl("get", kind, "-A", "-o", "json").stdout)["items"]:
                metadata = item["metadata"]
                if item["kind"] == "Event" and metadata["name"] != "happened":
                    continue
                key = (item["kind"], metadata.get("namespace"), metadata["name"])
                versions[key] = int(metadata.pop("resourceVersion"))
                metadata.pop("managedFields", None)
                item.pop("status", None)
                objects[key] = item
        return objects, versions

    def objects_when_served(self):
        """Of a server that has just started: custom resources are served a moment later."""
        return eventually(self.objects, 30, "all kinds are served")

    def watch_from(self, version):
        path = f"/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1&resourceVersion={version}"
        return self.server.kubectl("get", "--raw", path, check=False)


class Migration(StoreMigration):
    def test_objects_go_to_etcd_and_back_and_nothing_differs_but_versions(self):
        self.start_etcd()
        self.start_embedded()
        self.fill()
        running = self.refused("store", "migrate", "--to", "etcd", "--data", self.data, "--etcd-servers", self.etcd.urls(), *self.encrypted())
        self.assertRegex(running, r"is in use by process \d+: stop it first")
        before, old = self.objects()
        self.stop_server()

        # To another prefix, so that each value is encrypted anew.
        said = self.migrate("etcd", "--etcd-prefix", "/cluster/a").stdout
        self.assertRegex(said, r"\d+ records at revision \d+, read again and compared +\d+\.\d s")
        self.assertRegex(said, r"(?m)^ +1  widgets\.example\.com$")
        digest = said.split("sha256 of keys and values: ")[1].split()[0]
        self.assertEqual(self.etcd.ctl("get", "/cluster/a/_porthole/copying", "--prefix").stdout, "")
        for key in ("secrets/default/hidden", "example.com/widgets/default/one"):
            self.assertTrue(base64.b64decode(self.etcd.get(f"/cluster/a/{key}")["value"]).startswith(b"k8s:enc:aesgcm:v1:k1:"), key)
        self.assertIn("are in etcd (", self.migrate("etcd", "--etcd-prefix", "/cluster/a", check=False).stderr)

        self.start_on_etcd("--etcd-prefix", "/cluster/a")
        there, new = self.objects_when_served()
        self.assertEqual(there, before)
        newest = max(old.values())
        self.assertGreater(min(new.values()), newest, "no object has gone back")
        expired = self.watch_from(newest)
        self.assertIn("too old resource version", expired.stdout + expired.stderr)
        lease = self.etcd.get("/cluster/a/events/default/happened")["lease"]
        left = json.loads(self.etcd.ctl("lease", "timetolive", f"{lease:x}", "-w", "json").stdout)["ttl"]
        self.assertGreater(left, 1800)
        port = before["Service", "default", "web"]["spec"]["ports"][0]["nodePort"]
        taken = self.server.kubectl("create", "service", "nodeport", "other", "--tcp=80", f"--node-port={port}", check=False)
        self.assertIn("provided port is already allocated", taken.stderr)
        self.refused("store", "migrate", "--to", "data-dir", "--data", self.data, "--etcd-servers", self.etcd.urls(), *self.encrypted())
        self.create("later")
        before, _ = self.objects()
        self.stop_server()

        said = self.migrate("data-dir", "--etcd-prefix", "/cluster/a", check=False)
        self.assertIn(f"{self.data}/store is not empty", said.stderr)
        shutil.move(self.data / "store", self.folder / "former")
        said = self.migrate("data-dir", "--etcd-prefix", "/cluster/a").stdout
        self.assertNotIn(digest, said, "something was written in between")
        self.assertFalse((self.data / "store.unfinished").exists())
        self.assertNotIn(b"open sesame", (self.data / "store/store.db").read_bytes())
        self.start_embedded()
        back, versions = self.objects_when_served()
        self.assertEqual(back, before)
        self.create("last")
        self.assertGreater(int(self.get("last")["metadata"]["resourceVersion"]), max(versions.values()))

    def test_a_copy_that_is_killed_is_used_by_nobody_and_begun_anew(self):
        self.start_etcd()
        self.start_embedded()
        self.fill()
        before, _ = self.objects()
        self.stop_server()
        mark = "/registry/_porthole/copying"
        self.start_relay()
        copying = subprocess.Popen(self.network.inside([str(PORTHOLE), "store", "migrate", "--to", "etcd", "--data", str(self.data),
                                                        "--etcd-servers", f"http://127.0.0.1:{RELAY}", *map(str, self.encrypted())]),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: self.etcd.get(mark), 30, "it copies")
            self.assertIsNone(copying.poll(), "it is half-way")
        finally:
            copying.kill()
            copying.wait(120)
        self.assertIsNotNone(self.etcd.get(mark))
        started = lambda: self.porthole("server", "--data", self.data, "--port", "7443", "--etcd-servers", self.etcd.urls(), *self.encrypted(), check=False)
        self.assertIn("not in an etcd", started().stderr)
        self.assertIn("etcd has an unfinished copy of a cluster", self.without_store(started).stderr)
        self.migrate("etcd")
        self.assertIsNone(self.etcd.get(mark))
        self.start_on_etcd()
        self.assertEqual(self.objects_when_served()[0], before)

    def test_what_cannot_be_done_is_said_in_one_line(self):
        tls = self.folder / "tls"
        make_certificates(tls)
        self.start_etcd(tls=tls)
        self.start_embedded()
        self.fill()
        self.stop_server()
        store = (self.data / "store/store.db").read_bytes()
        to = lambda where, *options: self.refused("store", "migrate", "--to", where, "--data", self.data, "--etcd-servers", self.etcd.urls(), *options)
        trusted = ("--etcd-cafile", tls / "ca.crt")
        self.assertRegex(to("etcd", *self.encrypted(), "--etcd-cafile", tls / "other.crt"), r"tls: .*: check --etcd-cafile")
        self.assertIn("secrets/default/hidden cannot be read", to("etcd", *trusted, "--encryption-provider-config", self.other_key()))
        self.assertIn("there is no", to("etcd", *trusted))
        self.assertIn("there is no cluster below /registry in etcd", self.without_store(lambda: to("data-dir", *trusted, *self.encrypted())))
        self.assertIn("no control plane in", self.refused("store", "migrate", "--to", "etcd", "--data", self.folder / "nowhere",
                                                          "--etcd-servers", self.etcd.urls()))
        nobody = self.refused("store", "migrate", "--to", "etcd", "--data", self.data, "--etcd-servers", "http://127.0.0.1:2", *self.encrypted())
        self.assertIn("check --etcd-servers, and whether etcd runs", nobody)
        self.assertEqual(self.etcd.ctl("get", "/", "--prefix", "--keys-only").stdout, "", "nothing was half-applied")
        self.assertEqual((self.data / "store/store.db").read_bytes(), store)

    def test_a_server_does_not_begin_an_empty_cluster_beside_its_own(self):
        self.start_etcd()
        on_etcd = ("--etcd-servers", self.etcd.urls())
        started = lambda *options: self.refused("server", "--data", self.data, "--port", "7443", *self.encrypted(), *options)
        here = lambda: {path.name: path.read_bytes() for path in [self.data / "admin.kubeconfig", *(self.data / "pki").iterdir()]}
        self.start_embedded()
        before = here()
        for options in ((), on_etcd):
            self.assertRegex(started("--advertise-address", "10.0.0.9", *options).splitlines()[-1], r"data is in use by process \d+: stop it first")
        self.assertEqual(here(), before)
        self.stop_server()
        backup = lambda *options: self.refused("backup", self.folder / "b", "--data", self.data, *options)
        for refused in (started, backup):
            self.assertIn("not in an etcd: leave the --etcd flags out, or move the objects with `porthole store migrate --to etcd", refused(*on_etcd))
        self.assertEqual(self.etcd.ctl("get", "/", "--prefix", "--keys-only").stdout, "")

        self.migrate("etcd")
        where = f"are in etcd ({self.etcd.urls()}, /registry): give the --etcd flags"
        self.assertIn(where, started())
        self.assertIn(where, backup())
        elsewhere = (*on_etcd, "--etcd-prefix", "/other")
        for refused in (started, backup):
            self.assertIn("not below /other: give --etcd-prefix /registry", refused(*elsewhere))
        again = self.refused("store", "migrate", "--to", "etcd", "--data", self.data, *self.encrypted(), *elsewhere)
        self.assertIn(where, again, "the store that is left is older than the objects")
        self.assertFalse((self.folder / "b").exists())
        self.start_on_etcd()
        self.assertRegex(started(), r"data is in use by process \d+")
        self.stop_server()
        shutil.move(self.data / "store", self.folder / "former")
        self.assertIn(where, started())
        self.assertFalse((self.data / "store").exists())
        self.migrate("data-dir")
        self.assertIn("not in an etcd", started(*on_etcd))
        self.start_embedded()

    def start_relay(self):
        """Before etcd, for a copy that gets stuck after the first kilobytes."""
        script = pathlib.Path(__file__).with_name("stalling_relay.py")
        words = [sys.executable, str(script), str(RELAY), "2379", str(HALF_WAY)]
        relay = subprocess.Popen(self.network.inside(words), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.assertEqual(relay.stdout.readline(), "listening\n")

        def stop():
            relay.kill()
            relay.wait(120)
            relay.stdout.close()
        self.addCleanup(stop)

    def other_key(self):
        path = self.folder / "other.yaml"
        path.write_text(ENCRYPTION.replace("name: k1", "name: k2"))
        return path

    def without_store(self, then):
        shutil.move(self.data / "store", self.folder / "former")
        try:
            return then()
        finally:
            shutil.move(self.folder / "former", self.data / "store")


class Backup(StoreMigration):
    def test_a_backup_of_a_running_server_on_etcd_is_restored_below_another_prefix(self):
        self.start_etcd()
        self.start_on_etcd()
        self.fill()
        before, old = self.objects()
        file = self.folder / "b"
        on_etcd = ("--etcd-servers", self.etcd.urls(), *self.encrypted())
        said = self.porthole("backup", file, "--data", self.data, *on_etcd).stdout
        self.assertRegex(said, r"restored into a scratch directory: the same objects")
        self.assertNotIn(b"open sesame", file.read_bytes())
        self.assertFalse((self.data / "store").exists())
        self.stop_server()

        restored = self.folder / "restored"
        self.assertIn("is not empty", self.refused("restore", file, "--data", restored, *on_etcd))
        self.assertFalse(restored.exists())
        said = self.porthole("restore", file, "--data", restored, *on_etcd, "--etcd-prefix", "/again").stdout
        self.assertIn("porthole server --data", said)
        self.assertFalse((restored / "store").exists())
        other = self.folder / "other"
        self.porthole("restore", file, "--data", other)
        shutil.rmtree(self.data)
        restored.rename(self.data)
        self.start_on_etcd("--etcd-prefix", "/again")
        there, new = self.objects_when_served()
        self.assertEqual(there, before)
        self.assertGreater(min(new.values()), max(old.values()))
        self.stop_server()

        shutil.rmtree(self.data)
        other.rename(self.data)
        self.start_embedded()
        self.assertEqual(self.objects_when_served()[0], before, "the same file is one of an embedded store")


if __name__ == "__main__":
    unittest.main()
