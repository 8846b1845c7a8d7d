"""How containers on a Windows node end. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import time
import unittest

from manifests import PROBE_SECONDS
from test_windows_node import windows_pod
from windows_probe_case import ProbeCase

import windows_probe


class Ends(ProbeCase):
    # POD-15
    def test_a_missing_dll_is_named_in_the_message(self):
        self.apply(windows_pod("lonely", ["C:\\app\\lonely.exe"], container_fields={"image": windows_probe.NAME}, restartPolicy="Never"))
        self.wait_phase("lonely", "Failed", seconds=90)
        ended = self.status_of("lonely")["state"]["terminated"]
        self.assertEqual(ended["exitCode"] & 0xFFFFFFFF, 0xC0000135)
        self.assertIn("0xC0000135 (STATUS_DLL_NOT_FOUND): a DLL that the program needs was not found (nowhere.dll); ", ended["message"])
        self.assertIn("lonely.exe: the DLL nowhere.dll was not found", self.kubectl("logs", "lonely"))


class Stopping(ProbeCase):
    # POD-16
    def test_the_program_hears_of_its_end_and_ends_by_itself(self):
        ending = self.probe("ending", "wait", terminationGracePeriodSeconds=40, container_fields={
            "livenessProbe": {"exec": {"command": ["cmd", "/c", "if exist C:\\sick (exit 1) else (exit 0)"]}, "periodSeconds": 1,
                              "failureThreshold": 2, "timeoutSeconds": PROBE_SECONDS}})
        self.apply(ending)
        self.wait_phase("ending", "Running", seconds=60)
        self.eventually(lambda: "waiting" in self.kubectl("logs", "ending"), 30, "it listens")
        self.exec("ending", "cmd", "/c", "echo x> C:\\sick")
        self.assertEqual(self.last_end("ending")["exitCode"], 5)
        self.assertIn("event 6", self.kubectl("logs", "ending", "--previous"))  # CTRL_SHUTDOWN_EVENT

    # POD-17, LIM-07
    def test_the_grace_period_is_given_and_not_exceeded(self):
        self.apply(self.probe("stays", "stubborn", terminationGracePeriodSeconds=8),
                   self.probe("goes", "wait", terminationGracePeriodSeconds=600))
        for name in ("stays", "goes"):
            self.wait_phase(name, "Running", seconds=60)
            self.eventually(lambda: self.kubectl("logs", name), 30, "it listens")
        self.assertGreaterEqual(self.time_to_delete("stays"), 8)  # it would stay for ever, and kubectl waits until it has gone
        self.assertLess(self.time_to_delete("goes"), 300)

    def time_to_delete(self, name):
        began = time.monotonic()
        self.kubectl("delete", "pod", name, "--timeout=90s", seconds=100)
        return time.monotonic() - began


if __name__ == "__main__":
    unittest.main()
