"""The newest lines of Helm and kustomize, and controller-runtime's own tests, against a running cluster."""

import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
import test_helm  # noqa: E402
from harness import TOOLS, ClusterCase, run  # noqa: E402
from library_case import LibraryCase, add_tests  # noqa: E402
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


class ControllerRuntime(LibraryCase):
    """Each suite is one test, in the folder that upstream's has its files in; it takes the cluster of KUBECONFIG in place of its own."""

    alone = True  # they look at the whole cluster

    def run_check(self):
        folder = BUILT / "controller-runtime" / self.check
        if not folder.is_dir():
            self.skipTest("controller-runtime's tests are not built: ./run test clients")
        environment = {**self.cluster.environment(), "USE_EXISTING_CLUSTER": "true"}
        run(self.cluster.network.inside([folder / "suite", "-ginkgo.no-color"]), seconds=400, env=environment, cwd=folder)


add_tests(ControllerRuntime, (HERE / "controller-runtime/suites.txt").read_text().split())
