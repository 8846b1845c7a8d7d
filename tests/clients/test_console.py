"""kdash, a console for the terminal, shows what a cluster has and what changes in it."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
from harness import TOOLS, ClusterCase  # noqa: E402
from manifests import config_map, service, web_deployment  # noqa: E402
from terminal_screen import TerminalProgram  # noqa: E402

PROGRAM = TOOLS / "clients/kdash/bin/kdash"


class Console(ClusterCase):
    def setUp(self):
        if not PROGRAM.exists():
            self.skipTest("kdash is not built: ./run test clients")
        super().setUp()

    def open(self):
        environment = {**self.cluster.environment(), "TERM": "xterm-256color"}
        del environment["NO_COLOR"]
        command = [PROGRAM, "--namespace", self.namespace, "--poll-rate", "1000"]
        console = TerminalProgram(self.cluster.network.inside(command), environment)
        self.addCleanup(console.end)
        return console

    def test_it_follows_pods_and_shows_other_kinds(self):
        self.apply(web_deployment("shop", 2), service("shop", {"app": "shop"}), config_map("settings", colour="green"))
        self.wait_rolled_out("shop")
        console = self.open()
        console.shows(r"linux-1")
        first, second = sorted(pod["metadata"]["name"] for pod in self.pods("app=shop"))
        console.shows(rf"{first}\s+1/1\s+Running")
        console.shows(rf"{second}\s+1/1\s+Running")
        self.kubectl("scale", "deployment", "shop", "--replicas=0")
        console.hides(r"Running")
        console.type("2")
        address = self.get("service", "shop")["spec"]["clusterIP"]
        console.shows(rf"shop\s+ClusterIP\s+{address}")
        console.type("4")
        console.shows(r"settings\s+1\b")
