"""`porthole up --wine-root`: containers of emulated nodes with another Wine than the installed one."""

import json
import os
import pathlib
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


@unittest.skipUnless(os.geteuid() == 0, "a cluster on this machine needs root")
class Unusable(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster("linux=1,windows=1")
        self.addCleanup(self.cluster.stop)
        self.root = self.cluster.folder / "wine"

    def refused(self):
        self.cluster.options = ("--wine-root", self.root)
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
