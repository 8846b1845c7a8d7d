"""porthole.exe and its names."""

import subprocess

from wine import ROOT, WINDOWS, WineTest

NAMES = ["porthole", "kubelet", "kube-proxy", "kubeadm", "win-bridge", "win-overlay", "wincni", "flannel", "host-local", "flanneld"]


class Programs(WineTest):
    def test_all_names_are_there_and_import_only_what_windows_has(self):
        programs = [WINDOWS / f"bin/{name}.exe" for name in NAMES]
        subprocess.run([ROOT / "cmake/windows/check_imports.py", *programs], check=True, timeout=60)

    def test_a_role_is_the_programs_name(self):
        self.assertIn("--container-runtime-endpoint", self.wine("bin/kubelet.exe", "--help", check=True).stdout)
        self.assertEqual(self.wine("bin/kubelet.exe", "--version", check=True).stdout.split()[0], "Kubernetes")

    def test_a_role_is_the_first_word(self):
        self.assertIn("--container-runtime-endpoint", self.wine("bin/porthole.exe", "kubelet", "--help", check=True).stdout)

    def test_a_wrong_role_is_named(self):
        refused = self.wine("bin/porthole.exe", "kubelett")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('no role "kubelett"', refused.stderr)
