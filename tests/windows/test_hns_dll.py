"""The host network service's DLLs, as programs on an emulated host load them."""

from wine import LINUX, WINDOWS, WineTest, windows_path


class HnsDll(WineTest):
    # HNS-01, HNS-10, HNS-14, EMU-01
    def test_calls_reach_the_emulator_and_notifications_come_back(self):
        self.start([LINUX / "tests/hns_host", self.folder], "hns_host.log")
        host_file = self.folder / "emulator.json"
        self.wait_for(host_file.exists, 10, "the emulator listens")
        done = self.wine("tests/winhost_dll_windows_test.exe", PORTHOLE_TEST_HOST_FILE=windows_path(host_file),
                         PORTHOLE_TEST_PROGRAMS=windows_path(WINDOWS / "bin"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + (self.folder / "hns_host.log").read_text())
        self.assertNotIn("SKIPPED", done.stdout)
