"""`porthole lint` as people use it: behind Helm and kustomize, and on standard input. Needs no cluster."""

import json
import pathlib
import tempfile
import unittest

from harness import CLIENTS, PORTHOLE, TOOLS, run

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "values.yaml": "hostNetwork: false\nsubPath: \"\"\n",
    "templates/web.yaml": """apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      {{- if .Values.hostNetwork }}
      hostNetwork: true
      {{- end }}
      containers:
      - name: web
        image: registry.example.com/web:1
        resources: {limits: {memory: 1Gi}}
        volumeMounts:
        - name: pages
          mountPath: C:\\pages
          {{- with .Values.subPath }}
          subPath: {{ . }}
          {{- end }}
      volumes: [{name: pages, configMap: {name: pages}}]
""",
}
BASE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: registry.example.com/web:1, resources: {limits: {memory: 1Gi}}}]
"""
OVERLAY = """resources: [../base]
patches:
- target: {kind: Deployment}
  patch: |
    - {op: add, path: /spec/template/spec/nodeSelector, value: {kubernetes.io/os: windows}}
    - {op: add, path: /spec/template/spec/hostIPC, value: true}
"""


class Lint(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, folder, files):
        for name, text in files.items():
            path = self.folder / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self.folder / folder

    def lint(self, *words, **options):
        return run([PORTHOLE, "lint", *words], check=False, **options)

    def problems(self, text, *words, code):
        """(code, object, field) of what is said of a text on standard input."""
        done = self.lint(*words, "-o", "json", "-", stdin=text)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return [(one["code"], one["object"], one["field"]) for one in json.loads(done.stdout)["problems"]]

    def template(self, chart, *words):
        if not (TOOLS / "helm").exists():
            self.skipTest("Helm is not built: ./run clients")
        return run([TOOLS / "helm", "template", "shop", chart, *words], env={"HOME": str(self.folder)}).stdout

    def test_what_helm_makes_of_a_chart(self):
        chart = self.write("chart", CHART)
        self.assertEqual(self.problems(self.template(chart), code=0), [])
        made = self.template(chart, "--set", "hostNetwork=true,subPath=site")
        self.assertEqual(self.problems(made, code=1), [
            ("WIN101", "Deployment shop-web", "spec.template.spec.hostNetwork"),
            ("WIN305", "Deployment shop-web", "spec.template.spec.containers[0].volumeMounts[0].subPath")])
        shown = self.lint("-", stdin=made)
        number = next(i for i, line in enumerate(made.splitlines(), 1) if "subPath: site" in line)
        self.assertIn(f"--> -:{number}:", shown.stdout, "the line is that of Helm's output")

    def test_a_chart_itself_is_left_to_helm(self):
        done = self.lint(self.write("chart", CHART))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Helm templates skipped: 1; lint the output of `helm template`", done.stderr)
        named = self.lint(self.folder / "chart/templates/web.yaml")
        self.assertEqual(named.returncode, 2, "a file that the user names is read")
        self.assertIn("lint the output of `helm template`", named.stderr)

    def test_what_kustomize_makes_of_an_overlay(self):
        self.write("base", {"web.yaml": BASE, "kustomization.yaml": "resources: [web.yaml]\n"})
        overlay = self.write("overlay", {"kustomization.yaml": OVERLAY})
        kustomize = [[CLIENTS["new"], "kustomize", overlay]] if CLIENTS["new"].exists() else []  # that of 1.20 has no inline patches
        if (TOOLS / "clients/kustomize/kustomize").exists():
            kustomize.append([TOOLS / "clients/kustomize/kustomize", "build", overlay])
        if not kustomize:
            self.skipTest("neither kubectl nor kustomize is built: ./run clients")
        self.assertEqual(self.lint(self.folder / "base").returncode, 0)
        for command in kustomize:
            with self.subTest(command[0]):
                made = run(command, env={"HOME": str(self.folder)}).stdout
                self.assertEqual(self.problems(made, code=1), [("WIN103", "Deployment web", "spec.template.spec.hostIPC")])

    def test_standard_input_is_mended_on_standard_output(self):
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeSelector: {beta.kubernetes.io/os: windows}\n" \
              "  hostPID: true\n  containers: [{name: web, image: registry.example.com/web:1, resources: {limits: {cpu: '1'}}}]\n"
        done = self.lint("--fix", "-", stdin=pod)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, pod.replace("  hostPID: true\n", "").replace("beta.", ""))
        self.assertIn("1 object in 1 file: 0 refused", done.stderr)
        self.assertEqual(self.lint("-", stdin=done.stdout).returncode, 0)

    def test_standard_input_that_is_nothing_or_no_manifest(self):
        self.assertEqual(self.problems("", code=0), [])
        self.assertEqual(self.problems("a: b\n---\n- c\n", code=0), [])
        done = self.lint("-", stdin="a: [")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^porthole lint: -: line \d+")

    def test_the_runtime_of_the_nodes_is_a_condition(self):
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: agent}\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n  hostNetwork: true\n" \
              "  securityContext: {windowsOptions: {hostProcess: true}}\n" \
              "  containers: [{name: agent, image: registry.example.com/agent:1, resources: {limits: {cpu: '1'}}}]\n"
        self.assertEqual(self.problems(pod, "--runtime", "containerd://1.6.20", code=0), [])
        self.assertEqual(self.problems(pod, "--runtime", "containerd://1.5.18", code=1),
                         [("WIN213", "Pod agent", "spec.securityContext.windowsOptions.hostProcess")])


if __name__ == "__main__":
    unittest.main()
