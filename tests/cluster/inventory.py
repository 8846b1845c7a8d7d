"""What a cluster has taken of the machine and of its own store, as counts: two of them tell what was not given back."""

import json
import os
import pathlib
import re

from harness import NEWEST_CLIENT, control_groups, eventually, processes_naming, run

CGROUPS = pathlib.Path("/sys/fs/cgroup")
STORED = re.compile(r'^apiserver_storage_objects\{resource="([^"]+)"\} (\d+)', re.MULTILINE)
# By time, whatever a test does; a kubelet that starts anew asks for a certificate, and requests are deleted after an hour.
COMES_AND_GOES = {"events", "leases.coordination.k8s.io", "certificatesigningrequests.certificates.k8s.io"}


def count(folder, pattern="*"):
    return sum(1 for _ in folder.glob(pattern))


def windows_host(cluster, name):
    """Of an emulated Windows host."""
    host = cluster.data / "nodes" / name
    process = cluster.processes()[f"{name}/winhost"]
    inside = lambda *words: len(run(["nsenter", f"--net=/proc/{process}/ns/net", *words]).stdout.splitlines())
    own = os.readlink(f"/proc/{process}/ns/net")
    with_host = [path.parent for path in pathlib.Path("/proc").glob("[0-9]*/ns") if link_of(path / "net") == own]
    base = CGROUPS / "pids/porthole-winhost" if (CGROUPS / "pids").exists() else CGROUPS / "porthole-winhost"
    ours = next(path.name.removesuffix("-host") for path in base.glob(f"{name}-*-host") if is_of(path, with_host))
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


def in_containerd(address, what):
    """As containerd counts: the folder of a task or snapshot whose deletion was cut off stays until its next start or garbage collection."""
    return len(run(["ctr", "--address", address, "--namespace", "k8s.io", what, "list"]).stdout.splitlines()) - 1


def linux_node(cluster, name):
    """Of a Linux node, without what it shares with the cluster's others (see shared_network())."""
    node, run_folder = cluster.data / "nodes" / name, pathlib.Path("/run/porthole") / cluster.id / name
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return {
        "shims": sum(f"/{name}/containerd.sock" in words and "shim" in words for _, words in processes_naming([cluster.id])),
        "mounts": sum(f"{node}/" in line or f"{run_folder}/" in line for line in mounts),
        **{what: in_containerd(run_folder / "containerd.sock", what) for what in ("containers", "tasks", "snapshots")},
        "addresses": count(node / "ipam", "**/10.*"), "results of CNI": count(node / "cni", "**/*-eth0"),
        "folders of pods": count(node / "kubelet/pods"), "logs of pods": count(node / "pod-logs", "*/"),
    }


def shared_network(cluster):
    """Of the namespace that the control plane and all Linux nodes share."""
    inside = lambda *words: len(run(cluster.network.inside(list(words))).stdout.splitlines())
    return {"links": inside("ip", "-o", "link"), "routes": inside("ip", "route"), "rules": inside("nft", "-s", "list", "ruleset"),
            "cgroups": len(control_groups(f"porthole-{cluster.id}*"))}


def stored_objects(cluster):
    """Objects by resource."""
    metrics = cluster.kubectl(NEWEST_CLIENT, "get", "--raw", "/metrics").stdout
    return {f"stored {resource}": int(number) for resource, number in STORED.findall(metrics) if resource not in COMES_AND_GOES}


def everything(cluster):
    """Of every node, "name: what"."""
    counts = {**shared_network(cluster), **stored_objects(cluster)}
    for node in json.loads(cluster.kubectl(NEWEST_CLIENT, "get", "nodes", "-o", "json").stdout)["items"]:
        name, system = node["metadata"]["name"], node["metadata"]["labels"]["kubernetes.io/os"]
        of_node = windows_host if system == "windows" else linux_node
        counts.update({f"{name}: {what}": number for what, number in of_node(cluster, name).items()})
    return counts


def settled(take, seconds=60):
    """The counts once they have been the same for three seconds."""
    last = {}

    def calm():
        nonlocal last
        now = take()
        same, last = now == last, now
        return same
    eventually(calm, seconds, "nothing changes any more", interval=3)
    return last


def difference(before, after):
    """What differs: (before, after)."""
    return {key: (before.get(key, 0), after.get(key, 0)) for key in sorted({*before, *after}) if before.get(key, 0) != after.get(key, 0)}


def link_of(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def is_of(cgroup, processes):
    """Other clusters of the machine may have a host of that name, and may be ending."""
    try:
        return bool(set((cgroup / "cgroup.procs").read_text().split()) & {path.name for path in processes})
    except OSError:
        return False
