"""Containers of emulated nodes with another Wine than the installed one: `porthole up --wine-root`, and a root for each node."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import PORTHOLE, Cluster, SharedCluster, run, slow
from test_windows_node import WindowsCase, windows_pod

LIBRARIES = pathlib.Path("usr/lib/x86_64-linux-gnu")
VERSION = "8.99"


def same_file(source, target):
    """Files of half a gigabyte: a second name where the file system allows it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def copy_installed_wine(root):
    """The installed Wine and its libraries as a Wine root, which says that it is another version."""
    for place in ("usr/lib/wine", LIBRARIES / "wine", "usr/share/wine", "usr/lib/locale/C.utf8"):
        shutil.copytree(pathlib.Path("/", place), root / place, copy_function=same_file, symlinks=True)
    programs = [*pathlib.Path("/usr/lib/wine").iterdir(), *pathlib.Path("/", LIBRARIES, "wine/x86_64-unix").iterdir()]
    linked = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True).stdout
    libraries = {word for word in linked.split() if word.startswith("/") and ".so" in word and not word.endswith(":")}
    for library in libraries | {f"/{LIBRARIES}/libgcc_s.so.1"}:  # which is loaded when a thread ends
        same_file(os.path.realpath(library), root / LIBRARIES / pathlib.Path(library).name)
    (root / "usr/lib64").mkdir()
    shutil.copy2("/lib64/ld-linux-x86-64.so.2", root / "usr/lib64")
    said = root / "usr/share/wine/wine.inf"
    text = said.read_text()
    said.unlink()  # it is the installed one's, too
    said.write_text(text.replace("Version: Wine ", f"Version: Wine {VERSION}-", 1))
    root.chmod(0o755)


class WithWineRoot(Cluster):
    def start(self):
        self.wine_root = self.folder / "wine"
        copy_installed_wine(self.wine_root)
        self.options = ("--wine-root", self.wine_root)
        super().start()


# EMU-12
class Containers(WindowsCase):
    shared = SharedCluster("linux=1,windows=1", kind=WithWineRoot)

    def test_have_the_wine_of_the_root_and_the_host_has_its_own(self):
        self.apply(windows_pod("one", ["cmd", "/c", "echo ran& ping -n 600 127.0.0.1 >nul"]))
        self.wait_ready("one", 120)
        self.assertIn("ran", self.kubectl("logs", "one"))
        info = self.get("node", "windows-1")["status"]["nodeInfo"]
        self.assertRegex(info["containerRuntimeVersion"], rf"^porthole-wine://[0-9.]+\+wine-{VERSION}-")
        status = json.loads(run([PORTHOLE, "winhost", "status", "--data", self.cluster.data / "nodes/windows-1"]).stdout)
        self.assertEqual(status["containersWine"], f"{VERSION}-{status['wine']}")

    def test_cannot_see_or_change_the_root(self):
        self.apply(windows_pod("two", ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]))
        self.wait_ready("two", 120)
        (self.cluster.wine_root / "usr/share/wine/mark").touch()
        before = (self.cluster.wine_root / LIBRARIES / "wine/x86_64-windows/avifil32.dll").stat()
        self.kubectl("exec", "two", "--", "cmd", "/c", "echo changed > C:\\windows\\system32\\avifil32.dll")
        after = (self.cluster.wine_root / LIBRARIES / "wine/x86_64-windows/avifil32.dll").stat()
        self.assertEqual((before.st_ino, before.st_size, before.st_mtime), (after.st_ino, after.st_size, after.st_mtime))
        seen = self.kubectl("exec", "two", "--", "cmd", "/c", "if exist \\\\?\\unix\\usr\\share\\wine\\mark (echo root) else (echo template)")
        self.assertEqual(seen.strip(), "template")


class Changed(WindowsCase):
    shared = SharedCluster("linux=1,windows=1", kind=WithWineRoot)

    def runtime(self):
        return self.get("node", "windows-1")["status"]["nodeInfo"]["containerRuntimeVersion"]

    @slow
    def test_a_stopped_cluster_keeps_the_root_and_can_return_to_the_installed_wine(self):
        self.assertIn(VERSION, self.runtime())
        self.cluster.options = ("--wine-root", "installed")
        self.assertIn("a cluster with other options is running", self.cluster.up(check=False).stderr)
        for options, kept in (((), True), (self.cluster.options, False), ((), False)):
            self.cluster.down()
            self.cluster.options = options
            self.cluster.up()
            self.eventually(lambda kept=kept: (VERSION in self.runtime()) == kept, 60, f"the node tells its Wine after up {options}")
        self.apply(windows_pod("one", ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]))
        self.wait_ready("one", 120)


class WithWineRootOfOneNode(Cluster):
    def start(self):
        self.wine_root = self.folder / "wine"
        copy_installed_wine(self.wine_root)
        self.nodes = f"linux=1,windows=1,windows=1@{self.wine_root}"
        super().start()


# EMU-12
class OfEachNode(WindowsCase):
    """The second Wine is a copy of the first that says that it is another; tests/programs has nodes of Wine 8 and Wine 10."""

    shared = SharedCluster("linux=1,windows=2", kind=WithWineRootOfOneNode)
    LABEL = "porthole.dev/wine-version"

    def wine_of(self, node):
        return self.get("node", node)["metadata"]["labels"].get(self.LABEL, "none")

    def wines(self):
        return self.wine_of("windows-1"), self.wine_of("windows-2")

    def start_on_each(self, prefix):
        """A pod for each Wine, which its label selects; yields node -> Wine as a program there sees it."""
        seen = {}
        for number, wine in enumerate(self.wines()):
            name = f"{prefix}-{number}"
            self.apply(windows_pod(name, ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"], nodeSelector={"kubernetes.io/os": "windows", self.LABEL: wine}))
            self.wait_ready(name, 120)
            text = self.kubectl("exec", name, "--", "cmd", "/c", "type \\\\?\\unix\\usr\\share\\wine\\wine.inf")
            seen[self.get("pod", name)["spec"]["nodeName"]] = re.search(r"Version: Wine ([\w.-]+)", text)[1]
        return seen

    def test_is_the_one_that_pods_select_and_status_shows(self):
        installed, copy = self.wines()
        self.assertEqual(copy, f"{VERSION}-{installed}")
        self.assertEqual(self.start_on_each("one"), {"windows-1": installed, "windows-2": copy})
        status = self.cluster.porthole("status").stdout
        for node, wine in (("windows-1", installed), ("windows-2", copy)):
            self.assertRegex(status, rf"{node} +windows 2022 \(emulated, Wine {re.escape(wine)}\) +\S+ +Ready")
        nodes = json.loads(self.cluster.porthole("status", "-o", "json").stdout)["nodes"]
        self.assertEqual([(node["wine"], node["wineRoot"]) for node in nodes], [("", ""), (installed, ""), (copy, str(self.cluster.wine_root))])

    def test_stays_while_the_cluster_runs(self):
        root, missing = self.cluster.wine_root, self.cluster.folder / "none"
        self.assertIn(f"windows-2 has the Wine root {root}, and no other Wine while the cluster runs", self.refused("linux=1,windows=2"))
        refused = self.refused(f"{self.cluster.nodes},windows=1@{missing}")
        self.assertIn(f"there is no Wine root {missing}: make one with packaging/wine_root.py", refused)

    def refused(self, nodes):
        done = self.cluster.porthole("up", "--nodes", nodes, "--kubeconfig", self.cluster.kubeconfig, "--detach", check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    @slow
    def test_of_a_stopped_cluster_can_change_and_is_kept(self):
        before = self.wines()
        description = self.cluster.folder / "cluster.yaml"
        description.write_text("apiVersion: porthole.dev/v1alpha1\nkind: Cluster\nspec:\n  pools:\n  - {os: linux}\n"
                               f"  - {{os: windows, wineRoot: {self.cluster.wine_root}}}\n  - {{os: windows, wineRoot: installed}}\n")
        for step, words in (("swapped", ("--file", description)), ("kept", ())):
            self.cluster.down()
            self.cluster.porthole("up", *words, "--kubeconfig", self.cluster.kubeconfig, "--detach", seconds=240)
            self.eventually(lambda: self.wines() == before[::-1], 60, f"{step}: the labels are those of the other Wine")
            self.assertEqual(self.start_on_each(step), {"windows-1": before[1], "windows-2": before[0]})
        self.cluster.down()
        self.cluster.up()
        self.eventually(lambda: self.wines() == before, 60, "the labels are as before")


@unittest.skipUnless(os.geteuid() == 0, "a cluster on this machine needs root")
class Unusable(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster("linux=1,windows=1")
        self.addCleanup(self.cluster.stop)
        self.root = self.cluster.folder / "wine"

    def refused(self):
        """By the flag for all nodes, and as the root of one."""
        texts = set()
        for options, nodes in ((("--wine-root", self.root), "linux=1,windows=1"), ((), f"linux=1,windows=1@{self.root}")):
            self.cluster.options, self.cluster.nodes = options, nodes
            texts.add(self.refusal())
        self.assertEqual(len(texts), 1, texts)
        return texts.pop()

    def refusal(self):
        done = self.cluster.up(check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.cluster.data / "cluster.json").exists(), "nothing was made")
        return done.stderr

    def test_roots_are_refused_with_the_remedy_before_anything_is_made(self):
        self.assertIn(f"there is no Wine root {self.root}: make one with packaging/wine_root.py", self.refused())
        (self.root / "usr/lib/wine").mkdir(parents=True)
        self.root.chmod(0o755)
        self.assertIn("has no /usr/lib/wine/wine64: make one with packaging/wine_root.py", self.refused())
        self.root.chmod(0o777)
        self.assertIn("others than root can change the Wine root", self.refused())
