"""The zip for Windows machines. No PowerShell runs here: what is checked is that scripts and examples fit the programs."""

import json
import os
import re
import shutil
import unittest
import zipfile

from start_scripts import command_line, parameters
from wine import ROOT, WINDOWS, WineTest, windows_path

PACKAGE = ROOT / "packaging/windows"
PROGRAMS = ["kubelet", "flanneld", "kube-proxy"]


class Package(WineTest):
    # JOI-06 to JOI-08, JOI-10
    def test_the_zip_holds_programs_scripts_and_examples(self):
        zips = list(WINDOWS.glob("porthole-*-windows-amd64.zip"))
        if not zips:
            self.skipTest("no zip: ./run build windows")
        names = set(zipfile.ZipFile(zips[0]).namelist())
        for name in ["porthole.exe", "LICENSE.txt", "README.txt", "examples/kubelet-config.yaml"] + [
                f"scripts/{script}.ps1" for script in ("install", "start", "start-kubelet", "start-kubeproxy", "register-svc", "stop", "remove", "collect-logs")]:
            self.assertIn(f"porthole/{name}", names)

    def test_the_folder_of_programs_gets_a_list_that_names_nobody_else(self):
        folder = self.folder / "k"
        self.wine("bin/porthole.exe", "install", "--folder", windows_path(folder), check=True)
        self.assertTrue((folder / "kubelet.exe").exists())
        self.assertEqual(folder.stat().st_mode & 0o007, 0)  # Wine shows the rights of Everyone so, and no other group's

    def test_a_kubeconfig_in_the_folder_is_read_by_nobody_else(self):
        folder, given = self.folder / "k", self.folder / "given"
        given.write_text("apiVersion: v1\nkind: Config\n")
        given.chmod(0o644)
        self.wine("bin/porthole.exe", "install", "--folder", windows_path(folder), "--kubeconfig", windows_path(given), check=True)
        self.assertEqual((folder / "config").read_text(), given.read_text())
        self.assertEqual((folder / "config").stat().st_mode & 0o007, 0)
        (folder / "config").unlink()
        shutil.copyfile(given, folder / "config")  # by hand
        self.wine("bin/porthole.exe", "install", "--folder", windows_path(folder), check=True)
        self.assertEqual((folder / "config").stat().st_mode & 0o007, 0)

    @unittest.skipUnless(os.geteuid() == 0, "gives a file to another user")
    def test_nothing_is_installed_beside_a_file_of_another_user(self):
        folder = self.folder / "k"
        folder.mkdir()
        (folder / "version.dll").touch()
        os.chown(folder / "version.dll", 12345, 12345)
        refused = self.wine("bin/porthole.exe", "install", "--folder", windows_path(folder))
        self.assertNotEqual(refused.returncode, 0)
        self.assertRegex(refused.stderr, r"version\.dll belongs to a user who is not an administrator")
        self.assertFalse((folder / "kubelet.exe").exists())
        (folder / "version.dll").unlink()
        self.wine("bin/porthole.exe", "install", "--folder", windows_path(folder), check=True)

    def test_leaving_removes_links_and_not_what_they_lead_to(self):
        """Wine shows links of Linux as what they lead to."""
        folder, elsewhere = self.folder / "k", self.folder / "elsewhere"
        (folder / "pki/below").mkdir(parents=True)
        (folder / "pki/client.pem").touch()
        elsewhere.mkdir()
        (elsewhere / "kept").touch()
        (folder / "pki/below/link").symlink_to(elsewhere)
        self.wine("bin/porthole.exe", "leave", "--folder", windows_path(folder))  # services and the runtime are not there
        self.assertTrue((elsewhere / "kept").exists())
        self.assertFalse((folder / "pki").exists())

    def test_scripts_use_only_flags_that_the_programs_know(self):
        known = {name: self.wine(f"bin/{name}.exe", "--help", check=True).stdout for name in PROGRAMS}
        known["register"] = self.wine("bin/porthole.exe", "register", "--help", check=True).stdout
        known["install"] = self.wine("bin/porthole.exe", "install", "--help", check=True).stdout
        known["start"] = self.wine("bin/porthole.exe", "start", "--help", check=True).stdout
        known["leave"] = self.wine("bin/porthole.exe", "leave", "--help", check=True).stdout
        for script in sorted((PACKAGE / "scripts").glob("*.ps1")):
            text = script.read_text()
            # A call goes from the program's name or role to the end of its list of arguments.
            for program, arguments in re.findall(r"(?:Start-Logged \"\$Folder\\([a-z-]+)\.exe\"|@\('(?=register|install|start|leave))(.*?)\)\s*(?:\$LogDir)?\n", text, re.S):
                name = program or re.match(r"[a-z]+", arguments).group()
                for flag in re.findall(r"--[a-z-]+", arguments):
                    self.assertRegex(known[name], rf"{flag}\b", f"{script.name}: {name} does not know {flag}")

    # JOI-08
    def test_kubelet_and_proxy_take_what_their_start_scripts_give_them(self):
        self.assertIn("ClusterCidr", parameters("start-kubelet"))
        first, second = ((PACKAGE / f"scripts/{name}.ps1").read_text() for name in ("start-kubelet", "start-kubeproxy"))
        self.assertIn("$env:CLUSTER_CIDR = $ClusterCidr", first)
        self.assertRegex(second, r"\$ClusterCidr = \$\(if \(\$env:CLUSTER_CIDR\) \{ \$env:CLUSTER_CIDR \}")
        self.assertRegex(second, r"Get-Process -Name kubelet .*Stop-WithMessage", "the kubelet comes first")
        kubelet = command_line("start-kubelet", "kubelet", "win-1", Folder="C:\\none", ManagementIP="192.0.2.13", ClusterCidr="192.168.0.0/16")
        proxy = command_line("start-kubeproxy", "kube-proxy", "win-1", Folder="C:\\none", NetworkName="cbr0", ClusterCidr="192.168.0.0/16")
        self.assertIn("--cluster-cidr=192.168.0.0/16", proxy)
        for program, *words in (kubelet, proxy):
            name = program.rpartition("\\")[2]
            self.assertRegex(self.wine(f"bin/{name}", *words).stderr, r"no kubeconfig at C:\\none\\config", f"all words before it were understood: {words}")
            self.assertRegex(self.wine(f"bin/{name}", *words, "--no-such-flag=x").stderr, "no-such-flag", "and others are not")

    def test_configuration_examples_are_read(self):
        kubelet = self.wine("bin/kubelet.exe", "--config=" + windows_path(PACKAGE / "examples/kubelet-config.yaml"), "--kubeconfig=C:\\none")
        self.assertRegex(kubelet.stderr, r"no kubeconfig at C:\\none")
        proxy = self.wine("bin/kube-proxy.exe", "--config=" + windows_path(PACKAGE / "examples/kube-proxy-config.yaml"))
        self.assertRegex(proxy.stderr, r"no kubeconfig at C:\\k\\config")
        for plugin in ("win-bridge", "win-overlay"):
            answer = self.wine(f"bin/{plugin}.exe", CNI_COMMAND="VERSION", check=True, stdin=(PACKAGE / f"examples/{plugin}.conf").read_text())
            self.assertIn("1.0.0", json.loads(answer.stdout)["supportedVersions"])

    # JOI-15, JOI-16: what lasts is written by the program, and seen in the registry of an emulated host (tests/cluster/test_windows_host.py)
    def test_the_set_up_script_tells_its_own_console_too(self):
        text = (PACKAGE / "scripts/install.ps1").read_text()
        for words in ("'--add-to-path'", "'--set-kubeconfig'", "$env:Path += \";$Folder\"", "$env:KUBECONFIG = \"$Folder\\config\""):
            self.assertIn(words, text)
        self.assertIn("($env:Path -split ';') -notcontains $Folder", text)

    def test_what_is_gathered_has_no_keys(self):
        text = (PACKAGE / "scripts/collect-logs.ps1").read_text()
        copied = re.findall(r"^\s*(?:if \(.*\{ )?Copy-Item (.*)$|^foreach \(\$source in @\((.*?)\)\)", text, re.M)
        self.assertEqual(len(copied), 3, copied)
        self.assertIn('"$LogDir\\*.log"', text)  # also C:\k, where the kubeconfig is
        self.assertNotRegex(text, r"@\([^)]*\$LogDir")

    # JOI-21
    def test_nothing_is_downloaded_without_tls_1_2(self):
        downloads = re.compile(r"Invoke-WebRequest|Invoke-RestMethod|WebClient|Start-BitsTransfer|curl\.exe|\biwr\b")
        for path in [*PACKAGE.rglob("*.ps1"), *PACKAGE.rglob("*.psm1"), *(ROOT / "docs/guide").glob("*.md")]:
            text = path.read_text()
            first = downloads.search(text)
            if first:
                self.assertRegex(text[:first.start()], r"SecurityProtocol.*Tls12", f"{path.name} downloads before it forces TLS 1.2")
        self.assertIn("[Net.ServicePointManager]::SecurityProtocol", (ROOT / "docs/guide/windows_hosts.md").read_text())

    # JOI-07: what `porthole.exe start` does with them is seen on an emulated host (tests/cluster/test_windows_host.py)
    def test_the_start_script_hands_on_the_published_parameters(self):
        text = (PACKAGE / "scripts/start.ps1").read_text()
        call = text[text.index("@('start'"):]
        for parameter, flag in (("ManagementIP", "management-ip"), ("NetworkMode", "network-mode"), ("ClusterCIDR", "cluster-cidr"),
                                ("ServiceCIDR", "service-cidr"), ("KubeDnsServiceIP", "cluster-dns"), ("LogDir", "log-dir")):
            self.assertRegex(text, rf"\[string\] \${parameter}\b")
            self.assertIn(f"'--{flag}', ${parameter}", call)
        self.assertIn("Get-AdapterAddress $InterfaceName", text)

    # JOI-22, EMU-08
    def test_the_guides_are_there(self):
        cluster = (ROOT / "docs/guide/cluster.md").read_text()
        for heading in ("control plane", "Linux node", "Windows node", "services", "verify"):
            self.assertRegex(cluster, rf"(?im)^## .*{heading}")
        emulated = (ROOT / "docs/guide/emulated_windows.md").read_text()
        table = emulated[emulated.index("## What differs from Windows"):]
        for area in ("PowerShell", "Memory limit", "Named pipes", "Event log", "Registry hives", "Recovery"):
            self.assertIn(f"| {area}", table)

    # JOI-05, JOI-09, JOI-10
    def test_services_can_be_registered_by_other_means(self):
        flags = ["register", "--node-name", "win-1", "--node-ip", "192.0.2.13", "--network-mode", "overlay", "--print"]
        sc = self.wine("bin/porthole.exe", *flags, "sc", check=True).stdout.splitlines()
        kubelet = next(line for line in sc if "create kubelet" in line)
        self.assertTrue(kubelet.startswith('sc.exe create kubelet binPath= "C:\\k\\kubelet.exe --windows-service --kubeconfig=C:\\k\\config '), kubelet)
        nssm = self.wine("bin/porthole.exe", *flags, "nssm", check=True).stdout.splitlines()
        self.assertIn("nssm set kube-proxy DependOnService kubelet", nssm)
        self.assertIn("nssm set kube-proxy AppEnvironmentExtra KUBE_NETWORK=vxlan0 NODE_NAME=win-1", nssm)
