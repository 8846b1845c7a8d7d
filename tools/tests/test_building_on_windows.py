"""docs/guide/building_on_windows.md names what the build of the Windows programs takes, no more and no less."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/guide/building_on_windows.md").read_text()
TOOLCHAIN = (ROOT / "cmake/windows/toolchain.cmake").read_text()
DEPENDENCIES = (ROOT / "cmake/windows/build_dependencies.sh").read_text()
PACKAGES = (ROOT / "tools/run/packages.sh").read_text()


def function(name):
    return re.search(rf"^{name}\(\) \{{\n(.*?)^\}}", DEPENDENCIES, re.M | re.S)[1]


def packages(variable):
    return {name for line in re.search(rf'^{variable}="\n(.*?)"', PACKAGES, re.M | re.S)[1].splitlines() for name in line.split()[0].split("|")}


# BIN-02
class BuildingOnWindows(unittest.TestCase):
    def setUp(self):
        self.rows = {name: (version, source) for name, version, source in re.findall(r"^\| (\w+) \| ([\d.]+) \| (.*) \|$", GUIDE, re.M)}

    def test_the_table_has_the_libraries_of_the_build(self):
        compiled = set(re.findall(r"^    \(?build_(?:with_cmake )?(\w+)", function("build_all"), re.M))
        headers = set(re.search(r"for name in (.*?); do", function("link_system_libraries"))[1].split())
        self.assertEqual({name for name, (_, source) in self.rows.items() if source.startswith("compiled")}, compiled)
        self.assertEqual({name for name, (_, source) in self.rows.items() if source.startswith("headers")}, headers)
        self.assertEqual(set(self.rows) - compiled - headers, {"zlib"})

    def test_sources_have_the_versions_of_the_table(self):
        listed = (ROOT / "cmake/debian_sources.txt").read_text()
        for name, (version, source) in self.rows.items():
            if source.startswith("compiled"):
                self.assertRegex(listed, rf"(?m)^{name} +\S+ +\S+_{re.escape(version)}\b")

    def test_packages_are_those_that_run_installs(self):
        named = set(re.findall(r"\blib[a-z0-9.-]+-dev\b", GUIDE))
        self.assertLessEqual(named, packages("BUILD_PACKAGES") | packages("WINDOWS_PACKAGES"))

    def test_compiler_and_flags_are_those_of_the_toolchain(self):
        for word in ("x86_64-w64-windows-gnu", "-femulated-tls", "-D_WIN32_WINNT=0x0A00", "-DNOMINMAX", "-DWIN32_LEAN_AND_MEAN", "-static"):
            self.assertIn(word, TOOLCHAIN)
            self.assertIn(word, GUIDE)
        self.assertEqual(set(re.findall(r"CMAKE_CXX_COMPILER clang\+\+-(\d+)", TOOLCHAIN)), set(re.findall(r"clang (\d+) with lld", GUIDE)))
        self.assertEqual(re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1], re.search(r"CMake ([\d.]+),", GUIDE)[1])

    def test_shells_of_windows_are_told_where_to_build(self):
        for system in ("MINGW64_NT-10.0-20348", "MSYS_NT-10.0", "CYGWIN_NT-10.0"):
            with self.subTest(system), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder, "uname")
                program.write_text(f"#!/bin/sh\necho {system}\n")
                program.chmod(0o755)
                result = subprocess.run([ROOT / "run", "build", "windows"], capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr, f"run: this is {system}, and the tree is built on Linux: on Windows use WSL 2, docs/guide/building_on_windows.md says how\n")


if __name__ == "__main__":
    unittest.main()
