"""The host network service's DLLs, as programs on an emulated host load them."""

import json

from wine import LINUX, WINDOWS, WineTest, windows_path


class HnsDll(WineTest):
    def run_tests(self, names):
        """Runs tests of the DLLs against a service of their own; the calls that it has counted."""
        host = self.start([LINUX / "tests/hns_host", self.folder], "hns_host.log")
        host_file = self.folder / "emulator.json"
        self.wait_for(host_file.exists, 10, "the emulator listens")
        done = self.wine("tests/winhost_dll_windows_test.exe", f"--gtest_filter={names}", PORTHOLE_TEST_HOST_FILE=windows_path(host_file),
                         PORTHOLE_TEST_PROGRAMS=windows_path(WINDOWS / "bin"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + (self.folder / "hns_host.log").read_text())
        self.assertNotIn("SKIPPED", done.stdout)
        self.end(host)
        return json.loads((self.folder / "calls.json").read_text())

    # HNS-01, HNS-10, HNS-14, EMU-01
    def test_calls_reach_the_emulator_and_notifications_come_back(self):
        self.run_tests("*")

    def test_many_calls_go_over_one_connection(self):
        self.assertEqual(self.run_tests("*.MakesManyCallsOverOneConnection"), {"connections": 1, "enumerate LoadBalancer": 500})

    def test_many_objects_are_made_with_a_call_for_each_and_their_network_opened_once(self):
        calls = self.run_tests("*.MakesManyObjectsWithTheirNetworkOpenedOnce")
        self.assertEqual(calls["create Endpoint"], 100)
        self.assertEqual(calls["query Network"], 4, "its id after its creation; opened and read; opened for all endpoints")
        self.assertEqual(calls["query Endpoint"], 2 * 99 + 1, "to list them, opened and read, and once whether the service keeps given ids")
