"""pre-commit runs the hooks that this repository declares, before git makes a commit."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
from harness import PORTHOLE, ROOT, TOOLS, run  # noqa: E402

PYTHON = TOOLS / "clients/pre-commit/python/bin/python"  # scripts of a virtual environment do not survive its move into the cache
POD = """apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  nodeSelector: {{kubernetes.io/os: windows}}{}
  containers:
  - {{name: web, image: registry.example.com/web:1, resources: {{limits: {{memory: 1Gi}}}}}}
"""
REFUSED = "\n  hostPID: true  # to see them all"


class PreCommit(unittest.TestCase):
    def setUp(self):
        if not PYTHON.exists():
            self.skipTest("pre-commit is not built: ./run test clients")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "bin").mkdir()
        (self.folder / "bin/porthole").symlink_to(PORTHOLE)
        self.environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        self.hooks = self.repository("hooks")
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", self.hooks)
        self.git(self.hooks, "add", ".")
        self.git(self.hooks, "commit", "-qm", "hooks")
        self.work = self.repository("work")

    def git(self, where, *words, check=True):
        return run(["git", "-C", where, "-c", "user.name=t", "-c", "user.email=t@example.com", *words], check=check, env=self.environment)

    def repository(self, name):
        self.git(self.folder, "init", "-q", name)
        return self.folder / name

    def use(self, hook):
        revision = self.git(self.hooks, "rev-parse", "HEAD").stdout.strip()
        (self.work / ".pre-commit-config.yaml").write_text(f"repos:\n- repo: {self.hooks}\n  rev: {revision}\n  hooks: [{{id: {hook}}}]\n")
        run([PYTHON, "-m", "pre_commit", "install"], cwd=self.work, env=self.environment)

    def commit(self, files):
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git(self.work, "add", ".")
        return self.git(self.work, "commit", "-qm", "change", check=False)

    def test_a_commit_of_what_windows_refuses_is_not_made(self):
        self.use("porthole-lint")
        refused = self.commit({"deploy/web.yaml": POD.format(REFUSED)})
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("refused[WIN102]: spec.hostPID: ", refused.stdout + refused.stderr)
        self.assertIn("deploy/web.yaml:6:3", refused.stdout + refused.stderr)
        made = self.commit({"deploy/web.yaml": POD.format("")})
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)

    def test_templates_of_charts_and_other_files_are_not_its_affair(self):
        self.use("porthole-lint")
        made = self.commit({"chart/templates/web.yaml": "kind: {{ .Values.kind }}\n", "notes.txt": "kind: {"})
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)

    def test_the_other_hook_mends_the_file_and_the_next_commit_is_made(self):
        self.use("porthole-lint-fix")
        self.assertNotEqual(self.commit({"web.yaml": POD.format(REFUSED)}).returncode, 0)
        self.assertEqual((self.work / "web.yaml").read_text(), POD.format(""))
        self.git(self.work, "add", ".")
        made = self.git(self.work, "commit", "-qm", "mended", check=False)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)


if __name__ == "__main__":
    unittest.main()
