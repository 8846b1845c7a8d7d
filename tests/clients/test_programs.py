"""The newest lines of Helm and kustomize, and controller-runtime's own tests, against a running cluster."""

import json
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
import test_helm  # noqa: E402
from control_plane_case import ControlPlaneCase  # noqa: E402
from harness import TOOLS, ClusterCase, run  # noqa: E402
from library_case import add_tests  # noqa: E402
from manifests import web_deployment  # noqa: E402

BUILT = TOOLS / "clients"
OVERLAY = """
namePrefix: blue-
labels: [{{pairs: {{team: web}}}}]
replicas: [{{name: web, count: 2}}]
resources: [web.json]
configMapGenerator: [{{name: settings, literals: [colour={}]}}]
patches:
- target: {{kind: Deployment}}
  patch: |
    [{{"op": "add", "path": "/spec/template/spec/containers/0/envFrom", "value": [{{"configMapRef": {{"name": "settings"}}}}]}}]
"""


class Helm4(test_helm.Helm):
    program = BUILT / "helm4/helm"


class Kustomize(ClusterCase):
    program = BUILT / "kustomize/kustomize"

    def setUp(self):
        if not self.program.exists():
            self.skipTest("kustomize is not built: ./run test clients")
        super().setUp()

    def apply_overlay(self, folder, colour):
        pathlib.Path(folder, "web.json").write_text(json.dumps(web_deployment("web")))
        pathlib.Path(folder, "kustomization.yaml").write_text(OVERLAY.format(colour))
        self.kubectl("apply", "-f", "-", stdin=run([self.program, "build", folder]).stdout)
        self.wait_rolled_out("blue-web")
        return self.get("deployment", "blue-web")

    def test_a_new_value_in_an_overlay_makes_a_rollout(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (self.apply_overlay(folder, colour) for colour in ("green", "red"))
        self.assertEqual((first["metadata"]["labels"]["team"], first["spec"]["replicas"]), ("web", 2))
        self.assertGreater(second["metadata"]["generation"], first["metadata"]["generation"])
        names = [found["metadata"]["name"] for found in self.list("configmaps", "team=web")]
        self.assertEqual(len(names), 2, "each content has a name of its own")
        pod = self.pods("app=web")[0]["metadata"]["name"]
        self.assertEqual(self.exec(pod, "sh", "-c", "echo $colour").strip(), "red")


class ControllerRuntime(ControlPlaneCase):
    """Each suite is one test, in the folder that upstream's has its files in; it takes the cluster of KUBECONFIG in place of its own.

    The suites are written for an API server alone: they create Deployments whose status nobody but themselves may write, and list what is
    in the whole cluster. So each has a control plane without nodes, whose controllers and scheduler have lost their rights.
    """

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("a network namespace needs root")
        self.suites = BUILT / "controller-runtime"
        if not self.suites.is_dir():
            self.skipTest("controller-runtime's tests are not built: ./run test clients")
        super().setUp()
        self.server.start("--bind-address", "127.0.0.1", "--disable-admission-plugins", "ServiceAccount")
        bindings = self.server.kubectl("get", "clusterrolebindings", "-o", "name").stdout.split()
        acting = [name for name in bindings if ":controller:" in name or name.endswith("system:kube-scheduler")]
        self.assertGreater(len(acting), 20)
        self.server.kubectl("delete", *acting)
        self.server.kubectl("delete", "service", "kube-dns", "--namespace", "kube-system")

    def run_check(self):
        folder, *options = LINES[self.check]
        folder = self.suites / folder
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.server.kubeconfig),
                       "USE_EXISTING_CLUSTER": "true"}
        done = run(self.network.inside([folder / "suite", "-ginkgo.no-color", *options]), seconds=600, env=environment, cwd=folder)
        self.assertNotIn("no tests to run", done.stdout + done.stderr)


LINES = {}  # of suites.txt, by the folder that they begin with, and a number where there are more of it
for line in (HERE / "controller-runtime/suites.txt").read_text().splitlines():
    folder = line.split()[0]
    LINES[f"{folder} {sum(name.split()[0] == folder for name in LINES) + 1}" if folder in LINES else folder] = line.split()
add_tests(ControllerRuntime, LINES)
