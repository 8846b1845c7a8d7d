"""The packages in bare Debian systems: installed with apt, and a cluster brought up without a compiler.

Roots are made by debootstrap from the machine's mirror and deleted. Programs run in namespaces of their own, the network's without an
uplink, and end with them.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("PORTHOLE_PACKAGES", ROOT / "build/packages"))
MIRROR = os.environ.get("PORTHOLE_MIRROR", "http://deb.debian.org/debian")
SECONDS = 600

# A root that is a mount of its own: runc moves a container's root by pivot_root, which a chroot does not allow.
ENTER = """set -eu
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/old"
cd "$root"
pivot_root . old
cd /
umount -l /old
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C
"$@"
"""


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: one, user: one}}]
clusters: [{name: one, cluster: {server: "https://nowhere.invalid:6443"}}]
users: [{name: one, user: {token: none}}]
"""


class System:
    """A bare Debian in a folder."""

    def __init__(self, suite):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"porthole-root-{suite}-"))
        run(["debootstrap", "--variant=minbase", suite, self.folder, MIRROR])
        # No service is started by an installation.
        policy = self.folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def run(self, script, network=False):
        """Of a shell in it. `network`: in the machine's own, to install."""
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", *([] if network else ["--net"])]
        command = ["unshare", *namespaces, "bash", "-c", ENTER, "enter", self.folder, "sh", "-euc", script if network else f"ip link set lo up\n{script}"]
        return run(command).stdout

    def install(self, *patterns):
        names = []
        for pattern in patterns:
            package = found(pattern)
            shutil.copy(package, self.folder / "tmp")
            names.append(f"/tmp/{package.name}")
        return self.run(f"apt-get update -q && apt-get install -q -y --no-install-recommends {' '.join(names)}", network=True)

    def delete(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def run(command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {result.returncode}:\n{(result.stdout + result.stderr)[-3000:]}")
    return result


def found(pattern):
    packages = sorted(PACKAGES.glob(pattern))
    if not packages:
        raise unittest.SkipTest(f"no {pattern} in {PACKAGES}: ./run package")
    return packages[-1]


class Install(unittest.TestCase):
    def system(self, suite):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        system = System(suite)
        self.addCleanup(system.delete)
        return system

    def check_package(self, suite):
        system = self.system(suite)
        kubectl = sorted(PACKAGES.glob("porthole-kubectl_*.deb"))
        system.install("porthole_*.deb", *(["porthole-kubectl_*.deb"] if kubectl else []))
        self.assertIn("Kubernetes API v1.", system.run("porthole version"))
        self.assertIn("up --detach", system.run("porthole up --help"))
        self.assertEqual(system.run("command -v cc clang gcc || true"), "", "a compiler came with the package")
        files = system.run("dpkg -L porthole")
        for name in ("/usr/lib/systemd/system/porthole.service", "/usr/share/bash-completion/completions/porthole", "/usr/share/doc/porthole/porthole.spdx.json"):
            self.assertIn(name, files)
        self.assertEqual(system.run("bash -c '. /usr/share/bash-completion/completions/porthole; COMP_WORDS=(porthole tok); COMP_CWORD=1; _porthole; echo ${COMPREPLY[*]}'").split(),
                         ["token"])
        system.run("dpkg --verify porthole")
        output = system.run("porthole up --detach\nporthole status" + ("\nkubectl version\nkubectl get nodes" if kubectl else "") + "\nporthole down --purge")
        self.assertRegex(output, r"linux-1 +linux +\S+ +Ready")
        if kubectl:
            self.assertRegex(output, r"Server Version: v1\.")
            self.assertRegex(output, r"linux-1 +Ready")
        system.run("apt-get remove -q -y porthole && test ! -e /usr/bin/porthole", network=True)

    def test_debian_12_gets_a_cluster(self):
        self.check_package("bookworm")

    def test_debian_13_gets_a_cluster(self):
        self.check_package("trixie")

    # BIN-03
    def test_the_tarball_runs_on_debian_11_12_and_13(self):
        tarball = found("porthole-[0-9]*-linux-amd64.tar.gz")
        for suite in ("bullseye", "bookworm", "trixie"):
            with self.subTest(suite):
                system = self.system(suite)
                run(["tar", "-xf", tarball, "-C", system.folder / "opt"])
                # A source of names that is a shared library of the system must not be loaded: it brings that system's glibc along.
                system.run("apt-get update -q && apt-get install -q -y libnss-myhostname", network=True)
                (system.folder / "etc/nsswitch.conf").write_text("hosts: myhostname files dns\n")
                (system.folder / "tmp/config").write_text(KUBECONFIG)
                output = system.run("/opt/porthole-*/bin/porthole version; /opt/porthole-*/bin/porthole token list --kubeconfig /tmp/config 2>&1 || echo code $?")
                self.assertIn("Kubernetes API v1.", output)
                self.assertIn("nowhere.invalid", output)
                self.assertIn("code 1\n", output)
