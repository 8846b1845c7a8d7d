"""Bad input gets Kubernetes' own answer, or one line that says what, why and the remedy; nothing is left half done."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import yaml

from harness import IMAGE, PORTHOLE, Cluster, ClusterCase, run, slow
from manifests import config_map, deployment, pod


class BadRequests(ClusterCase):
    def refused(self, found, *causes, verb="create"):
        """kubectl prints what the server answered; server-side validation, as with a client that does not know the kind."""
        words = ["--validate=false"] if verb == "create" else []
        error = self.kubectl_fails(verb, *words, "-f", "-", stdin=json.dumps(found))
        for cause in causes:
            self.assertIn(cause, error)
        return error

    # API-08
    def test_names_labels_and_values_are_checked_with_their_paths(self):
        wrong = pod("ok")
        wrong["metadata"]["name"] = "Not_Valid"
        self.refused(wrong, "is invalid", "metadata.name", "RFC 1123 subdomain")
        wrong = pod("ok", labels={"app": "white space"})
        self.refused(wrong, "metadata.labels", "a valid label must be")
        wrong = pod("ok")
        wrong["spec"]["containers"][0]["ports"] = [{"containerPort": 99999}]
        self.refused(wrong, "spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive")
        wrong = pod("ok")
        wrong["spec"]["containers"] = []
        self.refused(wrong, "spec.containers: Required value")
        wrong = pod("ok")
        wrong["spec"]["restartPolicy"] = "Sometimes"
        self.refused(wrong, 'spec.restartPolicy: Unsupported value: "Sometimes"')

    # API-07
    def test_several_causes_are_told_at_once(self):
        wrong = deployment("many")
        wrong["spec"]["selector"]["matchLabels"] = {"app": "other"}
        wrong["spec"]["replicas"] = -1
        error = self.refused(wrong)
        self.assertIn("spec.replicas: Invalid value: -1: must be greater than or equal to 0", error)
        self.assertIn("`selector` does not match template `labels`", error)

    # API-05
    def test_wrong_types_and_malformed_documents(self):
        wrong = deployment("typed")
        wrong["spec"]["replicas"] = "three"
        self.refused(wrong, "BadRequest")
        self.assertRegex(self.kubectl_fails("create", "-f", "-", stdin="a: [1\nb: }"), "(?i)yaml|converting")
        self.assertRegex(self.kubectl_fails("create", "-f", "-", stdin='{"apiVersion": "v1", "kind": "Gadget"}'), "no matches for kind|not found|unable to recognize")
        self.assertIn("apps/v9", self.kubectl_fails("create", "-f", "-", stdin='{"apiVersion": "apps/v9", "kind": "Deployment", "metadata": {"name": "x"}}'))

    def test_raw_requests_get_statuses(self):
        for body, code in (("{", 400), ('{"apiVersion":"v1","kind":"ConfigMap"}', 422), ('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}', 400)):
            status = self.raw("POST", f"/api/v1/namespaces/{self.namespace}/configmaps", body)
            self.assertEqual((status["kind"], status["status"], status["code"]), ("Status", "Failure", code), body)
        self.assertEqual(self.raw("GET", "/api/v1/namespaces/none/pods/nobody")["reason"], "NotFound")
        self.assertEqual(self.raw("GET", "/apis/nowhere.example/v1/things")["code"], 404)
        self.assertEqual(self.raw("DELETE", "/api/v1/pods")["code"], 405)
        self.assertEqual(self.raw("GET", f"/api/v1/namespaces/{self.namespace}/pods?labelSelector=a%3D%3D%3D")["code"], 400)

    def raw(self, method, path, body=""):
        return self.cluster.raw(method, path, body=body)

    def test_too_large_object_is_refused(self):
        status = self.raw("POST", f"/api/v1/namespaces/{self.namespace}/configmaps", json.dumps(config_map("huge", a="x" * 3_500_000)))
        self.assertEqual(status["code"], 413)
        self.assertIsNone(self.try_get("configmap", "huge"))

    def test_stale_version_conflicts(self):
        self.apply(config_map("raced", a="1"))
        stale = self.get("configmap", "raced")
        self.kubectl("patch", "configmap", "raced", "-p", '{"data":{"a":"2"}}')
        stale["data"] = {"a": "3"}
        error = self.kubectl_fails("replace", "-f", "-", stdin=json.dumps(stale))
        self.assertIn("the object has been modified; please apply your changes to the latest version and try again", error)
        self.assertEqual(self.get("configmap", "raced")["data"], {"a": "2"})

    def test_immutable_fields_stay(self):
        self.apply(deployment("fixed", 0))
        error = self.kubectl_fails("patch", "deployment", "fixed", "--type=merge", "-p",
                                   '{"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}}}}}')
        self.assertIn("field is immutable", error)
        self.apply(pod("fixed"))
        self.assertIn("spec", self.kubectl_fails("patch", "pod", "fixed", "-p", '{"spec":{"nodeName":"elsewhere"}}'))

    def test_existing_and_absent_objects(self):
        self.apply(config_map("here", a="1"))
        self.assertIn('(AlreadyExists): error when creating "STDIN": configmaps "here" already exists',
                      self.kubectl_fails("create", "-f", "-", stdin=json.dumps(config_map("here", a="1"))))
        self.assertEqual(self.kubectl_fails("get", "pod", "nobody").strip(), 'Error from server (NotFound): pods "nobody" not found')
        self.assertIn("the server doesn't have a resource type", self.kubectl_fails("get", "gadgets"))
        self.assertIn("not found", self.kubectl_fails("create", "configmap", "x", "-n", "no-such-namespace", namespaced=False))

    def test_missing_rights_are_told_and_nothing_is_shown(self):
        answer = self.raw("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default/token",
                          '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}')
        token = answer["status"]["token"]
        status = self.raw_as(token, f"/api/v1/namespaces/{self.namespace}/secrets")
        self.assertEqual((status["code"], status["reason"]), (403, "Forbidden"))
        self.assertIn(f'User "system:serviceaccount:{self.namespace}:default" cannot list resource "secrets" in API group "" in the namespace "{self.namespace}"',
                      status["message"])
        self.assertEqual(self.raw_as("not-a-token", "/api/v1/pods")["code"], 401)
        nobody = self.raw_as("", "/api/v1/pods")
        self.assertEqual(nobody["code"], 403)
        self.assertIn('User "system:anonymous" cannot list resource "pods"', nobody["message"])

    def raw_as(self, token, path):
        return self.cluster.raw("GET", path, "--token", token)

    def test_terminating_namespace_takes_no_new_objects(self):
        name = self.namespace + "-end"
        self.kubectl("create", "namespace", name, namespaced=False)
        held = config_map("held", a="1")
        held["metadata"]["finalizers"] = ["test.example/hold"]
        self.kubectl("create", "-n", name, "-f", "-", namespaced=False, stdin=json.dumps(held))
        self.kubectl("delete", "namespace", name, "--wait=false", namespaced=False)
        try:
            create = ("create", "configmap", "late", "-n", name)
            told = lambda: "because it is being terminated" in self.kubectl_run(*create, namespaced=False, check=False).stderr
            self.eventually(told, what="the namespace takes no new object")
        finally:
            self.kubectl("patch", "configmap", "held", "-n", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}', namespaced=False)
        self.eventually(lambda: self.kubectl_run("get", "namespace", name, namespaced=False, check=False).returncode != 0, 60, "the namespace is gone")


class BadCommands(ClusterCase):
    """Commands that cannot work say so in one line, end with an error, and leave nothing."""

    def one_line(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        lines = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, f"one line, not:\n{done.stdout}{done.stderr}")
        for word in words:
            self.assertIn(word, lines[0])

    def porthole(self, *words, user=None, path=None):
        environment = self.cluster.environment() | ({"PATH": path} if path is not None else {})
        drop = ["setpriv", "--reuid", user, "--clear-groups"] if user else []
        return run(self.cluster.network.inside([*drop, str(PORTHOLE), *map(str, words)]), env=environment, check=False)

    def test_unknown_commands_and_options(self):
        self.one_line(self.porthole("upp"), "upp")
        self.assertNotEqual(self.porthole("up", "--nodes", "many").returncode, 0)

    # CLI-10
    def test_every_command_has_help_and_a_version_and_refuses_what_it_does_not_know(self):
        listed = re.findall(r"^  ([a-z-]+) ", self.porthole("--help").stdout, re.M)
        self.assertLessEqual({"up", "down", "status", "kubeconfig", "lint", "doctor", "net", "provision", "kubelet", "kube-proxy"}, set(listed))
        for command in listed:
            with self.subTest(command):
                self.assertEqual(self.porthole(command, "--help").returncode, 0)
                version = self.porthole(command, "--version")
                self.assertEqual((version.returncode, version.stderr), (0, ""))
                self.assertRegex(version.stdout, r"^(porthole|Kubernetes) \S*\d+\.\d+\.\d+")
                self.one_line(self.porthole(command, "--no-such-flag"), "--help")
        self.assertNotIn("\x1b", self.cluster.porthole("status").stdout, "no color where there is no terminal")

    def documents_of(self, *words):
        """Of a command with -o json and with -o yaml. The steps of `yaml` are several documents, those of `json` lines."""
        printed = {}
        for form in ("json", "yaml"):
            done = self.porthole(*words, form)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertEqual(done.stderr, "")
            printed[form] = done.stdout
        return printed["json"], list(yaml.safe_load_all(printed["yaml"]))

    # CLI-10
    @slow
    def test_commands_for_programs_print_json_and_yaml(self):
        data, nowhere = ["--data", self.cluster.data], self.cluster.folder / "nowhere.yaml"
        manifest = self.cluster.folder / "pod.yaml"
        manifest.write_text(json.dumps(pod("web", hostPID=True, os={"name": "windows"})))
        finding = {  # one document
            "status": [*data],
            "doctor": [*data],
            "lint": [manifest],
            "net verify": [*data, "--linux-image", IMAGE],
        }
        stepping = {  # a document for each step; these end with the first
            "join": ["https://127.0.0.1:1", "--token", "wrong", "--ca-cert-hash", "sha256:" + 64 * "0"],
            "provision": [*data, "-f", nowhere],
        }
        elsewhere = {"fleet": []}  # which a signal ends: test_fleet
        listed = re.findall(r"^  ([a-z-]+) ", self.porthole("--help").stdout, re.M)
        having = {command for command in listed if "-o,--output" in self.porthole(command, "--help").stdout}
        self.assertEqual(having | {"net verify"}, set(finding) | set(stepping) | set(elsewhere), "a command that has -o is missing here")
        for command, words in {**finding, **stepping, **elsewhere}.items():
            with self.subTest(command):
                refused = self.porthole(*command.split(), *words, "-o", "xml")
                self.assertEqual(refused.returncode, 2)
                self.one_line(refused, "xml", "json", "yaml", "--help")
        for command, words in finding.items():
            with self.subTest(command):
                found, documents = self.documents_of(*command.split(), *words, "-o")
                self.assertEqual(len(documents), 1)
                self.assertEqual(documents[0].keys(), json.loads(found).keys())
        for command, words in stepping.items():
            with self.subTest(command):
                found, documents = self.documents_of(*command.split(), *words, "-o")
                lines = [json.loads(line) for line in found.splitlines()]
                self.assertEqual([line | {"seconds": 0} for line in lines], [one | {"seconds": 0} for one in documents])
                self.assertEqual((lines[-1]["event"], lines[-1]["exitCode"]), ("end", 1))
        found, documents = self.documents_of("net", "routes", *data, "--format")
        self.assertEqual(documents, [json.loads(found)])
        self.one_line(self.porthole("net", "routes", *data, "--format", "xml"), "there are ip, powershell, csv, json and yaml")

    # TRB-17
    def test_help_says_where_kubectl_looks_for_its_configuration(self):
        told = self.porthole("kubeconfig", "--help").stdout
        places = [told.index(word) for word in ("flag --kubeconfig", "variable KUBECONFIG", "~/.kube/config. ", "localhost:8080")]
        self.assertEqual(places, sorted(places))
        self.assertIn("refused", told)

    # PRV-02
    def test_up_writes_a_kubeconfig_and_says_how_to_use_it(self):
        again = self.cluster.porthole("up", "--kubeconfig", self.cluster.kubeconfig, "--detach", seconds=240)
        self.assertIn(f"--data {self.cluster.data}", again.stdout)
        told = self.cluster.porthole("status").stdout
        self.assertIn("kubectl --context porthole get nodes", told)
        words = self.cluster.kubectl_command(self.client, "--context", "porthole", "get", "nodes", "-o", "name")
        self.assertIn("node/linux-1", run(words, env=self.cluster.environment()).stdout)
        predictable = self.cluster.data / "admin.kubeconfig"
        printed = self.cluster.porthole("kubeconfig").stdout
        self.assertRegex(printed, r"server: .?https://")
        self.assertEqual(predictable.exists(), True)

    def test_up_without_root(self):
        self.one_line(self.porthole("up", "--data", "/tmp/porthole-nobody", user="65534"), "root")
        self.assertFalse(pathlib.Path("/tmp/porthole-nobody").exists())

    def test_loading_what_is_not_an_archive(self):
        missing = self.cluster.folder / "no-such.tar"
        self.one_line(self.cluster.porthole("image", "load", missing, check=False), str(missing))
        wrong = self.cluster.folder / "wrong.tar"
        wrong.write_text("not an archive")
        self.one_line(self.cluster.porthole("image", "load", wrong, check=False), str(wrong))

    def test_commands_on_a_folder_without_a_cluster(self):
        empty = self.cluster.folder / "empty"
        empty.mkdir(exist_ok=True)
        self.one_line(self.porthole("status", "--data", empty), str(empty))
        self.assertEqual(list(empty.iterdir()), [])


class FailedStarts(unittest.TestCase):
    """Clusters that cannot start: each in a namespace of its own."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("a cluster on this machine needs root")
        self.cluster = Cluster("linux=1")
        self.addCleanup(self.cluster.stop)

    def fails_in_one_line(self, done, *words):
        self.assertNotEqual(done.returncode, 0)
        last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
        for word in words:
            self.assertIn(word, last, done.stderr)
        self.assertEqual(self.cluster.leftovers(), [])

    def test_taken_port_is_named(self):
        listener = subprocess.Popen(self.cluster.network.inside([sys.executable, "-c",
            "import socket, time; s = socket.create_server(('0.0.0.0', 6443)); print('open', flush=True); time.sleep(600)"]), stdout=subprocess.PIPE)
        try:
            listener.stdout.readline()
            self.fails_in_one_line(self.cluster.up(check=False), "6443")
        finally:
            listener.kill()
            listener.wait(5)
            listener.stdout.close()

    def test_a_second_supervisor_leaves_everything_alone(self):
        self.cluster.data.mkdir()
        with open(self.cluster.data / "supervisor.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.fails_in_one_line(self.cluster.up(check=False), "did not start", str(self.cluster.data / "logs"))
            self.assertIn("another supervisor of this cluster", (self.cluster.data / "logs/supervisor.log").read_text())
            self.assertFalse((self.cluster.data / "pki").exists(), "nothing was begun")

    def test_missing_containerd_names_the_package(self):
        empty = self.cluster.folder / "bin"
        empty.mkdir()
        for program in ("ip", "nft", "sysctl", "iptables", "runc", "mount", "umount", "sh"):
            found = shutil.which(program)
            if found:
                (empty / program).symlink_to(found)
        command = self.cluster.network.inside([str(PORTHOLE), "up", "--nodes", "linux=1", "--data", str(self.cluster.data),
                                               "--kubeconfig", str(self.cluster.kubeconfig), "--detach"])
        command[0] = shutil.which(command[0])
        done = run(command, env=self.cluster.environment() | {"PATH": str(empty)}, check=False)
        self.fails_in_one_line(done, "containerd")

    @slow
    def test_a_windows_host_that_ends_at_each_start_is_told_with_its_reason(self):
        programs = self.cluster.folder / "bin"
        programs.mkdir()
        broken = programs / "runc"
        broken.write_text("#!/bin/sh\necho 'runc run failed: no room' >&2\nexit 1\n")
        broken.chmod(0o755)
        command = self.cluster.network.inside([str(PORTHOLE), "up", "--nodes", "linux=1,windows=1", "--data", str(self.cluster.data),
                                               "--kubeconfig", str(self.cluster.kubeconfig), "--detach"])
        environment = self.cluster.environment()
        done = run(command, env=environment | {"PATH": f"{programs}:{environment['PATH']}"}, check=False)
        self.fails_in_one_line(done, "did not start", str(self.cluster.data / "logs"))
        self.assertRegex(done.stderr, "✗ node windows-1 Ready: the emulated host does not start: .*runc run failed: no room; see .*windows-1-winhost.log")


if __name__ == "__main__":
    unittest.main()
