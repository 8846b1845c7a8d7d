"""What an emulated Windows node costs: time until it is ready, time until a pod is, memory of its parts."""

import contextlib
import ipaddress
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402

PODS = 10
SERVICES, ENDPOINTS = 2000, 5000
IMAGE = "registry.porthole.internal/web:1"
OWN = {"services.exe", "winedevice.exe", "host.exe", "pipes.exe", "launch.exe", "conhost.exe"}  # the emulation's; the rest are the node's
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def memory(pid):
    """Bytes of PSS, where shared pages count by their share, and of the part of it that is in no file."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {"Pss": 0, "Pss_Anon": 0}
    return {key: int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE).group(1)) * 1024 for key in ("Pss", "Pss_Anon")}


def processes_below(folder):
    return [int(pid) for file in folder.rglob("cgroup.procs") for pid in file.read_text().split()]


def text_of(file):
    """"" while the file is not there: older releases make a load balancer anew for every change."""
    with contextlib.suppress(FileNotFoundError):
        return file.read_text()
    return ""


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


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
            self.table.row("emulated host without its .exe files (PSS)", f"{host / 1e6:.1f} MB", "15 MB", "")
            self.table.row("  of it shared with nobody and in no file", f"{own / 1e6:.1f} MB", "", "")
            for name, size in programs.items():
                self.table.row(f"  {name} under Wine (PSS)", f"{size / 1e6:.1f} MB", "", "")
            self.measure_pods()
            self.measure_services()
        finally:
            self.cluster.stop()

    def measure_start(self):
        started = time.monotonic()
        self.cluster.up()
        self.table.row("up with a Windows node → ready", f"{time.monotonic() - started:.1f} s", "60 s", "")

    def roots(self):
        """The cgroups of the host's own container and of its pods; other clusters of the machine may have a host of that name."""
        base = CGROUPS / "memory" if (CGROUPS / "memory").exists() else CGROUPS
        network = lambda pid: os.readlink(f"/proc/{pid}/ns/net")
        own = network(self.cluster.processes()["windows-1/winhost"])
        for host in (base / "porthole-winhost").glob("windows-1-*-host"):
            if any(network(pid) == own for pid in processes_below(host)[:1]):
                return host, host.with_name(host.name.removesuffix("-host"))
        raise AssertionError("no host runs")

    def measure_host(self):
        parts = [memory(pid) for name, pid in self.cluster.processes().items() if name.startswith("windows-1/")]
        programs = {}
        for pid in processes_below(self.roots()[0]):
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
        total = sum(memory(pid)["Pss"] for pid in processes_below(self.roots()[1]))
        self.table.row(f"memory of a Windows pod, of {PODS} alike (PSS)", f"{total / PODS / 1e6:.1f} MB", "", "")

    # --- kube-proxy.exe with many services

    def service_objects(self):
        """(path, object) of services without a selector, and of the endpoints that they have on other nodes."""
        first = ipaddress.ip_address("10.200.0.1")
        addresses = [str(first + number) for number in range(ENDPOINTS)]
        for number in range(SERVICES):
            name = f"many-{number}"
            yield "/api/v1/namespaces/default/services", {
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80, "targetPort": 8080}]}}
            yield "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", self.slice(name, addresses[number::SERVICES])

    def slice(self, service, addresses):
        return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
                "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]}

    def on_host(self, *command):
        return harness.run(self.cluster.network.inside([harness.PORTHOLE, "winhost", "exec", "--data", self.host_folder(), "--", *command]),
                           env=self.cluster.environment(), seconds=120)

    def host_folder(self):
        return self.cluster.data / "nodes/windows-1"

    def start_proxy(self):
        """As its service would, and with direct server return: without it each load balancer takes ports of the host, as on Windows."""
        node = self.cluster.data / "nodes/windows-1"
        words = ["C:\\k\\kube-proxy.exe", "--kubeconfig=C:\\k\\config", "--hostname-override=windows-1", "--network-name=cbr0",
                 "--enable-dsr=true", "--logtostderr=true", "--healthz-bind-address="]
        command = self.cluster.network.inside([str(harness.PORTHOLE), "winhost", "exec", "--data", str(node), "--", *words])
        return subprocess.Popen(command, env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=open(self.cluster.data / "logs/kube-proxy.log", "ab"))

    def kept(self, kind):
        """Files of the objects that the host network service keeps."""
        return [entry.path for entry in os.scandir(self.host_folder() / "hns" / kind)]

    def measure_services(self):
        self.on_host("cmd", "/c", "net", "stop", "kube-proxy")
        lines = "".join(f"{path} {json.dumps(made)}\n" for path, made in self.service_objects())
        creator = [sys.executable, ROOT / "bench/create_objects.py", self.cluster.kubeconfig]
        harness.run(self.cluster.network.inside(map(str, creator)), stdin=lines, seconds=300)
        before = len(self.kept("load_balancers")), len(self.kept("endpoints"))
        started = time.monotonic()
        proxy = self.start_proxy()
        try:
            harness.eventually(lambda: self.is_programmed(before), 600, "all services are programmed", interval=0.2)
            self.table.row(f"kube-proxy.exe: {SERVICES} services, {ENDPOINTS} endpoints", f"{time.monotonic() - started:.1f} s", "", "")
            self.table.row("  one endpoint changes → the host's load balancer has it", f"{self.one_change() * 1e3:.0f} ms", "", "")
        finally:
            proxy.terminate()
            proxy.wait(30)

    def is_programmed(self, before):
        return len(self.kept("load_balancers")) - before[0] >= SERVICES and len(self.kept("endpoints")) - before[1] >= ENDPOINTS

    def one_change(self):
        """The median of a few changes, in seconds."""
        address = json.loads(self.cluster.kubectl(harness.NEWEST_CLIENT, "get", "service", "many-7", "-o", "json").stdout)["spec"]["clusterIP"]
        file = next(pathlib.Path(path) for path in self.kept("load_balancers") if f'"{address}"' in text_of(pathlib.Path(path)))
        taken = []
        for change in range(5):
            former = text_of(file)
            patch = json.dumps(self.slice("many-7", [f"10.201.0.{change + 1}"]))
            self.cluster.kubectl(harness.NEWEST_CLIENT, "replace", "-f", "-", stdin=patch)
            started = time.monotonic()  # the answer has come: the change is in the store
            harness.eventually(lambda: text_of(file) not in ("", former), 60, "the change", interval=0.005)
            taken.append(time.monotonic() - started)
        return sorted(taken)[len(taken) // 2]
