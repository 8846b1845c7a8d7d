"""porthole.exe and its names."""

import json
import subprocess

import yaml

from wine import LINUX, ROOT, WINDOWS, WineTest

NAMES = ["porthole", "kubelet", "kube-proxy", "kubeadm", "win-bridge", "win-overlay", "wincni", "flannel", "host-local", "flanneld",
         "csi-proxy"]


class Programs(WineTest):
    # BIN-04
    def test_all_names_are_there_and_import_only_what_windows_has(self):
        programs = [WINDOWS / f"bin/{name}.exe" for name in NAMES]
        subprocess.run([ROOT / "cmake/windows/check_imports.py", *programs], check=True, timeout=60)

    # BIN-01
    def test_one_documented_command_makes_every_program_for_windows_on_amd64(self):
        self.assertIn("`./run build windows` compiles the Windows programs", (ROOT / "docs/guide/building_on_windows.md").read_text())
        for name in NAMES:
            with self.subTest(name):
                program = (WINDOWS / f"bin/{name}.exe").read_bytes()
                header = int.from_bytes(program[0x3c:0x40], "little")
                self.assertEqual(program[:2] + program[header:header + 4], b"MZPE\0\0")
                self.assertEqual(program[header + 4:header + 6], (0x8664).to_bytes(2, "little"), "amd64")
                self.assertEqual(program[header + 24:header + 26], (0x20b).to_bytes(2, "little"), "PE32+")

    def test_a_role_is_the_programs_name(self):
        self.assertIn("--container-runtime-endpoint", self.wine("bin/kubelet.exe", "--help", check=True).stdout)
        self.assertEqual(self.wine("bin/kubelet.exe", "--version", check=True).stdout.split()[0], "Kubernetes")

    def test_a_role_is_the_first_word(self):
        self.assertIn("--container-runtime-endpoint", self.wine("bin/porthole.exe", "kubelet", "--help", check=True).stdout)

    # KBL-25
    def test_exit_codes_are_the_same_on_both_systems(self):
        linux = LINUX / "bin/porthole"
        rows = [(["--no-such-flag"], 255), (["--kubeconfig=/nowhere/config"], 1), (["--help"], 0)]
        for role in ("kubelet", "kube-proxy"):
            for words, expected in rows:
                with self.subTest(f"{role} {words[0]}"):
                    windows = self.wine(f"bin/{role}.exe", *words, KUBE_NETWORK="cbr0")
                    self.assertEqual(windows.returncode, expected, windows.stderr)
                    done = subprocess.run(self.inside([linux, role, *words]), capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
                    self.assertEqual(done.returncode, expected, done.stderr)

    # CLI-10
    def test_roles_have_help_and_a_version_and_refuse_what_they_do_not_know(self):
        for role in ("kubelet", "kube-proxy", "flanneld", "join", "status", "doctor", "lint"):
            with self.subTest(role):
                self.assertEqual(self.wine("bin/porthole.exe", role, "--help").returncode, 0)
                self.assertRegex(self.wine("bin/porthole.exe", role, "--version", check=True).stdout, r"^(porthole|Kubernetes) v?\d+\.\d+\.\d+")
                self.assertNotEqual(self.wine("bin/porthole.exe", role, "--no-such-flag").returncode, 0)

    # CLI-10
    def test_roles_for_programs_print_json_and_yaml(self):
        """`hns list` needs a host network service (test_windows_network), and `join` would join: they only refuse here."""
        for role in ("join", "status", "doctor", "lint", "hns list"):
            with self.subTest(role):
                refused = self.wine("bin/porthole.exe", *role.split(), "-o", "xml")
                self.assertNotEqual(refused.returncode, 0)
                self.assertRegex(refused.stderr, r"^[^\n]*json[^\n]*yaml[^\n]*\n$")
        manifest = (ROOT / "samples/hyper-v.yaml").read_text()
        for role, stdin in ((["status", "--node-name", "win-1"], ""), (["doctor", "--node-name", "win-1"], ""), (["lint", "-"], manifest)):
            with self.subTest(role[0]):
                found = json.loads(self.wine("bin/porthole.exe", *role, "-o", "json", stdin=stdin).stdout)
                self.assertEqual(yaml.safe_load(self.wine("bin/porthole.exe", *role, "-o", "yaml", stdin=stdin).stdout).keys(), found.keys())

    def test_manifests_are_linted_on_windows_too(self):
        told = self.wine("bin/porthole.exe", "lint", "-", stdin=(ROOT / "samples/hyper-v.yaml").read_text())
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertIn("refused[WIN106]: metadata.annotations[experimental.windows.kubernetes.io/isolation-type]", told.stdout)

    # API-01
    def test_a_control_plane_is_refused_with_the_rule(self):
        for words in (["bin/kubeadm.exe", "init"], ["bin/kubeadm.exe", "init", "--pod-network-cidr=10.244.0.0/16"]):
            refused = self.wine(*words)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("control plane is supported on Linux only", refused.stderr)
        for role in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "server"):
            self.assertIn(f'unknown role "{role}"', self.wine("bin/porthole.exe", role).stderr)

    def test_a_wrong_role_is_named(self):
        refused = self.wine("bin/porthole.exe", "kubelett")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('unknown role "kubelett"', refused.stderr)
