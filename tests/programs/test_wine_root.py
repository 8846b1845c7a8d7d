"""Programs in containers with another Wine than the installed one, also those of 32 bits, on a node whose own programs have the installed one."""

import json
import pathlib
import re

import harness
import program_case
import test_c
from sources import CProgram, CProgram32, WineRoot
from test_windows_node import windows_pod
from windows_image import Layer, WindowsImage, write_oci

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


class WithWine10OnOneNode(harness.Cluster):
    def start(self):
        self.nodes = f"linux=1,windows=1,windows=1@{ROOT.kept}"
        super().start()


# EMU-12
class OfEachNode(harness.ClusterCase):
    """One cluster, a node with the installed Wine and one with Wine 10."""

    shared = harness.SharedCluster("linux=1,windows=2", kind=WithWine10OnOneNode)
    alone = True
    sources = (version_program(CProgram), ROOT)

    def setUp(self):
        if missing := [source.kept.name for source in self.sources if not source.kept.exists()]:
            self.skipTest(f"{', '.join(missing)} is not in the cache: ./run test programs")
        super().setUp()

    def test_programs_run_with_the_wine_that_their_pod_selects(self):
        archive = self.cluster.folder / "version.tar"
        layers = [Layer({name: data for source in self.sources for name, data in source.image_files().items()})]
        write_oci(archive, [WindowsImage(name="porthole.test/version:1", layers=layers, builds=[program_case.BUILD])], compress=False)
        self.cluster.porthole("image", "load", archive, seconds=180)
        nodes = json.loads(self.kubectl("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "json", namespaced=False))["items"]
        wines = [node["metadata"]["labels"]["porthole.dev/wine-version"] for node in nodes]
        self.assertTrue(wines[1].startswith("10."), wines)
        if wines[0] == wines[1]:
            self.skipTest(f"the installed Wine is {wines[1]}, too")
        for node, wine in zip(nodes, wines):
            name = f"on-wine-{wine}".replace(".", "-")
            self.apply(windows_pod(name, ["C:\\app\\wine_version.exe"], restartPolicy="Never", container_fields={"image": "porthole.test/version:1"},
                                   nodeSelector={"kubernetes.io/os": "windows", "porthole.dev/wine-version": wine}))
            self.eventually(lambda name=name: self.get("pod", name)["status"].get("phase") == "Succeeded", 120, f"{name} ends")
            self.assertEqual(self.get("pod", name)["spec"]["nodeName"], node["metadata"]["name"])
            self.assertEqual(self.kubectl("logs", name).strip(), f"Wine {wine}, 64 bits")

    def test_programs_are_told_of_adapters_that_are_there(self):
        waiting = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]
        account = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
        for node in ("windows-1", "windows-2"):
            host, guest = f"host-{node}", f"guest-{node}"
            self.apply(windows_pod(host, waiting, hostNetwork=True, securityContext=account, nodeName=node))
            self.wait_ready(host, 120)
            adapters = lambda host=host: sorted(re.findall(r"adapter (.+):", self.kubectl("exec", host, "--", "ipconfig")))
            before = adapters()
            self.assertIn("eth0", before)
            for _ in range(2):
                self.apply(windows_pod(guest, waiting, nodeName=node))
                self.wait_ready(guest, 120)
                self.assertEqual(adapters(), before, f"{node}: with the ports of a pod")
                self.kubectl("delete", "pod", guest)
                self.assertEqual(adapters(), before, f"{node}: after they have gone")


class Bits32(OnWine10):
    program = "C, 32 bits"
    sources = (test_c.source(CProgram32, "msvcrt"), version_program(CProgram32), ROOT)
    check_prints = "Wine 10.0, 32 bits"
