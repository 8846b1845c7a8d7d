"""Pods of a Windows node come and go: what they took of the host is given back, to the last rule."""

import os
import pathlib

from harness import eventually, run
from manifests import service
from test_windows_pods import ProbeCase

HOST = "windows-1"
AT_ONCE = 4
# 200 pods with PORTHOLE_WINDOWS_CYCLES=50; that many have been seen to leave nothing.
ROUNDS = int(os.environ.get("PORTHOLE_WINDOWS_CYCLES", "2"))
CGROUPS = pathlib.Path("/sys/fs/cgroup")
PIPE = "\\\\.\\pipe\\containerd-containerd"


def count(folder, pattern="*"):
    return sum(1 for _ in folder.glob(pattern))


class Cycles(ProbeCase):
    def resources(self):
        """How much there is of everything that a pod takes."""
        host = self.cluster.data / "nodes" / HOST
        process = self.cluster.processes()[f"{HOST}/winhost"]
        inside = lambda *words: len(run(["nsenter", f"--net=/proc/{process}/ns/net", *words]).stdout.splitlines())
        own = os.readlink(f"/proc/{process}/ns/net")
        with_host = [path.parent for path in pathlib.Path("/proc").glob("[0-9]*/ns") if link_of(path / "net") == own]
        base = CGROUPS / "pids/porthole-winhost" if (CGROUPS / "pids").exists() else CGROUPS / "porthole-winhost"
        ours = next(path.name.removesuffix("-host") for path in base.glob(f"{HOST}-*-host") if is_of(path, with_host))
        return {
            "processes in the host's namespace": len(with_host),
            "links": inside("ip", "-o", "link"), "routes": inside("ip", "route"), "neighbours": inside("ip", "neigh", "show", "nud", "permanent"),
            "rules": inside("nft", "-s", "list", "ruleset"),
            "mounts": sum(str(host) in line for line in pathlib.Path(f"/proc/{process}/mountinfo").read_text().splitlines()),
            "cgroups": count(base / ours, "*/"),
            "network namespaces": count(host / "n"), "sandboxes": count(host / "r/s"), "containers": count(host / "r/c"),
            "states of runc": count(host / "r/runc"), "results of CNI": count(host / "cni"),
            "addresses": count(host / "C/var/lib/cni/networks", "*/10.*"), "folders of pods": count(host / "C/var/lib/kubelet/pods"),
            **{f"HNS {kind}": count(host / "hns" / kind) for kind in ("endpoints", "namespaces", "load_balancers", "routes", "networks")},
        }

    def descriptors(self):
        return count(pathlib.Path(f"/proc/{self.cluster.processes()[f'{HOST}/winhost']}/fd"))

    def test_pods_that_come_and_go_leave_nothing(self):
        self.apply(service("cycle", {"app": "cycle"}, target=80))
        before, descriptors = self.settled(), self.descriptors()
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
            self.assertEqual(difference(before, self.resources()), {})
            return True
        self.eventually(as_before, 60, "what was taken is given back")
        self.assertLess(self.descriptors(), descriptors + 16)

    def settled(self):
        """Once kube-proxy has done with the new service."""
        last = {}
        def calm():
            nonlocal last
            now = self.resources()
            same, last = now == last, now
            return same
        eventually(calm, 60, "nothing changes any more", interval=3)
        return last


def link_of(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def is_of(cgroup, processes):
    """Other clusters of the machine may have a host of that name."""
    return bool(set((cgroup / "cgroup.procs").read_text().split()) & {path.name for path in processes})


def difference(before, after):
    return {key: (before[key], after[key]) for key in before if before[key] != after[key]}
