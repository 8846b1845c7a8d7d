"""Images as they are built on Microsoft's base images: a base that is not there, and layers with registry hives, hidden files and links. The node
is emulated; the images stand for real ones, none of which can be had here."""

import unittest

import windows_probe
from registry_hive import DELETED, TOMBSTONE, Key, expandable, hive_bytes, number, string
from test_windows_node import WindowsPodCase, windows_pod
from windows_image import Base, Layer, WindowsImage, write_oci  # windows_probe knows where

BUILD = "10.0.20348.1"
ENVIRONMENT = ("ControlSet001", "Control", "Session Manager", "Environment")
SYSTEM_PATH = "%SystemRoot%\\system32;%SystemRoot%;%SystemRoot%\\System32\\Wbem"
ABSENT = "sha256:" + "ab" * 32
FOREIGN = Base([{"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "digest": ABSENT, "size": 115_000_000,
                 "urls": ["https://mcr.microsoft.com/v2/windows/nanoserver/blobs/" + ABSENT]}], [ABSENT])
# As Microsoft publishes them since its base layers may be distributed.
ORDINARY = Base([{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "digest": ABSENT, "size": 1_500_000_000}] * 2, [ABSENT] * 2,
                [{"created_by": "Apply image 10.0.20348.1"}, {"created_by": "Install update 10.0.20348.2113"}])
# What of it can be seen only in its content: Windows' own files.
UNNAMED = Layer({"base.txt": b"", "Windows/System32/kernel32.dll": b"Microsoft's", "Windows/System32/ntdll.dll": b"Microsoft's"})


def installed():
    """As by an installer and `setx /M`: programs, their settings, and a service."""
    system, software, default_user, profile = Key(), Key(), Key(), Key()
    system.at(*ENVIRONMENT).values.update({
        "Path": expandable(SYSTEM_PATH + ";C:\\Program Files\\tool"), "TOOL_HOME": expandable("%ProgramFiles%\\tool"),
        "TOOL_OPTIONS": string("registry"), "TOOL_FORMAT": string("%ProgramFiles%"), "NUMBER_OF_PROCESSORS": string("4711")})
    system.at("ControlSet001", "Services", "filter").values.update({"Type": number(1), "ImagePath": string("drivers\\filter.sys")})
    system.at("ControlSet001", "Services", "helper").values.update({
        "Type": number(0x10), "Start": number(2), "ErrorControl": number(1), "ObjectName": string("LocalSystem"),
        "ImagePath": expandable('"%SystemDrive%\\Program Files\\tool\\service.exe"')})
    software.at("Contoso", "Tool").values.update({"Version": string("1.0"), "Old": string("to go")})
    software.at("Contoso", "Plugin").values["Name"] = string("to go")
    software.at("Microsoft", "Windows NT", "CurrentVersion").values["CurrentBuildNumber"] = string("1")
    default_user.at("Contoso").values["Default"] = string("yes")
    profile.at("Environment").values.update({"OF_THE_USER": string("me"), "PATH": expandable("%USERPROFILE%\\bin"), "TEMP": string("D:\\")})
    return system, software, default_user, profile


def layers(programs):
    system, software, default_user, profile = installed()
    update, newer = Key(), Key()
    update.at("Contoso", "Tool").values.update({"Version": string("2.0"), "Old": DELETED})
    update.at("Contoso", "Plugin").layering = TOMBSTONE
    newer.at(*ENVIRONMENT).values["TOOL_LEVEL"] = string("2")
    first = Layer({**programs, "Program Files/tool/old.txt": b"old", "Users/ContainerUser/NTUSER.DAT": hive_bytes(profile)}, hives={
        "System_Delta": hive_bytes(system), "Software_Delta": hive_bytes(software), "DefaultUser_Delta": hive_bytes(default_user),
        "Sam_Delta": b"", "Security_Delta": b""})
    second = Layer({"program files/Tool/.wh.OLD.txt": b"", "Program Files/tool/new.txt": b"new"}, links={"tool": "C:\\Program Files\\tool"},
                   hives={"Software_Delta": hive_bytes(update), "System_Delta": hive_bytes(newer)})
    return [first, second]


def image(name, programs, base=None, below=(), **fields):
    return WindowsImage(name=f"porthole.test/{name}:1", layers=[*below, *layers(programs)], builds=[BUILD], bases={BUILD: base} if base else {},
                        entrypoint=["tool"], command=["wait"], **fields)


def in_one_layer(programs):
    """As of tools that squash an image with its base."""
    return Layer({**UNNAMED.files, **programs})


class Images(WindowsPodCase):
    loaded = None  # the cluster that has the images

    def setUp(self):
        super().setUp()
        if Images.loaded is self.cluster:
            return
        programs = {f"Program Files/tool/{name}.exe": windows_probe.compile_program(source, self.cluster.folder).read_bytes()
                    for name, source in (("tool", "probe"), ("service", "service"))}
        archive = self.cluster.folder / "windows-images.tar"
        write_oci(archive, [
            image("on-nanoserver", programs, FOREIGN, user="ContainerUser", environment=["TOOL_OPTIONS=image"]),
            image("on-servercore", programs, ORDINARY),
            WindowsImage(name="porthole.test/in-one-layer:1", layers=[in_one_layer(programs)], builds=[BUILD],
                         entrypoint=["C:\\Program Files\\tool\\tool.exe"], command=["wait"]),
            image("on-unnamed", programs, below=[UNNAMED], environment=["PATH=C:\\Windows\\system32;C:\\Program Files\\tool"])])
        self.cluster.porthole("image", "load", archive)
        archive.unlink()
        Images.loaded = self.cluster

    def start(self, name):
        self.apply(windows_pod(name, nodeName="windows-1", container_fields={"image": f"porthole.test/{name}:1"}))
        self.wait_ready(name)

    def cmd(self, pod, line):
        return self.exec(pod, "cmd", "/c", line)

    def variables(self, pod):
        return {name.upper(): value for name, _, value in (line.strip().partition("=") for line in self.cmd(pod, "set").splitlines())}

    # IMG-07, IMG-09
    def test_an_image_on_nanoserver_finds_its_registry_and_its_files(self):
        self.start("on-nanoserver")
        tool = self.cmd("on-nanoserver", "reg query HKLM\\Software\\Contoso /s")
        self.assertRegex(tool, r"Version +REG_SZ +2\.0")
        for gone in ("Old", "Plugin", "to go"):
            self.assertNotIn(gone, tool)
        build = self.exec("on-nanoserver", "reg", "query", "HKLM\\Software\\Microsoft\\Windows NT\\CurrentVersion", "/v", "CurrentBuildNumber")
        self.assertIn("20348", build)
        services = self.cmd("on-nanoserver", "reg query HKLM\\System\\CurrentControlSet\\Services")
        self.assertNotIn("filter", services)
        self.assertIn("yes", self.cmd("on-nanoserver", "reg query HKU\\.Default\\Contoso /v Default"))
        self.assertIn("new", self.cmd("on-nanoserver", "type C:\\tool\\new.txt"))
        self.assertEqual(self.cmd("on-nanoserver", "if exist C:\\tool\\old.txt (echo there) else (echo gone)").strip(), "gone")

    # IMG-07
    def test_its_user_and_environment_are_those_of_windows(self):
        self.start("on-nanoserver")
        found = self.variables("on-nanoserver")
        self.assertTrue(self.cmd("on-nanoserver", "whoami").strip().lower().endswith("\\containeruser"))
        self.assertEqual(found["TOOL_HOME"], "C:\\Program Files\\tool")
        self.assertEqual(found["TOOL_FORMAT"], "%ProgramFiles%")
        self.assertEqual(found["TOOL_LEVEL"], "2")
        self.assertEqual(found["TOOL_OPTIONS"], "image")
        self.assertEqual(found["OF_THE_USER"], "me")
        self.assertNotEqual(found["NUMBER_OF_PROCESSORS"], "4711")
        self.assertTrue(found["PATH"].lower().startswith("c:\\windows\\system32;c:\\windows;"), found["PATH"])
        self.assertTrue(found["PATH"].endswith(";C:\\Program Files\\tool;C:\\users\\ContainerUser\\bin"), found["PATH"])
        for name, value in {"USERNAME": "ContainerUser", "USERPROFILE": "C:\\users\\ContainerUser", "PROGRAMDATA": "C:\\ProgramData",
                            "PROGRAMFILES": "C:\\Program Files", "PUBLIC": "C:\\users\\Public", "SYSTEMDRIVE": "C:", "WINDIR": "C:\\windows",
                            "SYSTEMROOT": "C:\\windows", "ALLUSERSPROFILE": "C:\\ProgramData", "OS": "Windows_NT",
                            "APPDATA": "C:\\users\\ContainerUser\\AppData\\Roaming",
                            "LOCALAPPDATA": "C:\\users\\ContainerUser\\AppData\\Local",
                            "TEMP": "C:\\users\\ContainerUser\\AppData\\Local\\Temp",
                            "TMP": "C:\\users\\ContainerUser\\AppData\\Local\\Temp"}.items():
            self.assertEqual(found[name].lower(), value.lower(), name)
        self.cmd("on-nanoserver", "echo x> %TEMP%\\file.txt")

    # IMG-07, IMG-09
    def test_an_image_on_servercore_runs_as_the_administrator(self):
        self.start("on-servercore")
        found = self.variables("on-servercore")
        self.assertTrue(self.cmd("on-servercore", "whoami").strip().lower().endswith("\\containeradministrator"))
        self.assertEqual(found["TOOL_OPTIONS"], "registry")
        self.assertNotIn("OF_THE_USER", found)

    # IMG-07
    def test_a_service_that_an_image_has_installed_starts_with_the_container(self):
        self.start("on-servercore")
        self.eventually(lambda: "helper" in self.cmd("on-servercore", "if exist C:\\service.txt type C:\\service.txt"), 20, "the service runs")
        self.eventually(lambda: "event, information 1 of helper: the service has started" in self.kubectl("logs", "on-servercore"), 20,
                        "its event is in the pod's log")
        self.assertIn("RUNNING", self.exec("on-servercore", "sc", "query", "helper"))

    # IMG-07
    def test_windows_own_files_of_a_base_are_not_used_and_the_images_path_wins(self):
        self.start("on-unnamed")
        self.assertEqual(self.variables("on-unnamed")["PATH"], "C:\\Windows\\system32;C:\\Program Files\\tool")
        self.assertIn("new", self.cmd("on-unnamed", "type C:\\tool\\new.txt"))
        self.assertEqual(self.cmd("on-unnamed", "if exist C:\\base.txt (echo there) else (echo absent)").strip(), "absent")

    # IMG-07
    def test_an_image_in_one_layer_with_its_base_has_its_programs(self):
        self.start("in-one-layer")
        self.assertEqual(self.cmd("in-one-layer", "if exist C:\\base.txt (echo there) else (echo absent)").strip(), "there")


if __name__ == "__main__":
    unittest.main()
