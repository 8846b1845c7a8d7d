"""kdash and k9s, consoles for the terminal, show what a cluster has and what changes in it."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
from harness import TOOLS, ClusterCase  # noqa: E402
from manifests import config_map, service, web_deployment  # noqa: E402
from terminal_screen import TerminalProgram  # noqa: E402


class ConsoleCase(ClusterCase):
    program = None

    def setUp(self):
        if not self.program.exists():
            self.skipTest(f"{self.program.name} is not built: ./run test clients")
        super().setUp()

    def open(self, *options):
        environment = {**self.cluster.environment(), "TERM": "xterm-256color"}
        del environment["NO_COLOR"]
        console = TerminalProgram(self.cluster.network.inside([self.program, "--namespace", self.namespace, *options]), environment)
        self.addCleanup(console.end)
        return console

    def start_shop(self):
        self.apply(web_deployment("shop", 2), service("shop", {"app": "shop"}), config_map("settings", colour="green"))
        self.wait_rolled_out("shop")
        return sorted(pod["metadata"]["name"] for pod in self.pods("app=shop"))


class Kdash(ConsoleCase):
    program = TOOLS / "clients/kdash/bin/kdash"

    def test_it_follows_pods_and_shows_other_kinds(self):
        pods = self.start_shop()
        console = self.open("--poll-rate", "1000")
        console.shows(r"linux-1")
        for pod in pods:
            console.shows(rf"{pod}\s+1/1\s+Running")
        self.kubectl("scale", "deployment", "shop", "--replicas=0")
        console.hides(r"Running")
        console.type("2")
        address = self.get("service", "shop")["spec"]["clusterIP"]
        console.shows(rf"shop\s+ClusterIP\s+{address}")
        console.type("4")
        console.shows(r"settings\s+1\b")


class K9s(ConsoleCase):
    program = TOOLS / "clients/k9s/k9s"

    def test_it_shows_pods_other_kinds_and_yaml(self):
        pods = self.start_shop()
        console = self.open("--command", "pods", "--refresh", "2")
        for pod in pods:
            console.shows(rf"{pod}\s.*1/1\s+Running")
        console.type(":services\r")
        address = self.get("service", "shop")["spec"]["clusterIP"]
        console.shows(rf"shop\s+ClusterIP\s+{address}")
        console.type(":configmaps\r")
        console.shows(r"settings\s+1\b")
        console.type("/settings\r")
        console.hides(r"kube-root-ca")
        console.type("y")
        console.shows(r"colour:\s+green")
