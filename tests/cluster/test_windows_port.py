"""`porthole up --port` of a stopped cluster: its emulated Windows nodes find the servers at the new port."""

from harness import SharedCluster, slow
from test_windows_node import WindowsCase, windows_pod


class AnotherPort(WindowsCase):
    shared = SharedCluster("linux=1,windows=1")

    @slow
    def test_windows_nodes_follow_the_servers_and_are_ready_by_what_they_say_since(self):
        self.cluster.down()
        self.cluster.options = ("--port", "7443")
        self.assertRegex(self.cluster.up().stdout, r"node windows-1 Ready")
        ready = self.get("node", "windows-1")["status"]["conditions"]
        self.assertIn(("Ready", "True"), {(one["type"], one["status"]) for one in ready})
        self.apply(windows_pod("one", ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]))
        self.wait_ready("one", 120)
        self.assertIn("7443", (self.cluster.data / "nodes/windows-1/joined").read_text())
