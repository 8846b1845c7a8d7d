"""This tree in bare Debian systems: compiled with the compilers and libraries of the release, tested, and started by ./run up."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/packages"))
from bare_debian import MIRROR, System  # noqa: E402

CACHE = pathlib.Path(os.environ.get("PORTHOLE_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "porthole")
SECONDS = 4 * 3600
# Pods, volumes and services of Linux nodes and of emulated Windows nodes: what containerd, runc, nftables and Wine of the release have part in.
CLUSTER_TESTS = "test_dns test_volumes test_sample test_linux_and_windows_parts"
SOURCES = f"""deb {MIRROR} {{0}} main
deb {MIRROR} {{0}}-updates main
deb {MIRROR}-security {{0}}-security main
"""


def tracked_files():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).exists()}


class Checkout:
    """The tree in a Debian system of its own, which is kept with all that has been compiled there."""

    def __init__(self, suite):
        (CACHE / "releases").mkdir(parents=True, exist_ok=True)
        self.system = System(suite, kept=CACHE / "releases" / suite)
        (self.system.folder / "etc/apt/sources.list").write_text(SOURCES.format(suite))
        self.folder = self.system.folder / "root/porthole"
        self._copy_clients()
        self._copy_tree()

    def _copy_clients(self):
        """Clients that were built on this machine need no library of the system, and a bare one has no Go to build them."""
        clients = CACHE / "clients"
        if clients.exists():
            shutil.copytree(clients, self.system.folder / "root/.cache/porthole/clients", dirs_exist_ok=True)

    def _copy_tree(self):
        """Only what has changed, so that the rest is not compiled again."""
        tracked = tracked_files()
        for name in tracked:
            source, target = ROOT / name, self.folder / name
            if target.exists() and target.read_bytes() == source.read_bytes() and target.stat().st_mode == source.stat().st_mode:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        for path in list(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if path.is_file() and name not in tracked and not name.startswith("build/"):
                path.unlink()

    def run(self, command, network=False):
        jobs = os.environ.get("PORTHOLE_JOBS", "")
        return self.system.run(f"unset PORTHOLE_CACHE XDG_CACHE_HOME; export CI=true LC_ALL=C.UTF-8 {f'PORTHOLE_JOBS={jobs}' if jobs else ''}\n"
                               f"cd /root/porthole\n{command}", network, SECONDS)


class OnDebian12(unittest.TestCase):
    suite = "bookworm"

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.checkout = Checkout(self.suite)

    # Packages are installed and programs compiled with the machine's network; the cluster has none.
    def test_run_up_gives_a_mixed_cluster(self):
        self.assertIn("--nodes", self.checkout.run("./run up --help", network=True))
        output = self.checkout.run("./run up --detach\nexport PATH=$PWD/build/release/bin:$PATH\nporthole status\nporthole down --purge")
        self.assertRegex(output, r"linux-1 +linux +\S+ +Ready")
        self.assertRegex(output, r"windows-1 +windows 2022 \(emulated\) +\S+ +Ready")

    def test_unit_tests(self):
        self.checkout.run("./run test fast", network=True)

    def test_checks(self):
        self.checkout.run("./run test checks", network=True)

    def test_windows_programs(self):
        self.checkout.run("./run test windows", network=True)

    def test_clusters(self):
        self.checkout.run(f"./run test cluster {CLUSTER_TESTS}", network=True)


class OnDebian13(OnDebian12):
    suite = "trixie"
