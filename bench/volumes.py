"""Volumes in numbers: claims of the default class until they are bound, pods that mount them, and what the agent keeps of it."""

import json
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402
import manifests  # noqa: E402

CLAIMS, PODS, ROUNDS = 1000, 100, 4
NODE, NAMESPACE = "linux-1", "volumes"
DRIVER = "bench.csi.test"
CSI_PODS = 10  # of as many claims each as the others
DRIVER_PROGRAM = harness.PORTHOLE.parents[1] / "tests/csi_driver"


def claim(number, **fields):
    """Of a size that lets all of them onto the disk of a small machine."""
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"claim-{number}", **fields.pop("metadata", {})},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}, **fields}}


def user(name, claims):
    mounts = [{"name": f"v{i}", "mountPath": f"/v{i}"} for i in range(len(claims))]
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": one}} for i, one in enumerate(claims)]
    fields = {"volumes": volumes} if volumes else {}
    return manifests.pod(name, manifests.container(script=manifests.SLEEP, volumeMounts=mounts), nodeName=NODE, **fields)


class MountWatch:
    """How a thread spends the time in which the mounts below a folder come: between the first and the last of `count`."""

    def __init__(self, pid, folder, count):
        self.pid, self.folder, self.count = pid, str(folder), count
        self.first = self.last = None
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            mounts = sum(self.folder in line and "/kubernetes.io~csi/" in line for line in pathlib.Path("/proc/mounts").read_text().splitlines())
            if mounts and not self.first:
                self.first = self.now()
            if mounts >= self.count:
                self.last = self.now()
                return
            time.sleep(0.01)

    def now(self):
        """Seconds: the time, and for how long the process's first thread has run and has waited for a processor."""
        ran, waited, _ = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text().split()
        return time.monotonic(), int(ran) / 1e9, int(waited) / 1e9

    def text(self):
        self.thread.join()
        whole, ran, waited = (end - begin for begin, end in zip(self.first, self.last))
        return f"{whole * 1e3:.0f} ms, in which the agent's loop ran for {ran / whole:.0%} and waited for a processor for {waited / whole:.0%}"


class VolumesBench:
    def __init__(self, table):
        self.table = table
        self.cluster = harness.Cluster("linux=1")

    def run(self):
        try:
            self.cluster.start()
            self.kubectl("create", "namespace", NAMESPACE)
            harness.eventually(lambda: "default" in self.kubectl("get", "serviceaccounts", "-o", "name"), 10)
            self.measure_claims()
            self.measure_pods()
            if DRIVER_PROGRAM.exists():
                self.measure_csi()
        finally:
            self.cluster.stop()

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(harness.NEWEST_CLIENT, "-n", NAMESPACE, *words, **options).stdout

    def create(self, resource, objects):
        """One after the other over one connection."""
        namespaced = resource in ("pods", "persistentvolumeclaims")
        path = f"/api/v1/namespaces/{NAMESPACE}/{resource}" if namespaced else f"/api/v1/{resource}"
        command = [sys.executable, str(pathlib.Path(__file__).with_name("create_objects.py")), str(self.cluster.kubeconfig)]
        harness.run(self.cluster.network.inside(command), seconds=300, stdin="".join(f"{path} {json.dumps(one)}\n" for one in objects))

    def wait(self, resource, field, value, count, seconds):
        path = f"/api/v1/namespaces/{NAMESPACE}/{resource}"
        shown = lambda: len(re.findall(f'"{field}": ?"{value}"', self.kubectl("get", "--raw", path)))
        harness.eventually(lambda: shown() == count, seconds, f"{count} {resource} are {value}", interval=0.5)

    def measure_claims(self):
        started = time.monotonic()
        place = {"annotations": {"volume.kubernetes.io/selected-node": NODE}}  # as the scheduler does
        self.create("persistentvolumeclaims", [claim(i, metadata=place) for i in range(CLAIMS)])
        self.wait("persistentvolumeclaims", "phase", "Bound", CLAIMS, 600)
        self.table.row(f"{CLAIMS:,} claims of the default class bound", f"{time.monotonic() - started:.1f} s", "60 s")

    def measure_pods(self):
        each = CLAIMS // PODS
        alone = self.run_pods([[] for _ in range(PODS)])
        self.end_pods()
        self.table.row(f"{PODS} pods without volumes of their own running", f"{alone:.1f} s", "")
        memory = []
        for number in range(ROUNDS):
            taken = self.run_pods([[f"claim-{pod * each + i}" for i in range(each)] for pod in range(PODS)])
            self.end_pods()
            memory.append(self.agent_memory())
            self.table.row(f"{PODS} pods with {each} claims each running, round {number + 1}", f"{taken:.1f} s", "")
            self.table.row("  a claim's share, more than without", f"{(taken - alone) / CLAIMS * 1e3:.0f} ms", "")
        mean = self.mean("storage_operation_duration_seconds", 'operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/local-volume"')
        self.table.row("  mount of a claim, side by side with others", f"{mean * 1e3:.0f} ms", "")
        self.table.row(f"agent after each {CLAIMS:,} mounts", " → ".join(f"{bytes_ / 1e6:.1f}" for bytes_ in memory) + " MB", "no growth")

    def run_pods(self, claims):
        started = time.monotonic()
        self.create("pods", [user(f"user-{number}", names) for number, names in enumerate(claims)])
        self.wait("pods", "phase", "Running", len(claims), 900)
        return time.monotonic() - started

    def end_pods(self):
        self.kubectl("delete", "pods", "--all", "--grace-period=1", "--timeout=600s", seconds=620)
        folder = self.cluster.data / "nodes" / NODE / "kubelet/pods"
        harness.eventually(lambda: not list(folder.iterdir()), 300, "nothing is left of the pods")

    def agent_memory(self):
        """Bytes of RSS, once what only the work needed is given back."""
        time.sleep(15)
        pid = self.cluster.processes()[f"{NODE}/agent"]
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024

    def total(self, family, labels):
        """(sum, count) of a histogram's series with these labels."""
        text = self.kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/metrics")
        part = lambda kind: sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                                if line.startswith(f"{family}_{kind}{{") and labels in line)
        return part("sum"), part("count")

    def mean(self, family, labels):
        seconds, count = self.total(family, labels)
        return seconds / count if count else 0

    def measure_csi(self):
        """What the kubelet adds to the time of a driver."""
        each = CLAIMS // PODS
        kubelet = self.cluster.data / "nodes" / NODE / "kubelet"
        words = {"name": DRIVER, "node": NODE, "endpoint": self.cluster.folder / "csi.sock", "capabilities": "1",
                 "registration": kubelet / "plugins_registry/bench.sock", "storage": self.cluster.folder / "csi"}
        driver = subprocess.Popen([str(DRIVER_PROGRAM), *(f"{name}={value}" for name, value in words.items())], stdin=subprocess.DEVNULL)
        try:
            harness.eventually(lambda: DRIVER in self.kubectl("get", "csinode", NODE, "-o", "yaml"), 30)
            made = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"attachRequired": False}}
            self.kubectl("apply", "-f", "-", stdin=json.dumps(made))
            self.table.row("mount of a CSI driver's claim, beyond the driver's own time:", "", "")
            self.create("persistentvolumes", [self.csi_volume(i) for i in range(CSI_PODS * each)])
            self.create("persistentvolumeclaims", [claim(f"csi-{i}", storageClassName="", volumeName=f"csi-{i}") for i in range(CSI_PODS * each)])
            self.wait("persistentvolumeclaims", "phase", "Bound", CLAIMS + CSI_PODS * each, 60)
            names = [f"claim-csi-{i}" for i in range(CSI_PODS * each)]
            self.measure_csi_mounts("  one after the other", [[[name]] for name in names[:CSI_PODS]], "50 ms")
            self.measure_csi_mounts(f"  {len(names)} at once", [[names[i:i + each] for i in range(0, len(names), each)]], "50 ms")
        finally:
            driver.terminate()
            driver.wait(10)

    def measure_csi_mounts(self, what, rounds, budget):
        """`rounds` of pods, each the claims of one."""
        before = self.csi_seconds()
        for pods in rounds:
            watch = MountWatch(self.cluster.processes()[f"{NODE}/agent"], self.cluster.data, sum(map(len, pods)))
            self.run_pods(pods)
            self.end_pods()
        whole, own, count = (now - then for now, then in zip(self.csi_seconds(), before))
        self.table.row(what, f"{(whole - own) / count * 1e3:.0f} ms", budget, f"driver {own / count * 1e3:.0f} ms")
        if count > len(rounds):
            self.table.row("    from the first to the last", watch.text())

    def csi_seconds(self):
        """(seconds of mounts of the driver's volumes, of the driver's calls in them, mounts)"""
        whole, count = self.total("storage_operation_duration_seconds", f'operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/csi:{DRIVER}"')
        own = sum(self.total("csi_operations_seconds", f'method_name="/csi.v1.Node/{method}"')[0] for method in ("NodeStageVolume", "NodePublishVolume"))
        return whole, own, count

    @staticmethod
    def csi_volume(number):
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"csi-{number}"},
                "spec": {"capacity": {"storage": "16Mi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
                         "csi": {"driver": DRIVER, "volumeHandle": f"handle-{number}"}}}
