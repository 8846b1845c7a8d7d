"""What an emulated Windows node costs: time until it is ready, time until a pod is, memory of its parts."""

import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402
import windows_pods  # noqa: E402
import windows_services  # noqa: E402
from emulated_host import control_groups, memory, name_of, processes_below  # noqa: E402

PODS = 10
IMAGE = "registry.porthole.internal/web:2"
OWN = {"services.exe", "winedevice.exe", "host.exe", "pipes.exe", "launch.exe", "conhost.exe"}  # the emulation's; the rest are the node's


class WindowsNodeBench:
    def __init__(self, table):
        self.table = table
        self.cluster = harness.Cluster("linux=1,windows=1")

    def run(self):
        try:
            self.cluster.start()  # builds the Wine template, imports images
            self.cluster.down()
            self.measure_start()
            host, own, programs = self.measure_host()
            self.table.row("emulated host without its .exe files: private memory", f"{own / 1e6:.1f} MB", "15 MB", "")
            self.table.row("  with its share of Wine's files (PSS)", f"{host / 1e6:.1f} MB", "", "")
            for name, size in programs.items():
                self.table.row(f"  {name} under Wine (PSS)", f"{size / 1e6:.1f} MB", "", "")
            self.measure_pods()
            windows_pods.WindowsPodsBench(self.table, self.cluster).run()
            windows_services.WindowsServicesBench(self.table, self.cluster).run()
        finally:
            self.cluster.stop()

    def measure_start(self):
        started = time.monotonic()
        self.cluster.up()
        self.table.row("up with a Windows node → ready", f"{time.monotonic() - started:.1f} s", "60 s", "")

    def measure_host(self):
        parts = [memory(pid) for name, pid in self.cluster.processes().items() if name.startswith("windows-1/")]
        programs = {}
        for pid in processes_below(control_groups(self.cluster)[0]):
            name = name_of(pid)
            if name.endswith(".exe") and name not in OWN:
                programs[name] = programs.get(name, 0) + memory(pid)["Pss"]
            else:
                parts.append(memory(pid))
        return sum(part["Pss"] for part in parts), sum(part["Pss_Anon"] for part in parts), programs

    def pod(self, number):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"web-{number}"},
                "spec": {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"},
                         "containers": [{"name": "web", "image": IMAGE, "readinessProbe": {
                             "httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}}]}}

    def apply(self, pods):
        self.cluster.kubectl(harness.NEWEST_CLIENT, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))

    def ready_pods(self):
        text = self.cluster.kubectl(harness.NEWEST_CLIENT, "get", "pods", "-o", "json").stdout
        conditions = [pod["status"].get("conditions", []) for pod in json.loads(text)["items"]]
        return sum(any(one["type"] == "Ready" and one["status"] == "True" for one in each) for each in conditions)

    def measure_pods(self):
        started = time.monotonic()
        self.apply([self.pod(0)])
        harness.eventually(lambda: self.ready_pods() == 1, 60, "the first pod", interval=0.05)
        self.table.row("Windows pod created → ready (image present)", f"{time.monotonic() - started:.1f} s", "", "")
        started = time.monotonic()
        self.apply([self.pod(number) for number in range(1, PODS)])
        harness.eventually(lambda: self.ready_pods() == PODS, 120, "all pods", interval=0.1)
        self.table.row(f"{PODS - 1} more at once → all ready", f"{time.monotonic() - started:.1f} s", "", "")
        total = sum(memory(pid)["Pss"] for pid in processes_below(control_groups(self.cluster)[1]))
        self.table.row(f"memory of a Windows pod, of {PODS} alike (PSS)", f"{total / PODS / 1e6:.1f} MB", "", "")
