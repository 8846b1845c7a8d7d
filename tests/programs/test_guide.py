"""The guide's own example, from its first command to its last, as a new user would type it; npm's package is taken from the cache."""

import json
import os
import pathlib
import re

import harness
import program_case
import test_node
from manifests import pod

GUIDE = harness.ROOT / "docs/guide/windows_programs.md"
NODE = test_node.Node22.sources[0]


def commands():
    """Of the console blocks of "Your own program", in order: (command, lines that the guide shows of its output). A here-document is part of its command."""
    section = re.search(r"(?ms)^## Your own program$.*?(?=^## )", GUIDE.read_text()).group()
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", section):
        for text in re.split(r"(?m)^\$ ", block)[1:]:
            if "<<'EOF'" in text:
                yield text, []
            else:
                command, *shown = text.splitlines()
                yield command, shown


class OwnProgram(program_case.PodsCase):
    programs = (test_node.Node22,)

    def setUp(self):
        super().setUp()
        self.folder = self.cluster.folder / "guide"
        tools = self.folder / "tools"
        tools.mkdir(parents=True)
        (self.folder / "packaging").symlink_to(harness.ROOT / "packaging")
        for name, script in {"kubectl": f'exec {harness.CLIENTS[self.client]} "$@"',
                             "porthole": f'exec {harness.PORTHOLE} "$@" --data {self.cluster.data}',
                             "npm": f'[ "$*" = "pack {NODE.name}@{NODE.version}" ] && cp {NODE.kept} {NODE.name}-{NODE.version}.tgz'}.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        self.addCleanup(self.kubectl_run, "delete", "namespace", "shop", "--timeout=90s", namespaced=False, check=False, seconds=100)

    def type(self, command):
        environment = self.cluster.environment()
        environment["PATH"] = f"{self.folder}/tools:{environment['PATH']}"
        return harness.run(self.cluster.network.inside(["bash", "-c", command]), env=environment, cwd=self.folder, seconds=300).stdout

    def test_the_example_serves_rolls_and_outlives_its_node(self):
        self.apply(pod("client", nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("client")
        pages = {}
        for command, shown in commands():
            with self.subTest(command.splitlines()[0]):
                printed = self.type(command)
                for line in shown:
                    self.assertIn(line, printed)
                if "rollout status" in command:
                    pages[len(pages) + 1] = self.page_of(len(pages) + 1)
                if "kubectl exec" in command:
                    self.assertEqual(printed.strip(), "2")
        self.assertIn("GET /", self.type("kubectl logs --namespace shop --selector app=shop"))
        self.assertEqual(list(pages), [1, 2])
        self.lose_the_node()
        self.page_of(2)

    def page_of(self, version):
        """By the service's name from another namespace, as the guide says; both replicas serve."""
        def both():
            pages = {self.fetch_from_pod("client", "http://shop.shop.svc.cluster.local/") for _ in range(10)}
            self.assertEqual({page.split("</h1>")[0] for page in pages}, {"<h1>shop" + (f" {version}" if version > 1 else "")})
            return pages if len(pages) == 2 else None
        return self.eventually(both, 60, f"both replicas serve version {version}")

    def lose_the_node(self):
        before = self.replicas()
        with self.cluster.nodes_lost("windows-1"):
            pass
        self.eventually(lambda: self.replicas() != before and self.replicas(), 180, "both containers run again")

    def replicas(self):
        """Their containers, once both are ready."""
        found = json.loads(self.type("kubectl get pods --namespace shop --selector app=shop --output json"))["items"]
        ready = [one["status"]["containerStatuses"][0]["containerID"] for one in found if harness.condition(one, "Ready") == "True"]
        return sorted(ready) if len(ready) == 2 else None
