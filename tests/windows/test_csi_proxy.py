"""csi-proxy.exe under Wine: its pipes, its rules, and what it says of a host without links and PowerShell, as Wine's is one."""

from wine import WINDOWS, WineTest, windows_path


class CsiProxy(WineTest):
    def setUp(self):
        super().setUp()
        # One prefix for the server and its client: a pipe is of one Wine server.
        self.script = self.folder / "both.cmd"

    def talk(self, *calls):
        """The answers of csi-proxy.exe to one call of its group filesystem after the other."""
        return self.run_client(*(("call", *call) for call in calls))

    def run_client(self, *commands):
        client, server = windows_path(WINDOWS / "bin/csi_windows_driver.exe"), windows_path(WINDOWS / "bin/csi-proxy.exe")
        lines = ["@echo off", f"start /b {server} -kubelet-path={windows_path(self.folder)}\\kubelet -logtostderr=false",
                 "ping -n 4 127.0.0.1 >nul"]
        lines += [f"{client} " + " ".join(f'"{word}"' for word in command) for command in commands]
        lines += ["taskkill /f /im csi-proxy.exe >nul 2>&1"]
        self.script.write_text("\r\n".join(lines) + "\r\n")
        done = self.wine("cmd", "/c", windows_path(self.script), seconds=60)
        return [line.strip() for line in done.stdout.splitlines() if line.strip()]

    # STO-24
    def test_directories_are_made_and_removed_by_the_pipe(self):
        kubelet = windows_path(self.folder) + "\\kubelet"
        answers = self.talk(("Mkdir", kubelet + "\\a\\b"), ("PathExists", kubelet + "\\a\\b"), ("Rmdir", kubelet + "\\a"),
                            ("Rmdir", kubelet + "\\a", "force"), ("PathExists", kubelet + "\\a"), ("Mkdir", "C:\\windows\\x"))
        self.assertEqual(answers[:2], ["done", "true"])
        self.assertRegex(answers[2], "not empty")
        self.assertEqual(answers[3:5], ["done", "false"])
        self.assertEqual(answers[5], f"csi-proxy: path: C:\\windows\\x is not within context path: {kubelet}")

    # STO-24
    def test_both_versions_of_the_group_iscsi_answer_on_pipes_of_their_own(self):
        versions = ("v1alpha2", "v1alpha1")
        answers = self.run_client(*(("ask", f"iscsi-{version}", f"/{version}.Iscsi/{method}") for version in versions
                                    for method in ("AddTargetPortal", "ListTargetPortals", "Login")),
                                  ("ask", "iscsi-v1alpha3", "/v1alpha3.Iscsi/ListTargetPortals"))
        for version, (add, listed, unknown) in zip(versions, (answers[:3], answers[3:6])):
            self.assertEqual(add, "3 the request has no target portal")
            self.assertRegex(listed, "^2 .*PowerShell", "Wine has none that lists portals")
            self.assertEqual(unknown, f"12 unknown method /{version}.Iscsi/Login")
        self.assertRegex(answers[6], "^14 ", "there is no such pipe")

    # STO-24: the other groups
    def test_every_group_has_a_pipe_for_each_of_its_versions(self):
        pipes = {"disk": ("Disk/GetDiskState", ("v1", "v1beta3")), "volume": ("Volume/FormatVolume", ("v1", "v1beta3")),
                 "smb": ("Smb/RemoveSmbGlobalMapping", ("v1", "v1beta2")), "system": ("System/StartService", ("v1alpha1",)),
                 "filesystem": ("Filesystem/Mkdir", ("v1", "v2alpha1"))}
        asked = [("ask", f"{group}-{version}", f"/{version}.{method}") for group, (method, versions) in pipes.items() for version in versions]
        for (_, pipe, _), answer in zip(asked, self.run_client(*asked), strict=True):
            self.assertRegex(answer, "^(2|3|7) ", pipe + " refuses an empty message, or the host cannot do it")

    # EMU-10
    def test_a_link_of_linux_is_removed_and_what_it_leads_to_stays(self):
        """Wine shows such a link as the directory itself."""
        data = self.folder / "data"
        for place in ("kubelet/direct", "kubelet/below/deep"):
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).symlink_to(data)
        (self.folder / "kubelet/empty").symlink_to(self.folder / "nothing")
        (self.folder / "nothing").mkdir()
        data.mkdir()
        (data / "file").write_text("kept")
        kubelet = windows_path(self.folder) + "\\kubelet"
        answers = self.talk(("IsSymlink", kubelet + "\\direct"), ("Mkdir", kubelet + "\\direct\\new"), ("Rmdir", kubelet + "\\direct"),
                            ("Rmdir", kubelet + "\\empty"), ("Rmdir", kubelet + "\\below", "force"), ("PathExists", kubelet + "\\below"))
        self.assertRegex(answers[1], "contains a link")
        self.assertEqual([answers[0], *answers[2:]], ["true", "done", "done", "done", "false"])
        self.assertEqual((data / "file").read_text(), "kept")
        self.assertTrue((self.folder / "nothing").is_dir())
        self.assertEqual(list((self.folder / "kubelet").iterdir()), [])

    def test_flags_are_upstreams(self):
        told = self.wine("bin/csi-proxy.exe", "--help", check=True).stdout
        for flag in ("--kubelet-path", "--windows-service"):
            self.assertIn(flag, told)
        refused = self.wine("bin/csi-proxy.exe", "-kubelet-path=kubelet")
        self.assertEqual(refused.returncode, 255)
        self.assertIn("not an absolute Windows path", refused.stderr)
