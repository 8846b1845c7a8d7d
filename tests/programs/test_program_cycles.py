"""Pods of catalogue programs come and go: what they took of the host is given back."""

import itertools
import os
import pathlib

import inventory
import program_case
import test_nginx
import test_node
from harness import condition
from manifests import PROBE_SECONDS

HOST = "windows-1"
CYCLES = int(os.environ.get("PORTHOLE_PROGRAM_CYCLES", "4"))


class ProgramCycles(program_case.PodsCase):
    programs = (test_node.Node22, test_nginx.Nginx)

    def resources(self):
        return inventory.windows_host(self.cluster, HOST)

    def descriptors(self):
        return inventory.count(pathlib.Path(f"/proc/{self.cluster.processes()[f'{HOST}/winhost']}/fd"))

    def test_programs_that_come_and_go_leave_nothing(self):
        for program in self.programs:
            self.prepare(program)
        self.cycle(self.programs[0], "first")  # what is taken once and kept
        before, descriptors = inventory.settled(self.resources), self.descriptors()
        for number, program in zip(range(CYCLES), itertools.cycle(self.programs)):
            taken = self.cycle(program, f"cycle-{number}")
            self.assertGreater(taken["HNS endpoints"], before["HNS endpoints"])

        def as_before():
            self.assertEqual(inventory.difference(before, self.resources()), {})
            self.assertLess(self.descriptors(), descriptors + 16)
            return True
        self.eventually(as_before, 60, "what was taken is given back")

    def cycle(self, program, name):
        """A pod from its creation until it is gone; what the host had while it was ready."""
        template = self.template(program)
        template["spec"]["containers"][0]["readinessProbe"].update(periodSeconds=1, timeoutSeconds=PROBE_SECONDS)
        self.apply({"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "name": name}})
        found = self.wait_ready(name, 120)
        self.assertEqual(condition(found, "ContainersReady"), "True")
        taken = self.resources()
        self.kubectl("delete", "pod", name, "--timeout=60s", seconds=70)
        return taken
