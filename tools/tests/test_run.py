import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Prerequisites(unittest.TestCase):
    """What ./run does on a machine that lacks what a build needs. Programs of a folder of its own stand in for dpkg and apt."""

    def run_build(self, installed, offered="*", **programs):
        """`installed`, `offered`: patterns of package names, of the machine and of its Debian release. `programs`: further ones, as scripts."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            for name, script in {"dpkg-query": f"case $4 in {installed}) printf installed ;; esac", "apt-cache": f"case $2 in {offered}) echo Package: $2 ;; esac", "apt-get": f'echo "$@" >>{log}; exit 1',
                                 "sudo": 'shift; exec "$@"', "cmake": "exit 1", **programs}.items():
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o755)
            result = subprocess.run([ROOT / "run", "build", "dev"], capture_output=True, text=True, env={**os.environ, "CI": "", "PATH": f"{folder}:{os.environ['PATH']}"})
            return result, log.read_text() if log.exists() else ""

    # BIN-07
    def test_missing_packages_are_named_and_installed(self):
        result, calls = self.run_build("''")
        self.assertIn("missing: ", result.stdout)
        self.assertIn("libssl-dev", result.stdout)
        self.assertIn("update", calls)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"could not install Debian packages: check the network .* apt-get install .*libssl-dev")

    def test_the_package_that_the_release_has_is_installed(self):
        for offered in ("libboost1.81-dev", "libboost1.83-dev"):
            with self.subTest(offered):
                result, calls = self.run_build("''", offered)
                self.assertEqual([word for word in calls.split() if "boost" in word], [offered])
                self.assertNotIn("|", result.stderr)

    def test_a_build_that_does_not_fit_the_disk_is_not_begun(self):
        presets = "echo '\"dev\"'"
        result, _ = self.run_build("*", cmake=presets, df="echo Avail; echo 3", du="printf '1\\tbuild/dev\\n'")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the build of dev takes up to 22 GB, and 3 GB are free: free some space", result.stderr)
        self.assertNotIn("configure", result.stdout)
        result, _ = self.run_build("*", cmake=presets, df="echo Avail; echo 3", du="printf '19\\tbuild/dev\\n'", ninja="exit 1")
        self.assertIn("the build of dev failed", result.stderr)

    def test_nothing_is_installed_where_all_is_there(self):
        result, calls = self.run_build("*")
        self.assertEqual(calls, "")
        self.assertNotIn("missing:", result.stdout)


class Help(unittest.TestCase):
    def run_help(self, *words):
        return subprocess.run([ROOT / "run", *words], capture_output=True, text=True)

    def test_every_command_and_every_kind_of_test_is_explained(self):
        for folder, words, prefix in (("commands", ["help"], "./run "), ("tests", ["help", "test"], "./run test ")):
            text = self.run_help(*words).stdout
            for path in sorted((ROOT / "tools/run" / folder).glob("*.sh")):
                with self.subTest(path.name):
                    self.assertRegex(text, rf"(?m)^{re.escape(prefix + path.stem)}( .*)?\n    \S")

    def test_help_of_a_command_is_its_part(self):
        text = self.run_help("help", "fuzz").stdout
        self.assertTrue(text.startswith("./run fuzz "))
        self.assertNotIn("./run lint", text)
        self.assertEqual(self.run_help("fuzz", "--help").stdout, text)

    def test_wrong_words_are_named(self):
        for words, message in ((["tset"], "there is no command 'tset': ./run help lists the commands"),
                               (["test", "fats"], "there is no kind of test 'fats': ./run help test lists them")):
            result = self.run_help(*words)
            self.assertEqual((result.returncode, result.stderr), (1, f"run: {message}\n"))
