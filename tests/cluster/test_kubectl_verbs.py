"""What people type, with the oldest and the newest kubectl, and without a warning that upstream would not print."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from harness import DISTURBED, IMAGE, ClusterCase, condition, run
from manifests import config_map, deployment, pod, service, web_deployment

READY_SCRIPT = "trap 'exit 0' TERM; while :; do sleep 0.2; done"


class Verbs:
    """The tests of one client; the two classes at the end run them."""

    def web(self, name="web", replicas=1):
        self.apply(web_deployment(name, replicas))
        self.wait_rolled_out(name)

    # --- reading

    # CLI-01
    def test_nodes_show_what_they_are(self):
        table = self.kubectl("get", "nodes", "-o", "wide", namespaced=False)
        for word in ("NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION",
                     "CONTAINER-RUNTIME", "linux-1", "linux-2", "Ready", "containerd://"):
            self.assertIn(word, table)
        self.kubectl("get", "nodes,pods", "-A", namespaced=False)

    # CLI-03
    def test_pods_are_shown_in_every_form(self):
        self.web()
        wide = self.kubectl("get", "pods", "-o", "wide")
        for word in ("READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES", "1/1", "Running", "10.244."):
            self.assertIn(word, wide)
        name = self.pods("app=web")[0]["metadata"]["name"]
        self.assertIn("kind: Pod", self.kubectl("get", "pod", name, "-o", "yaml"))
        self.assertEqual(self.kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}"), "Running")
        self.assertEqual(self.kubectl("get", "pods", "-o", "name").strip(), f"pod/{name}")
        self.assertEqual(self.kubectl("get", "pods", "--no-headers", "-o", "custom-columns=N:.metadata.name").strip(), name)
        self.assertIn(name, self.kubectl("get", "pods", "-l", "app in (web)", "--field-selector", "status.phase=Running"))
        self.assertEqual(self.kubectl("get", "pods", "-l", "app!=web", "-o", "name"), "")
        self.kubectl("get", "pods", "--sort-by=.metadata.name", "--show-labels")
        self.kubectl("get", "all", "--show-labels")

    def test_describe_tells_events_and_conditions(self):
        self.web()
        name = self.pods("app=web")[0]["metadata"]["name"]
        words = ("Controlled By:", "ReplicaSet/web-", "Scheduled", "Started", "PodScheduled", "Conditions:")
        def told():  # events come on their own, maybe after what they tell of
            text = self.kubectl("describe", "pod", name)
            for word in words:
                self.assertIn(word, text)
            return True
        self.eventually(told, what="describe tells all of the pod")
        self.assertIn("RollingUpdate", self.kubectl("describe", "deployment", "web"))
        node = self.kubectl("describe", "node", "linux-1", namespaced=False)
        for word in ("Allocatable:", "kubernetes.io/hostname=linux-1", "Lease:", "PodCIDR:", "Allocated resources:"):
            self.assertIn(word, node)

    # CLI-03
    def test_watch_prints_what_happens(self):
        command = self.cluster.kubectl_command(self.client, "-n", self.namespace, "get", "configmaps", "-w", "-o", "name")
        with tempfile.NamedTemporaryFile("w+") as printed, subprocess.Popen(command, env=self.cluster.environment(), stdout=printed) as watch:
            try:
                self.apply(config_map("seen", a="1"))
                self.eventually(lambda: "configmap/seen" in pathlib.Path(printed.name).read_text(), what="the watch prints the new object")
            finally:
                watch.terminate()

    def test_explain_knows_every_field(self):
        self.assertIn("terminationGracePeriodSeconds", self.kubectl("explain", "pod.spec"))
        text = self.kubectl("explain", "deployment", "--recursive")
        for field in ("maxSurge", "livenessProbe", "runAsNonRoot", "topologySpreadConstraints"):
            self.assertIn(field, text)
        # A missing description is "<no description>" or an empty line.
        for path in ("pod.spec.affinity.nodeAffinity", "deployment.spec.template.metadata", "service.status.loadBalancer"):
            text = self.kubectl("explain", path)
            self.assertNotIn("<no description>", text)
            self.assertNotRegex(text, r"(?m)^ +\w+\t<.*>.*\n\s*\n")

    def test_resources_and_versions_are_listed(self):
        # The old client fails where another test's definition goes while it asks for one group after the other.
        resources = self.eventually(lambda: self.kubectl("api-resources", "--verbs=list", "-o", "wide", namespaced=False))
        for word in ("deployments", "deploy", "endpointslices", "customresourcedefinitions", "storageclasses", "leases"):
            self.assertIn(word, resources)
        versions = self.kubectl("api-versions", namespaced=False).split()
        for version in ("v1", "apps/v1", "batch/v1", "discovery.k8s.io/v1", "rbac.authorization.k8s.io/v1"):
            self.assertIn(version, versions)
        self.kubectl("cluster-info", namespaced=False)
        self.assertIn("gitVersion", self.kubectl("version", "-o", "json", namespaced=False, warnings=True))

    def test_top_shows_what_a_pod_uses(self):
        self.apply(pod("measured"))
        self.wait_ready("measured")
        shown = lambda: re.search(r"measured +\d+m +\d+Mi", self.kubectl_run("top", "pods", check=False).stdout)
        self.eventually(shown, 60, "kubectl top shows the pod")

    # --- configuration

    def with_files(self, *words, **variables):
        """What kubectl does in a home of its own, with these variables besides."""
        command = self.cluster.kubectl_command(self.client, *words)
        return run(command, env={"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **variables}, check=False)

    def write_configuration(self, path, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"apiVersion: v1\nkind: Config\nclusters:\n- name: {name}\n  cluster: {{server: 'https://{name}.example.com'}}\n"
                        f"contexts:\n- name: {name}\n  context: {{cluster: {name}}}\ncurrent-context: {name}\n")
        return str(path)

    def own_home(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    # CLI-06
    def test_without_a_configuration_the_local_default_is_tried(self):
        self.own_home()
        done = self.with_files("get", "pods")
        self.assertEqual(done.returncode, 1)
        self.assertIn("localhost:8080", done.stderr)
        self.assertIn("refused", done.stderr)
        shown = self.with_files("config", "view", KUBECONFIG=str(self.cluster.kubeconfig))
        self.assertRegex(shown.stdout, r"server: https://\S+:6443")
        self.assertIn("linux-1", self.with_files("get", "nodes", KUBECONFIG=str(self.cluster.kubeconfig)).stdout)

    # CLI-07
    def test_a_flag_wins_over_the_environment_and_that_over_the_home(self):
        self.own_home()
        names = lambda *words, **variables: self.with_files("config", "view", "-o", "jsonpath={.clusters[*].name} {.current-context}", *words,
                                                            **variables).stdout.split()
        self.write_configuration(self.home / ".kube/config", "home")
        one, two = (self.write_configuration(self.home / name, name) for name in ("one", "two"))
        flag = self.write_configuration(self.home / "flag", "flag")
        self.assertEqual(names(), ["home", "home"])
        self.assertEqual(names(KUBECONFIG=f"{one}:{two}"), ["one", "two", "one"])
        self.assertEqual(names("--kubeconfig", flag, KUBECONFIG=f"{one}:{two}"), ["flag", "flag"])

    # --- writing

    # CLI-02, CLI-08
    def test_create_expose_and_scale(self):
        self.kubectl("create", "deployment", "shop", f"--image={IMAGE}", "--replicas=1", "--", "sh", "-c", READY_SCRIPT)
        self.wait_rolled_out("shop")
        self.kubectl("expose", "deployment", "shop", "--port=80", "--target-port=8080")
        self.assertEqual(self.get("service", "shop")["spec"]["selector"], {"app": "shop"})
        self.kubectl("scale", "deployment", "shop", "--replicas=3")
        self.wait_rolled_out("shop")
        self.assertEqual(len(self.pods("app=shop")), 3)
        table = self.kubectl("get", "services")
        for word in ("TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "80/TCP", "<none>"):
            self.assertIn(word, table)

    # CLI-02
    def test_rollout_has_history_and_undo(self):
        self.web()
        self.kubectl("set", "env", "deployment/web", "A=1")
        self.wait_rolled_out("web")
        history = self.kubectl("rollout", "history", "deployment/web")
        self.assertRegex(history, r"(?m)^1\s")
        self.assertRegex(history, r"(?m)^2\s")
        # The client itself warns that what was applied is rolled back.
        self.kubectl("rollout", "undo", "deployment/web", "--to-revision=1", warnings=True)
        self.wait_rolled_out("web")
        self.kubectl("rollout", "restart", "deployment/web")
        self.wait_rolled_out("web")

    # CLI-02
    def test_apply_of_several_documents_with_prune_and_diff(self):
        # Old clients take JSON documents apart without the marks between them only.
        two = "".join(json.dumps(document) + "\n" for document in (
            labelled(config_map("one", a="1")), labelled(config_map("two", a="1"))))
        self.kubectl("apply", "-f", "-", stdin=two)
        changed = json.dumps(labelled(config_map("one", a="2")))
        diff = self.kubectl_run("diff", "-f", "-", stdin=changed, check=False)
        self.assertEqual(diff.returncode, 1, diff.stderr)
        self.assertRegex(diff.stdout, r'(?m)^\+  a: "2"')
        prune = ("--prune", "-l", "set=test", "--prune-whitelist=core/v1/ConfigMap") if self.client in ("1.20", "1.24") else (
            "--prune", "-l", "set=test", "--prune-allowlist=core/v1/ConfigMap")
        self.kubectl("apply", "-f", "-", *prune, stdin=changed)
        self.assertIsNone(self.try_get("configmap", "two"))
        self.assertEqual(self.get("configmap", "one")["data"], {"a": "2"})
        self.assertIn("unchanged", self.kubectl("apply", "-f", "-", stdin=changed))

    def test_server_side_apply_tells_conflicts(self):
        self.kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=json.dumps(config_map("owned", a="1")))
        error = self.kubectl_fails("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=json.dumps(config_map("owned", a="2")))
        self.assertIn('conflict with "one"', error)
        self.kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-",
                     stdin=json.dumps(config_map("owned", a="2")))
        self.assertEqual(self.get("configmap", "owned")["data"], {"a": "2"})

    # CLI-02
    def test_edit_saves_what_the_editor_wrote(self):
        self.apply(config_map("text", word="before"))
        editor = pathlib.Path(self.cluster.folder, self.namespace + "-editor")  # the other client's test may run at the same time
        editor.write_text("#!/bin/sh\nsed -i s/before/after/ \"$1\"\n")
        editor.chmod(0o755)
        run(self.cluster.kubectl_command(self.client, "-n", self.namespace, "edit", "configmap", "text"),
            env={**self.cluster.environment(), "KUBE_EDITOR": str(editor)})
        self.assertEqual(self.get("configmap", "text")["data"], {"word": "after"})

    # CLI-02
    def test_labels_and_annotations(self):
        self.apply(config_map("tagged", a="1"))
        self.kubectl("label", "configmap", "tagged", "colour=green")
        self.assertIn("already has a value", self.kubectl_fails("label", "configmap", "tagged", "colour=blue"))
        self.kubectl("label", "configmap", "tagged", "colour=blue", "--overwrite")
        self.kubectl("annotate", "configmap", "tagged", "note=long text here")
        metadata = self.get("configmap", "tagged")["metadata"]
        self.assertEqual((metadata["labels"], metadata["annotations"]["note"]), ({"colour": "blue"}, "long text here"))
        self.kubectl("label", "configmap", "tagged", "colour-")
        self.assertNotIn("labels", self.get("configmap", "tagged")["metadata"])

    def test_every_kind_of_patch(self):
        self.apply(deployment("patched"))
        self.kubectl("patch", "deployment", "patched", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"A","value":"1"}]}]}}}}')
        containers = self.get("deployment", "patched")["spec"]["template"]["spec"]["containers"]
        self.assertEqual((len(containers), containers[0]["image"], containers[0]["env"]), (1, IMAGE, [{"name": "A", "value": "1"}]))
        self.kubectl("patch", "deployment", "patched", "--type=merge", "-p", '{"spec":{"replicas":0}}')
        self.kubectl("patch", "deployment", "patched", "--type=json", "-p", '[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]')
        found = self.get("deployment", "patched")
        self.assertEqual((found["spec"]["replicas"], found["metadata"]["labels"]), (0, {"x": "y"}))

    def test_replace_and_create_of_small_kinds(self):
        self.kubectl("create", "configmap", "small", "--from-literal=a=1")
        found = self.get("configmap", "small")
        found["data"] = {"a": "2"}
        self.kubectl("replace", "-f", "-", stdin=json.dumps(found))
        self.assertEqual(self.get("configmap", "small")["data"], {"a": "2"})
        self.kubectl("create", "secret", "generic", "key", "--from-literal=p=w")
        self.assertEqual(self.get("secret", "key")["data"], {"p": "dw=="})
        self.kubectl("create", "serviceaccount", "robot")
        self.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
        self.kubectl("create", "rolebinding", "robot-reads", "--role=reader", f"--serviceaccount={self.namespace}:robot")
        self.kubectl("create", "configmap", "dry", "--from-literal=a=1", "--dry-run=server")
        self.assertIsNone(self.try_get("configmap", "dry"))

    def test_wait_ends_when_the_condition_holds(self):
        self.apply(pod("soon"))
        self.kubectl("wait", "--for=condition=Ready", "pod/soon", "--timeout=120s", seconds=130)
        self.kubectl("delete", "pod", "soon", "--wait=false")
        waited = self.kubectl_run("wait", "--for=delete", "pod/soon", "--timeout=120s", seconds=130, check=False)
        # An old client that comes too late to see the pod go calls that an error.
        self.assertTrue(waited.returncode == 0 or "no matching resources found" in waited.stderr, waited.stderr)
        self.assertIsNone(self.try_get("pod", "soon"))

    def test_run_starts_one_pod(self):
        self.kubectl("run", "single", f"--image={IMAGE}", "--restart=Never", "--command", "--", "sh", "-c", "echo done")
        self.wait_phase("single", "Succeeded")
        self.assertEqual(self.kubectl("logs", "single"), "done\n")

    def test_rights_can_be_asked_for(self):
        self.assertEqual(self.kubectl("auth", "can-i", "create", "deployments").strip(), "yes")
        self.assertIn("*.*", self.kubectl("auth", "can-i", "--list"))
        robot = f"--as=system:serviceaccount:{self.namespace}:default"
        done = self.kubectl_run("auth", "can-i", "delete", "secrets", robot, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()[:2]), (1, "no"))

    def test_events_and_selectors_on_many_objects(self):
        self.apply(*[labelled(config_map(f"many-{number}", n=str(number))) for number in range(30)])
        self.assertEqual(len(self.list("configmaps", "set=test")), 30)
        chunked = self.kubectl("get", "configmaps", "--chunk-size=7", "-l", "set=test", "-o", "name")
        self.assertEqual(len(chunked.split()), 30)
        self.kubectl("delete", "configmaps", "-l", "set=test")
        self.assertEqual(self.list("configmaps", "set=test"), [])

    def test_type_names_in_every_spelling(self):
        self.apply(service("spelled", {"app": "x"}))
        for spelling in ("service", "services", "svc", "svc/spelled", "services.v1."):
            words = (spelling,) if "/" in spelling else (spelling, "spelled")
            self.assertIn("spelled", self.kubectl("get", *words, "-o", "name"))


class Nodes:
    """Verbs that change nodes; each puts back what it changed."""

    shared = DISTURBED
    alone = True

    # CLI-02
    def test_cordon_drain_and_uncordon(self):
        self.apply(web_deployment("web", replicas=4))
        self.wait_rolled_out("web")
        try:
            self.kubectl("cordon", "linux-2", namespaced=False)
            self.assertIn("SchedulingDisabled", self.kubectl("get", "node", "linux-2", namespaced=False))
            self.kubectl("drain", "linux-2", "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=web", "--timeout=120s", namespaced=False, warnings=True, seconds=130)
            self.wait_rolled_out("web")
            self.assertEqual({found["spec"]["nodeName"] for found in self.pods("app=web")}, {"linux-1"})
        finally:
            self.kubectl("uncordon", "linux-2", namespaced=False)

    # CLI-02
    def test_taints_keep_pods_away_and_drive_them_out(self):
        taint = f"test-{self.namespace}=yes"
        self.apply(pod("stays", nodeName="linux-2", tolerations=[{"key": f"test-{self.namespace}", "operator": "Exists"}]),
                   pod("leaves", nodeName="linux-2", tolerations=[{"key": f"test-{self.namespace}", "operator": "Exists",
                                                                   "effect": "NoExecute", "tolerationSeconds": 1}]))
        self.wait_ready("stays")
        self.wait_ready("leaves")
        try:
            self.kubectl("taint", "node", "linux-2", taint + ":NoExecute", namespaced=False)
            self.eventually(lambda: self.try_get("pod", "leaves") is None, 60, "the pod without tolerance is gone")
            self.assertEqual(condition(self.get("pod", "stays"), "Ready"), "True")
        finally:
            self.kubectl("taint", "node", "linux-2", f"test-{self.namespace}-", namespaced=False)


def labelled(found):
    found["metadata"]["labels"] = {"set": "test"}
    return found


# API-02, BIN-05
class VerbsOfTheNewestKubectl(Verbs, ClusterCase):
    client = "new"

    def test_token_can_be_requested(self):
        self.assertEqual(self.kubectl("create", "token", "default").count("."), 2)

    def test_events_verb(self):
        self.apply(pod("noisy"))
        self.wait_ready("noisy")
        self.eventually(lambda: "Scheduled" in self.kubectl("events", "--for", "pod/noisy"), what="the event of the scheduler")

    def test_unknown_field_is_refused_by_the_server(self):
        wrong = pod("wrong")
        wrong["spec"]["contianers"] = []
        error = self.kubectl_fails("apply", "-f", "-", stdin=json.dumps(wrong))
        self.assertIn('unknown field "spec.contianers"', error)


class VerbsOfKubectl120(Verbs, ClusterCase):
    client = "1.20"


class NodesWithTheNewestKubectl(Nodes, ClusterCase):
    client = "new"


class NodesWithKubectl120(Nodes, ClusterCase):
    client = "1.20"


if __name__ == "__main__":
    unittest.main()
