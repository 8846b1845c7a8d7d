"""What many services cost kube-proxy.exe on an emulated Windows node: time until the host has them all, and processor time of each part."""

import ipaddress
import json
import os
import pathlib
import subprocess
import sys
import time

import emulated_host
import harness

ROOT = pathlib.Path(__file__).resolve().parents[1]
SERVICES, ENDPOINTS = 2000, 5000
CHANGES = 15
REST = 30  # seconds: three looks of the proxy
PROXY = "kube-proxy.exe"


def run(table):
    """With a cluster of its own."""
    cluster = harness.Cluster("linux=1,windows=1")
    try:
        cluster.start()
        WindowsServicesBench(table, cluster).run()
    finally:
        cluster.stop()


class WindowsServicesBench:
    """Requires: the cluster is up, with the node windows-1."""

    def __init__(self, table, cluster):
        self.table = table
        self.cluster = cluster
        self.node = cluster.data / "nodes/windows-1"

    def run(self):
        self.on_host("cmd", "/c", "net", "stop", "kube-proxy")
        self.create_services()
        before = len(self.kept("load_balancers")), len(self.kept("endpoints"))
        spent, waited = self.spent(), self.waited()
        started = time.monotonic()
        proxy = self.start_proxy()
        try:
            harness.eventually(lambda: self.is_programmed(before), 600, "all services are programmed", interval=0.05)
            seconds = time.monotonic() - started
            self.table.row(f"{PROXY}: {SERVICES:,} services, {ENDPOINTS:,} endpoints", f"{seconds:.1f} s", "10 s",
                           f"load {os.getloadavg()[0]:.1f}")
            self.table.row("  of it, the parts below had no processor, added up", f"{self.waited() - waited:.1f} s", "", "")
            self.report_parts(spent)
            self.report_changes()
            self.report_rest()
        finally:
            proxy.terminate()
            proxy.wait(30)

    # --- What is programmed

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

    def create_services(self):
        lines = "".join(f"{path} {json.dumps(made)}\n" for path, made in self.service_objects())
        creator = [sys.executable, ROOT / "bench/create_objects.py", self.cluster.kubeconfig]
        harness.run(self.cluster.network.inside(map(str, creator)), stdin=lines, seconds=300)
        # The Linux node's proxy has taken them too, before anything is measured.
        harness.eventually(self.is_quiet, 60, "the cluster has nothing to do", interval=0)

    def is_quiet(self):
        before = self.spent()
        time.sleep(1)
        return sum(self.spent().values()) - sum(before.values()) < 0.2

    # --- The host

    def on_host_command(self, *command):
        return self.cluster.network.inside([str(harness.PORTHOLE), "winhost", "exec", "--data", str(self.node), "--", *command])

    def on_host(self, *command):
        return harness.run(self.on_host_command(*command), env=self.cluster.environment(), seconds=120)

    def start_proxy(self):
        """As its service would, and with direct server return: without it each load balancer takes ports of the host, as on Windows."""
        command = self.on_host_command("C:\\k\\kube-proxy.exe", "--kubeconfig=C:\\k\\config", "--hostname-override=windows-1",
                                       "--network-name=cbr0", "--enable-dsr=true", "--logtostderr=true", "--healthz-bind-address=")
        with open(self.cluster.data / "logs/kube-proxy.log", "ab") as log:
            return subprocess.Popen(command, env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)

    def kept(self, kind):
        """Files of the objects that the host network service keeps."""
        return [entry.path for entry in os.scandir(self.node / "hns" / kind)]

    def is_programmed(self, before):
        return len(self.kept("load_balancers")) - before[0] >= SERVICES and len(self.kept("endpoints")) - before[1] >= ENDPOINTS

    # --- What it costs

    def on_host_pids(self, name):
        group = emulated_host.control_groups(self.cluster)[0]
        return [pid for pid in emulated_host.processes_below(group) if emulated_host.name_of(pid).startswith(name)]

    def spent(self):
        """Processor seconds so far, by part. The proxy's threads are apart: its own, and those that are in calls of computenetwork.dll."""
        seconds = {name: emulated_host.processor_seconds(f"/proc/{pid}/stat") for name, pid in self.cluster.processes().items()}
        seconds["wineserver"] = sum(emulated_host.processor_seconds(f"/proc/{pid}/stat") for pid in self.on_host_pids("wineserver"))
        for pid in self.on_host_pids(PROXY):
            threads = {int(task): emulated_host.processor_seconds(f"/proc/{pid}/task/{task}/stat") for task in os.listdir(f"/proc/{pid}/task")}
            seconds[PROXY] = threads.pop(pid, 0)
            seconds[f"{PROXY}, other threads"] = sum(threads.values())
        return seconds

    def waited(self):
        """Seconds so far that the parts were ready to run and had no processor: one mostly waits for another, so that they add up."""
        pids = [self.cluster.processes()["windows-1/winhost"], *self.on_host_pids("wineserver"), *self.on_host_pids(PROXY)]
        return sum(map(emulated_host.processor_wait_seconds, pids))

    def report_parts(self, before):
        for name, seconds in sorted(self.spent().items(), key=lambda part: -part[1] + before.get(part[0], 0)):
            if seconds - before.get(name, 0) >= 0.1:
                self.table.row(f"  processor time of {name}", f"{seconds - before.get(name, 0):.1f} s", "", "")
        size = sum(emulated_host.memory(pid)["Pss"] for pid in self.on_host_pids(PROXY))
        self.table.row(f"  memory of {PROXY} (PSS)", f"{size / 1e6:.1f} MB", "", "")

    def report_rest(self):
        """What the proxy's looks at the host, every ten seconds, cost all of them."""
        before = sum(self.spent().values())
        time.sleep(REST)
        rest = (sum(self.spent().values()) - before) / REST
        self.table.row("  at rest: processor time of the whole cluster", f"{rest:.1%}", "", "")

    def report_changes(self):
        taken = sorted(self.changes())
        self.table.row("  one endpoint changes → the load balancer has it", f"{taken[len(taken) // 2] * 1e3:.1f} ms", "",
                       f"{taken[0] * 1e3:.1f} to {taken[-1] * 1e3:.1f} ms")

    def changes(self):
        """Seconds that each of a few changes takes."""
        address = json.loads(self.cluster.kubectl(harness.NEWEST_CLIENT, "get", "service", "many-7", "-o", "json").stdout)["spec"]["clusterIP"]
        file = next(path for path in self.kept("load_balancers") if f'"{address}"' in pathlib.Path(path).read_text())
        lines = "".join(json.dumps(self.slice("many-7", [f"10.201.0.{change + 1}"])) + "\n" for change in range(CHANGES))
        words = [sys.executable, ROOT / "bench/timed_changes.py", self.cluster.kubeconfig,
                 "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/many-7", file]
        return json.loads(harness.run(self.cluster.network.inside(map(str, words)), stdin=lines, seconds=300).stdout)
