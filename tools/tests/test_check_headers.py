import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[1] / "check_headers.py"
sys.path.insert(0, str(TOOL.parent))
import check_headers  # noqa: E402


class CheckHeaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/base/base.cc", "")
        self.write("src/base/size.h", "#pragma once\nusing Size = unsigned long;\n")
        self.write("src/base/box.h", '#pragma once\n#include "base/size.h"\nstruct Box { Size size; };\n')
        command = {"directory": str(self.root), "file": str(self.root / "src/base/base.cc"),
                   "command": f"clang++-19 -std=c++23 -I{self.root}/src -o base.o -c base.cc"}
        self.write("build/compile_commands.json", json.dumps([command]))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, *options):
        return subprocess.run([sys.executable, TOOL, "--source", self.root / "src", "--build", self.root / "build", *options],
                              capture_output=True, text=True)

    def test_accepts_headers_that_include_what_they_use(self):
        done = self.check()
        self.assertEqual((done.returncode, done.stdout), (0, "2 headers, 2 compiled, 0 failed\n"), done.stdout)

    def test_refuses_a_header_that_relies_on_its_includer(self):
        self.write("src/base/lid.h", "#pragma once\nstruct Lid { Size size; };\n")
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("src/base/lid.h does not compile alone", done.stdout)

    def test_compiles_again_only_what_a_change_can_reach(self):
        self.check()
        self.assertIn("2 headers, 0 compiled", self.check().stdout)
        self.write("src/base/box.h", '#pragma once\n#include "base/size.h"\nstruct Box { Size width; };\n')
        self.assertIn("2 headers, 1 compiled", self.check().stdout)
        self.write("src/base/size.h", "#pragma once\nusing Size = unsigned;\n")
        self.assertIn("2 headers, 2 compiled", self.check().stdout)

    def test_parts_together_have_every_header(self):
        source = self.root / "src"
        headers = sorted(source.rglob("*.h"))
        parts = [check_headers.select_part(headers, source, part, 3, set()) for part in range(3)]
        self.assertEqual(sorted(sum(parts, [])), headers)

    def test_a_part_has_what_changed_lately(self):
        self.write("src/base/lid.h", "#pragma once\nstruct Lid { Size size; };\n")
        git = ["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@example.com"]
        for command in (["init", "-q"], ["add", "src"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*git, *command], check=True)
        for part in range(3):
            self.assertIn("lid.h does not compile alone", self.check("--part", f"{part}/3").stdout)

    def test_precompiled_headers_count_as_included(self):
        self.write("src/base/label.h", "#pragma once\nstruct Label { std::string text; };\n")
        self.assertIn("1 failed", self.check().stdout)
        self.write("cmake/precompiled.h", "#pragma once\n#include <string>\n")
        self.assertIn("0 failed", self.check("--precompiled", self.root / "cmake/precompiled.h").stdout)

    def test_a_failure_is_never_remembered_as_good(self):
        self.write("src/base/lid.h", "#pragma once\nstruct Lid { Size size; };\n")
        self.check()
        self.assertEqual(self.check().returncode, 1)

    def test_keeps_only_flags_that_decide_parsing(self):
        words = "clang++ -I/a -isystem /b -DX=1 -O2 -g -fsanitize=address -std=c++23 -o x.o -c x.cc".split()
        self.assertEqual(check_headers.flatten(check_headers.select_flags(words)),
                         ["-I/a", "-isystem", "/b", "-DX=1", "-std=c++23"])


if __name__ == "__main__":
    unittest.main()
