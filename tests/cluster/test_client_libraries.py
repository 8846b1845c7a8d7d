"""VER-13: what programs do with the official libraries, unmodified: the newest client-go, and the Python client of Debian.

The programs are in tests/clients; each check of theirs is one test here.
"""

import re
import unittest

from harness import ROOT, TOOLS, run
from library_case import LibraryCase, add_tests

GO_PROGRAM = TOOLS / "client-go"
PYTHON = "/usr/bin/python3"  # the one that Debian's python3-kubernetes is for
PYTHON_PROGRAM = ROOT / "tests/clients/python/checks.py"


# API-02
class ClientGo(LibraryCase):
    def run_check(self):
        if not GO_PROGRAM.exists():
            raise unittest.SkipTest("the client-go program is not built: ./run clients (needs Go)")
        self.check_with(GO_PROGRAM)


class PythonClient(LibraryCase):
    def run_check(self):
        if run([PYTHON, "-c", "import kubernetes"], check=False).returncode != 0:
            raise unittest.SkipTest("Debian's python3-kubernetes is not installed")
        self.check_with(PYTHON, PYTHON_PROGRAM)


add_tests(ClientGo, re.findall(r'^\t"([a-z-]+)": ', (ROOT / "tests/clients/client-go/main.go").read_text(), re.M))
add_tests(PythonClient, re.search(r"for check in \((.*)\)}", PYTHON_PROGRAM.read_text())[1].split(", "))
