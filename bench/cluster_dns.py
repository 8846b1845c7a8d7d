"""Cluster DNS with many services under dnsperf, which runs on the same two processors; the peer is CoreDNS, on the same cluster in the same run."""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import harness  # noqa: E402

SERVICES = int(os.environ.get("PORTHOLE_BENCH_SERVICES", "10000"))
ENDPOINTS = 10  # of each
SECONDS = 5
ADDRESS, PEER_PORT, READY_PORT = "10.96.0.10", 11053, 11181
ZONE = "default.svc.cluster.local"
COREDNS = harness.TOOLS / "platforms/coredns/coredns"
# As kubeadm installs it, without what has nothing to do with these names.
COREFILE = """.:%d {
    bind 127.0.0.1
    errors
    ready 127.0.0.1:%d
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %s
        pods insecure
        ttl 30
    }
    cache 30
    loadbalance
}
"""


def objects():
    """(path, object): every other service is headless; a slice of ten endpoints for each."""
    for number in range(SERVICES):
        name = f"many-{number}"
        spec = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
        if number % 2:
            spec["clusterIP"] = "None"
        yield "/api/v1/namespaces/default/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        addresses = [f"10.{200 + place // 62500}.{place // 250 % 250}.{place % 250 + 1}" for place in range(number * ENDPOINTS, (number + 1) * ENDPOINTS)]
        yield "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]}


# Each file of queries spreads over the services, so that no answer is asked for again soon.
QUERIES = {
    "address of a service": [f"many-{number}.{ZONE} A" for number in range(0, SERVICES, 2)],
    "search list and name, A and AAAA":
        [line for number in range(0, SERVICES, 2) for line in (
            f"many-{number}.{ZONE}.{ZONE} A", f"many-{number}.{ZONE}.{ZONE} AAAA", f"many-{number}.{ZONE} A", f"many-{number}.{ZONE} AAAA")],
    "ten addresses of a headless service": [f"many-{number}.{ZONE} A" for number in range(1, SERVICES, 2)],
}


class DnsBench:
    def __init__(self, table):
        self.table = table
        self.cluster = harness.Cluster("linux=1")
        self.peer = None

    def run(self):
        try:
            self.cluster.up()
            self.create()
            self.start_peer()
            for what, lines in QUERIES.items():
                self.measure(what, lines)
        finally:
            if self.peer:
                self.peer.terminate()
                self.peer.wait(10)
            self.cluster.stop()

    def inside(self, *words, **options):
        return harness.run(self.cluster.network.inside([str(word) for word in words]), **options)

    def create(self):
        lines = "".join(f"{path} {json.dumps(made)}\n" for path, made in objects())
        self.inside(sys.executable, ROOT / "bench/create_objects.py", self.cluster.kubeconfig, stdin=lines, seconds=600)
        harness.eventually(lambda: self.knows(ADDRESS, 53), 60, "the last service is known")

    def knows(self, address, port):
        return "NOERROR" in self.perf(address, port, [f"many-{SERVICES - 1}.{ZONE} A"], "-n", "1", "-t", "1")

    def start_peer(self):
        if not COREDNS.exists():
            return
        corefile = self.cluster.folder / "Corefile"
        corefile.write_text(COREFILE % (PEER_PORT, READY_PORT, self.cluster.kubeconfig))
        self.peer = subprocess.Popen(self.cluster.network.inside([str(COREDNS), "-conf", str(corefile)]), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=open(self.cluster.folder / "coredns.log", "w"))
        harness.eventually(lambda: self.knows("127.0.0.1", PEER_PORT), 60, "CoreDNS knows the last service")

    def perf(self, address, port, lines, *options):
        file = self.cluster.folder / "queries"
        file.write_text("".join(f"{line}\n" for line in lines))
        return self.inside("dnsperf", "-s", address, "-p", port, "-d", file, *options, seconds=60, check=False).stdout

    def rate(self, address, port, pid, lines):
        """Answers a second, and microseconds of processor time that the server took for each."""
        before = processor_seconds(pid)
        text = self.perf(address, port, lines, "-l", SECONDS, "-c", "8", "-q", "200")
        used = processor_seconds(pid) - before
        completed = int(re.search(r"Queries completed:\s+(\d+)", text).group(1))
        return float(re.search(r"Queries per second:\s+([\d.]+)", text).group(1)), used / completed * 1e6

    def measure(self, what, lines):
        ours, cost = self.rate(ADDRESS, 53, self.cluster.processes()["linux-1/agent"], lines)
        peer = "not built"
        if self.peer:
            theirs, their_cost = self.rate("127.0.0.1", PEER_PORT, self.peer.pid, lines)
            peer = f"CoreDNS {theirs:,.0f}/s, {their_cost:.1f} µs (× {ours / theirs:.2f})"
        self.table.row(f"DNS, {what}", f"{ours:,.0f}/s, {cost:.1f} µs", "100,000/s, 3 × CoreDNS", peer)


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
