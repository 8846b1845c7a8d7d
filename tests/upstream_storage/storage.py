#!/usr/bin/env python3
"""Upstream's storage tests against clusters of Porthole's: storage.py [FOCUS] --programs FOLDER --registry FOLDER --results FILE.xml --logs FOLDER.

Of `[sig-storage]` all that left_out.txt does not name, kind by kind, where FOCUS is a regular expression on names. Drivers of the container storage
interface are deployed with one folder of the kubelet's for all nodes, so their tests have a cluster of one node, the others of three. Ends with 1
when a test of must_pass.txt did not pass. ../conformance/conformance.py has what runs a test.
"""

import argparse
import fcntl
import functools
import json
import pathlib
import re
import shutil
import string
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import conformance  # noqa: E402
import harness  # noqa: E402

MOUNT = pathlib.Path("/srv")  # of a cluster's folder
DRIVER_DATA = pathlib.Path("/var/lib/csi-hostpath-data")  # by the manifest of the hostpath driver
SNAPSHOT_CONTROLLER = "registry.k8s.io/sig-storage/snapshot-controller:v8.5.0"  # of images.py
GOAL = 0.95
# Each test is of the first kind whose expression its name matches.
KINDS = {
    "emptyDir": r"\[Driver: emptydir\]|EmptyDir ",
    "projected": r"\] Projected ",
    "hostPath": r"\[Driver: hostPath(Symlink)?\]|HostPath",
    "local": r"\[Driver: local\]|PersistentVolumes-local|PersistentVolumes-expansion",
    "CSI mock": r"CSI Mock|MutableCSINodeAllocatableCount",
    "CSI hostpath": r"\[Driver: csi-hostpath\]",
    "others": "",
}
WITH_DRIVERS = ("CSI mock", "CSI hostpath")


def take_place():
    """Of a cluster's data, with a lock on it: what the cluster is called on the machine comes from this path, so no two may have the same."""
    for letter in string.ascii_lowercase:
        lock = pathlib.Path(f"/run/lock/porthole-upstream-storage-{letter}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return MOUNT / letter, lock
    sys.exit("storage.py: too many runs at once")


def kind(name):
    return next(each for each, expression in KINDS.items() if re.search(expression, name))


def volume_snapshot_controller():
    """With the name and port by which the suite finds its metrics. snapshots/ has its account and rights."""
    name, labels = "volume-snapshot-controller", {"app": "volume-snapshot-controller"}
    container = {"name": name, "image": SNAPSHOT_CONTROLLER,
                 "args": ["--http-endpoint=:9102", "--feature-gates=CSIVolumeGroupSnapshot=true"]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {"serviceName": name, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"serviceAccountName": "snapshot-controller", "containers": [container]}}}}


class StorageCluster(conformance.LinuxCluster):
    """With data in a place whose path is as short as that of an ordinary kubelet: paths of sockets, which have names of tests in them, have
    107 bytes at most. Requires: a mount namespace of our own."""

    def __init__(self, registry, nodes, place):
        super().__init__(registry, nodes)
        harness.run(["mount", "--bind", self.folder, MOUNT])
        self.data = place

    def stop(self):
        left = super().stop()
        harness.run(["umount", "--lazy", MOUNT])
        shutil.rmtree(DRIVER_DATA, ignore_errors=True)
        return left


class ClusterWithDrivers(StorageCluster):
    """With what upstream's add-on for snapshots has: their kinds and their controller."""

    def start(self):
        super().start()
        kubectl = functools.partial(self.kubectl, harness.NEWEST_CLIENT)
        kubectl("apply", "--server-side", "-f", self.images / "snapshots")
        kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")
        kubectl("apply", "-f", "-", stdin=json.dumps(volume_snapshot_controller()))
        kubectl("rollout", "status", "-n", "kube-system", "statefulset/volume-snapshot-controller", "--timeout=120s", seconds=130)

    def environment(self):
        return {**super().environment(), "CSI_PROW_ENABLE_GROUP_SNAPSHOT": "true"}


def print_rates(tests):
    print(f"\n{'kind':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'rate':>8}")
    for name in [*KINDS, "all"]:
        outcomes = [test.outcome for test in tests if name in ("all", kind(test.name))]
        passed, failed = outcomes.count("passed"), outcomes.count("failed")
        if passed + failed:
            print(f"{name:<14}{passed:>8}{failed:>8}{outcomes.count('skipped'):>9}{passed / (passed + failed):>8.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("focus", nargs="?", default="")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="of the conformance tests")
    parser.add_argument("--registry", type=pathlib.Path, required=True, help="the folder with `snapshots` in which images.py made `registry`")
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--logs", type=pathlib.Path, required=True)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--limit", type=int, default=900, help="seconds for one test")
    parser.add_argument("--list", action="store_true", help="only print the names of what would be run")
    words = parser.parse_args()

    place, _lock = take_place()
    # Upstream's own default skips what needs a feature; left_out.txt says which of that cannot be had.
    options = ("--ginkgo.skip=^$", f"--kubelet-root-dir={place}/nodes/linux-1/kubelet")
    suite = conformance.Suite(words.programs.resolve(), words.logs.resolve(), options)
    unfit = conformance.reasons_to_leave_out(HERE / "left_out.txt")
    must_pass = set(conformance.lines_of(HERE / "must_pass.txt"))
    known = [test for test in suite.tests() if test.name.startswith("[sig-storage]")]
    unknown = must_pass - {test.name for test in known}
    unused = [expression for expression in unfit if not any(re.search(expression, test.name) for test in known)]
    tests = [test for test in known if not any(re.search(expression, test.name) for expression in unfit) and re.search(words.focus, test.name)]
    if unknown or unused or not tests:
        sys.exit(f"storage.py: no test is called or matches {next(iter([*unknown, *unused, words.focus]))}")
    if words.list:
        for test in tests:
            print(f"{kind(test.name)}: {test.name}")
        return
    results = conformance.Results("upstream-storage", words.results, len(tests), must_pass)
    left = []
    for nodes, make_cluster, drivers in ((3, StorageCluster, False), (1, ClusterWithDrivers, True)):
        chosen = [test for test in tests if (kind(test.name) in WITH_DRIVERS) == drivers]
        if chosen:
            suite.options = (*options, f"--num-nodes={nodes}")
            left += run_part(suite, make_cluster(words.registry.resolve(), f"linux={nodes}", place), chosen, results, words)
    results.print_table()
    print_rates(tests)
    missed = sorted(test.name for test in tests if test.name in must_pass and test.outcome != "passed")
    for line in [f"must pass: {name}" for name in missed] + [f"left behind: {line}" for line in left]:
        print(line)
    counted = [test for test in tests if test.outcome != "skipped"]
    sys.exit(1 if missed or sum(test.outcome == "passed" for test in counted) < GOAL * len(counted) else 0)


def run_part(suite, cluster, tests, results, words):
    """What the cluster left behind."""
    try:
        cluster.start()
        conformance.run_all(suite, cluster, tests, {}, results, words.at_once, words.limit)
    finally:
        left = cluster.stop()
    return left


if __name__ == "__main__":
    main()
