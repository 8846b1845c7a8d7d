"""Programs as services of Wine's service manager."""

from wine import WINDOWS, WineTest, windows_path


class Services(WineTest):
    # KBL-05, JOI-09, JOI-13
    def test_a_service_that_cannot_run_says_why_in_its_log_and_reports_the_failure(self):
        log = self.folder / "flanneld.log"
        program = windows_path(WINDOWS / "bin/flanneld.exe")
        script = self.folder / "service.bat"
        script.write_text("\r\n".join([
            "@echo off",
            f'sc create flanneld binPath= "{program} --windows-service --kubeconfig-file={windows_path(self.folder)}\\config --node-name=x '
            f'--iface=192.0.2.13 --log-dir={windows_path(self.folder)} --logtostderr=false"',
            "sc start flanneld",
            ":again",
            "sc query flanneld > C:\\state.txt",
            "find \"STOPPED\" C:\\state.txt > nul",
            "if errorlevel 1 goto again",
            "type C:\\state.txt", ""]))
        done = self.wine("cmd", "/c", windows_path(script), seconds=60, WINEDEBUG="+seh")
        self.assertIn("no kubeconfig at", log.read_text())
        self.assertRegex(done.stdout, r"SERVICE_EXIT_CODE +: 1 ")
        self.assertNotIn("code=c0000005", done.stderr)
