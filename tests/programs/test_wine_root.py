"""Programs in containers with another Wine than the installed one, also those of 32 bits, on a node whose own programs have the installed one."""

import json
import pathlib

import harness
import program_case
import test_c
from sources import CProgram, CProgram32, WineRoot

HERE = pathlib.Path(__file__).resolve().parent
ROOT = WineRoot("trixie")
WINE_10 = harness.SharedCluster("linux=1,windows=1", "--wine-root", str(ROOT.kept), kind=program_case.ProgramCluster)


def version_program(kind):
    return kind("wine_version", (HERE / "wine_version.c").read_text(), "app")


# EMU-12
class OnWine10(test_c.C):
    shared = WINE_10
    program = "C, on Wine 10"
    sources = (*test_c.C.sources, version_program(CProgram), ROOT)
    check = ("C:\\app\\wine_version.exe",)
    check_prints = "Wine 10.0, 64 bits"

    def test_node_tells_which_wine_its_containers_have(self):
        node = self.get("node", "windows-1")
        self.assertRegex(node["status"]["nodeInfo"]["containerRuntimeVersion"], r"^porthole-wine://[0-9.]+\+wine-10\.")
        folder = self.cluster.data / "nodes/windows-1"
        status = json.loads(harness.run([harness.PORTHOLE, "winhost", "status", "--data", folder]).stdout)
        self.assertTrue(status["containersWine"].startswith("10."), status)
        installed = next(line for line in pathlib.Path("/usr/share/wine/wine.inf").read_text().splitlines() if "Version: Wine" in line)
        self.assertTrue(installed.endswith(f"Wine {status['wine']}"), "the host's own programs")


class Bits32(OnWine10):
    program = "C, 32 bits"
    sources = (test_c.source(CProgram32, "msvcrt"), version_program(CProgram32), ROOT)
    check_prints = "Wine 10.0, 32 bits"
