"""Pods of a Windows node come and go: what they took of the host is given back, to the last rule."""

import os
import pathlib

import inventory
from manifests import service
from windows_probe_case import ProbeCase

HOST = "windows-1"
AT_ONCE = 4
# 200 pods with PORTHOLE_WINDOWS_CYCLES=50; that many have been seen to leave nothing.
ROUNDS = int(os.environ.get("PORTHOLE_WINDOWS_CYCLES", "2"))
PIPE = "\\\\.\\pipe\\containerd-containerd"


class Cycles(ProbeCase):
    def resources(self):
        return inventory.windows_host(self.cluster, HOST)

    def descriptors(self):
        return inventory.count(pathlib.Path(f"/proc/{self.cluster.processes()[f'{HOST}/winhost']}/fd"))

    def test_pods_that_come_and_go_leave_nothing(self):
        self.apply(service("cycle", {"app": "cycle"}, target=80))
        before, descriptors = inventory.settled(self.resources), self.descriptors()
        for _ in range(ROUNDS):
            pods = [self.probe(f"cycle-{number}", "wait", memory="128Mi", nodeName=HOST, labels={"app": "cycle"},
                               volumes=[{"name": "pipe", "hostPath": {"path": PIPE}}, {"name": "scratch", "emptyDir": {}}],
                               container_fields={"ports": [{"containerPort": 80, "hostPort": 4400 + number}],
                                                 "volumeMounts": [{"name": "pipe", "mountPath": PIPE}, {"name": "scratch", "mountPath": "C:/s"}]})
                    for number in range(AT_ONCE)]
            self.apply(*pods)
            for number in range(AT_ONCE):
                self.wait_ready(f"cycle-{number}", 120)
            self.assertGreater(self.resources()["HNS endpoints"], before["HNS endpoints"])
            self.kubectl("delete", "pods", "-l", "app=cycle", "--timeout=120s", seconds=130)
        def as_before():
            self.assertEqual(inventory.difference(before, self.resources()), {})
            self.assertLess(self.descriptors(), descriptors + 16)
            return True
        self.eventually(as_before, 60, "what was taken is given back")
