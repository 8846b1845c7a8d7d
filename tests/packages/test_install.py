"""The packages in bare Debian systems: installed with apt, and a cluster brought up without a compiler."""

import os
import unittest

from bare_debian import PACKAGES, System, found, run

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: one, user: one}}]
clusters: [{name: one, cluster: {server: "https://nowhere.invalid:6443"}}]
users: [{name: one, user: {token: none}}]
"""


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

    def check_windows_node(self, suite):
        system = self.system(suite)
        system.install("porthole_*.deb", "porthole-windows-node_*.deb")
        output = system.run("porthole up --nodes linux=1,windows=1 --detach\nporthole status\nporthole down --purge")
        self.assertRegex(output, r"windows-1 +windows 2022 \(emulated\) +\S+ +Ready")

    # What runs the Windows programs differs: Wine 8 and Wine 10.
    def test_debian_12_gets_an_emulated_windows_node(self):
        self.check_windows_node("bookworm")

    def test_debian_13_gets_an_emulated_windows_node(self):
        self.check_windows_node("trixie")

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
