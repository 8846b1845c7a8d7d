#!/usr/bin/env python3
"""Measures what the design calls budgets and prints one table: bench.py [NAME...].

Every row stands beside its budget and, where there is a fair one, a peer measured in the same run on the same machine:
nginx serving the same bytes as a static file, etcd storing values of the same size. Runs inside a network namespace
without an uplink. Nothing here fails a build: machines differ, and a figure is for reading.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))
import cluster_dns  # noqa: E402
import extension  # noqa: E402
import fan_out  # noqa: E402
import fleet  # noqa: E402
import floods  # noqa: E402
import harness  # noqa: E402
import hostile  # noqa: E402
import instructions  # noqa: E402
import manifests  # noqa: E402
import scheduling  # noqa: E402
import upstream_server  # noqa: E402
import volumes  # noqa: E402
import windows_node  # noqa: E402
import windows_pods  # noqa: E402
import windows_services  # noqa: E402

IN_FLIGHT = 64
CONNECTIONS = 4
SECONDS = 5
OBJECT_BYTES = 2000
REST = 15  # seconds after which a process has given back what only its work needed


class Table:
    """Prints each row as soon as it is known."""

    WIDTHS = (58, 18, 22, 26)

    def __init__(self):
        self.row("what", "measured", "budget", "peer in this run")
        print("-" * sum(self.WIDTHS))

    def row(self, *cells):
        print("".join((str(cell) + " ").ljust(width) for cell, width in zip(cells, self.WIDTHS)).rstrip(), flush=True)


def rate(number):
    return f"{number:,.0f}/s"


def megabytes(number):
    return f"{number / 1e6:.1f} MB"


def milliseconds(seconds):
    return f"{seconds * 1e3:.0f} ms"


def resident(pid):
    """Bytes of RSS."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024


class Load:
    """h2load inside the cluster's network namespace."""

    def __init__(self, cluster):
        self.cluster = cluster

    def run(self, url, *options, in_flight=IN_FLIGHT, connections=CONNECTIONS, seconds=SECONDS):
        """(requests a second, mean seconds of a request). Raises when an answer was not 2xx: then it measured nothing."""
        command = ["h2load", "-D", str(seconds), "--warm-up-time=1", "-c", str(connections), "-m", str(in_flight // connections),
                   *options, url]
        text = harness.run(self.cluster.network.inside(command), seconds=60).stdout
        codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
        if not codes or int(codes.group(1)) == 0 or any(int(codes.group(n)) for n in (2, 3, 4)):
            raise AssertionError(f"h2load {url}: {text}")
        requests = float(re.search(r"finished in [\d.]+\w+, ([\d.]+) req/s", text).group(1))
        return requests, in_flight / requests


class Bench:
    def __init__(self, table):
        self.table = table
        self.cluster = harness.Cluster("linux=1")
        self.load = Load(self.cluster)
        self.peers = []
        self.token = ""

    # --- the cluster

    def measure_start(self):
        import make
        make.make(self.cluster.images)
        started = time.monotonic()
        self.cluster.up()
        up = time.monotonic() - started
        self.cluster.porthole("image", "load", self.cluster.images / "busybox.docker.tar")
        self.cluster.down()

        # A second start, with images and certificates present: what people see every day.
        started = time.monotonic()
        starting = subprocess.Popen(self.cluster.network.inside([str(harness.PORTHOLE), "up", "--nodes", "linux=1", "--data",
            str(self.cluster.data), "--kubeconfig", str(self.cluster.kubeconfig), "--detach"]), env=self.cluster.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        api = self.until(started, lambda: self.raw("GET", "/readyz").get("text") == "ok")
        starting.wait(60)
        ready = time.monotonic() - started
        pod_started = time.monotonic()
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifests.pod("first")))
        pod = self.until(pod_started, lambda: self.kubectl("get", "pod", "first", "-o", "jsonpath={.status.phase}") == "Running")
        dns = self.until(started, self.dns_answers)
        self.table.row("up (first start, images imported)", milliseconds(up), "", "")
        self.table.row("up → API ready", milliseconds(api), "500 ms", "")
        self.table.row("up → command returns, node ready", milliseconds(ready), "", "")
        self.table.row("pod created → running (image present)", milliseconds(pod), "3 s from up", "")
        self.table.row("up → DNS answers", milliseconds(dns), "4 s", "")

    def until(self, started, attempt, seconds=60):
        harness.eventually(attempt, seconds, interval=0.01)
        return time.monotonic() - started

    def dns_answers(self):
        words = [str(harness.TOOLS / "busybox"), "nslookup", "kubernetes.default.svc.cluster.local", "10.96.0.10"]
        return harness.run(self.cluster.network.inside(["timeout", "1", *words]), check=False).returncode == 0

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(harness.NEWEST_CLIENT, *words, **options).stdout

    def raw(self, method, path, body="", token=None):
        words = ["--token", token] if token is not None else []
        return json.loads(harness.raw_request(self.cluster.network, self.cluster.kubeconfig, method, path, *words, body=body, check=False) or "{}")

    def sign_in(self):
        """h2load cannot show a client certificate: a service account's token with all rights."""
        self.kubectl("create", "serviceaccount", "bench")
        self.kubectl("create", "clusterrolebinding", "bench", "--clusterrole=cluster-admin", "--serviceaccount=default:bench")
        self.token = self.raw("POST", "/api/v1/namespaces/default/serviceaccounts/bench/token",
                              '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}')["status"]["token"]
        self.server = re.search(r"server:\s*(\S+)", self.cluster.kubeconfig.read_text()).group(1)

    def headers(self, *more):
        return [word for header in (f"authorization: Bearer {self.token}", "accept: application/json", *more) for word in ("-H", header)]

    # --- memory and size

    def measure_size(self):
        stripped = self.cluster.folder / "stripped"
        shutil.copy(harness.PORTHOLE, stripped)
        subprocess.run(["strip", str(stripped)], check=True)
        self.table.row("program, stripped", megabytes(stripped.stat().st_size), "30 MB", "")

    def measure_memory(self, when):
        time.sleep(REST)
        processes = self.cluster.processes()
        budget = {"idle": "20 MB", "with 10,000 objects of 2 KB": "90 MB"}[when]
        self.table.row(f"server, {when}: RSS", megabytes(resident(processes["server"])), budget, "")
        if when == "idle":
            self.table.row("agent, idle: RSS", megabytes(resident(processes["linux-1/agent"])), "25 MB", "")

    # --- requests

    def measure_create(self):
        body = self.cluster.folder / "body.json"
        body.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "bench-"},
                                    "data": {"text": "x" * (OBJECT_BYTES - 300)}}))
        url = f"{self.server}/api/v1/namespaces/default/configmaps"
        words = self.headers("content-type: application/json") + ["-d", str(body)]
        ours, _ = self.load.run(url, *words)
        etcd = self.etcd_puts(OBJECT_BYTES, IN_FLIGHT, CONNECTIONS)
        self.table.row(f"create, {IN_FLIGHT} in flight, 2 KB, fsync before answer", rate(ours), "15,000/s", f"etcd {rate(etcd)}")
        _, one = self.load.run(url, *words, in_flight=1, connections=1)
        etcd = self.etcd_puts(OBJECT_BYTES, 1, 1)
        self.table.row("create, one at a time", f"{one * 1e3:.2f} ms", "1 fsync + 0.2 ms", f"etcd {1e3 / etcd:.2f} ms")

    def etcd_puts(self, size, in_flight, connections):
        """Puts of the same size through etcd's JSON gateway, the only interface a load generator for HTTP can speak."""
        body = self.cluster.folder / "put.json"
        body.write_text(json.dumps({"key": base64.b64encode(b"/bench/one").decode(), "value": base64.b64encode(b"x" * size).decode()}))
        requests, _ = self.load.run("http://127.0.0.1:12379/v3/kv/put", "--h1", "-H", "content-type: application/json", "-d", str(body),
                                    in_flight=in_flight, connections=in_flight)
        return requests

    def measure_reads(self):
        one = self.raw("GET", "/api/v1/namespaces/kube-system", token=self.token)
        ours, _ = self.load.run(f"{self.server}/api/v1/namespaces/kube-system", *self.headers())
        peer = self.nginx_rate("one.json", json.dumps(one))
        self.table.row(f"get, {IN_FLIGHT} in flight, TLS, HTTP/2", rate(ours), "0.7 × nginx", f"nginx {rate(peer)} (× {ours / peer:.2f})")

    def measure_lists(self):
        pods = {"apiVersion": "v1", "kind": "List", "items": [unscheduled_pod(number) for number in range(5000)]}
        self.kubectl("create", "namespace", "list")
        self.kubectl("create", "-n", "list", "-f", "-", stdin=json.dumps(pods), seconds=600)
        path = "/api/v1/namespaces/list/pods"
        whole = self.raw("GET", path, token=self.token)
        ours, _ = self.load.run(self.server + path, *self.headers(), in_flight=8, connections=4)
        peer = self.nginx_rate("list.json", json.dumps(whole), in_flight=8)
        size = len(json.dumps(whole))
        self.table.row(f"list of 5,000 pods, {megabytes(size)}", f"{ours:.1f}/s", "0.9 × nginx", f"nginx {peer:.1f}/s (× {ours / peer:.2f})")

    def fill(self):
        items = [manifests.config_map(f"fill-{number}", text="x" * (OBJECT_BYTES - 300)) for number in range(5000)]
        self.kubectl("create", "namespace", "fill")
        self.kubectl("create", "-n", "fill", "-f", "-", stdin=harness.as_list(items), seconds=600)

    # --- peers

    def start_peers(self):
        folder = self.cluster.folder / "peers"
        folder.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=nginx", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
                       check=True, capture_output=True)
        (folder / "nginx.conf").write_text(f"""
user root; daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; default_type application/json; sendfile on; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  open_file_cache max=10; http2_max_requests 100000000; keepalive_requests 100000000;
  server {{ listen 127.0.0.1:18443 ssl http2; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; root {folder}; }}
}}""")
        self.peers.append(self.background([harness.TOOLS / "nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf", "-p", folder]))
        self.peers.append(self.background([harness.TOOLS / "etcd", "--data-dir", folder / "etcd", "--listen-client-urls", "http://127.0.0.1:12379",
                                           "--advertise-client-urls", "http://127.0.0.1:12379", "--listen-peer-urls", "http://127.0.0.1:12380",
                                           "--log-level", "error"]))
        self.www = folder
        time.sleep(2)

    def background(self, words, stdout=subprocess.DEVNULL, **options):
        return subprocess.Popen(self.cluster.network.inside([str(word) for word in words]), stdin=subprocess.DEVNULL,
                                stdout=stdout, stderr=subprocess.DEVNULL, **options)

    def nginx_rate(self, name, content, in_flight=IN_FLIGHT):
        (self.www / name).write_text(content)
        return self.load.run(f"https://127.0.0.1:18443/{name}", in_flight=in_flight)[0]

    def stop(self):
        for peer in self.peers:
            peer.terminate()
            peer.wait(10)
        left = self.cluster.stop()
        if left:
            print("left behind:", *left, sep="\n  ")


def unscheduled_pod(number):
    """A pod that no scheduler takes: the list is measured, not the cluster."""
    found = manifests.pod(f"pod-{number}")
    found["spec"]["schedulerName"] = "nobody"
    return found


def run_cluster_bench():
    bench = Bench(Table())
    try:
        bench.measure_size()
        bench.measure_start()
        bench.measure_memory("idle")
        bench.sign_in()
        bench.start_peers()
        bench.measure_reads()
        bench.measure_lists()
        bench.fill()
        bench.measure_memory("with 10,000 objects of 2 KB")
        bench.measure_create()
        hostile.measure_quiet_client(bench)
        fan_out.measure_fan_out(bench)
    finally:
        bench.stop()
    scheduling.SchedulingBench(bench.table).run()


def run_floods_bench():
    """bench/floods.py for a minute, as an attacker would who reaches the server's port."""
    table, cluster = Table(), harness.Cluster("linux=1")
    try:
        cluster.start()
        words = [sys.executable, str(ROOT / "bench/floods.py"), "--data", str(cluster.data), "--json", "--kubectl", str(harness.CLIENTS["new"])]
        done = harness.run(cluster.network.inside(words), seconds=400, check=False, env=cluster.environment())
        if not done.stdout.startswith("{"):
            raise AssertionError(done.stderr)
        floods.print_rows(table, json.loads(done.stdout))
    finally:
        cluster.stop()


def run_extension_bench():
    bench = Bench(Table())
    try:
        bench.cluster.up()
        bench.sign_in()
        extension.measure_webhook(bench)
        extension.measure_many(bench, resident)
    finally:
        bench.stop()


def end(number, _):
    """So that what was started ends, too; once."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    arguments = argparse.ArgumentParser(description="prints what was measured beside the budgets")
    arguments.add_argument("names", nargs="*", help="cluster, dns, extension, floods, scale, scheduling, upstream, volumes, windows, windows-pods, windows-services, instructions, or the name of a benchmark program in build/release/bench")
    options = arguments.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench: starting a cluster on this machine needs root")
    signal.signal(signal.SIGTERM, end)
    programs = {path.name: path for path in sorted((ROOT / "build/release/bench").glob("*")) if os.access(path, os.X_OK) and path.is_file()}
    for name in options.names or ["cluster", "dns", "extension", "windows", *programs]:
        print(f"\n== {name}")
        if name == "cluster":
            run_cluster_bench()
        elif name == "dns":
            cluster_dns.DnsBench(Table()).run()
        elif name == "extension":
            run_extension_bench()
        elif name == "floods":
            run_floods_bench()
        elif name == "scale":
            fleet.FleetBench(Table()).run()
            scheduling.SchedulingBench(Table()).run()
        elif name == "scheduling":
            scheduling.SchedulingBench(Table()).run()
        elif name == "upstream":
            upstream_server.run(Table())
        elif name == "volumes":
            volumes.VolumesBench(Table()).run()
        elif name == "windows":
            windows_node.WindowsNodeBench(Table()).run()
        elif name == "windows-pods":
            windows_pods.run(Table())
        elif name == "windows-services":
            windows_services.run(Table())
        elif name == "instructions":
            instructions.run(Table())
        elif name in programs:
            subprocess.run([str(programs[name])], check=True)
        else:
            sys.exit(f"bench: there is no benchmark '{name}'; there are: {' '.join(['cluster', 'dns', 'extension', 'floods', 'scale', 'scheduling', 'upstream', 'volumes', 'windows', 'windows-pods', 'windows-services', 'instructions', *programs])}")


if __name__ == "__main__":
    main()
