"""Three servers on three members of etcd, a node that knows them all, and clients of all of them that follow logs, run commands, watch, wait for
a rollout and write."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from harness import CLIENTS, PATIENCE, PORTHOLE, ROOT, Network, condition, eventually, run
from joined_node import JoinedNode
from manifests import container, deployment, pod

sys.path.insert(0, str(ROOT / "tests/faults"))
from machines import HUB, Machines, connect  # noqa: E402

NODE, NODE_ADDRESS = "extra", "10.89.78.20"
TALK = "trap 'exit 0' TERM; while :; do echo line; sleep 0.2; done"
CHANGED = 5  # seconds until clients of a lost server are answered by another one
STALLED = 3  # seconds for which streams of the others may be without a line: an election of etcd takes so long
BUSY = 2  # by how much a busy machine stretches these two; where servers do not notice what is lost, streams stand still for 7 or 8 seconds
FIRST_POD = 120  # seconds; its images are unpacked


class Stream:
    """A program that goes on printing lines, and when each came. With `echoes`, it is sent lines to print."""

    def __init__(self, words, environment, echoes=False):
        self.lines, self.ended_at = [], None
        self.process = subprocess.Popen([str(word) for word in words], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.PIPE if echoes else subprocess.DEVNULL)
        self.threads = [threading.Thread(target=work) for work in [self.read, *([self.send] if echoes else [])]]
        for thread in self.threads:
            thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip("\n")))
        self.process.wait()
        self.ended_at = time.monotonic()

    def send(self):
        try:
            while self.process.poll() is None:
                self.process.stdin.write("line\n")
                self.process.stdin.flush()
                time.sleep(0.2)
        except OSError:
            pass

    def texts(self, begin=""):
        return [text for _, text in list(self.lines) if text.startswith(begin)]

    def longest_gap(self, since, begin=""):
        """Seconds without such a line."""
        times = [since, *(at for at, text in list(self.lines) if at > since and text.startswith(begin)), time.monotonic()]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    def end(self):
        self.process.kill()
        for thread in self.threads:
            thread.join(60)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    pass


class Way:
    """How clients come to the cluster: to one server, or by the balancer of the node."""

    def __init__(self, name, network, url, kubeconfig, folder):
        self.name, self.network = name, network
        text = kubeconfig.read_text()
        own = next(line for line in text.splitlines() if line.strip().startswith("server:"))
        self.kubeconfig = folder / f"{name}.kubeconfig"
        self.kubeconfig.write_text(text.replace(own, own.split("server:")[0] + "server: " + url))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(self.kubeconfig), "LANG": "C.UTF-8"}

    def words(self, *words):
        return self.network.inside([str(CLIENTS["new"]), *map(str, words)])

    def kubectl(self, *words, check=True, **options):
        return run(self.words(*words), env=self.environment, check=check, **options)

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)


class Clients:
    """Of one way."""

    READY = '{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}'

    def __init__(self, way, prefix):
        kubectl = lambda *words, **options: Stream(way.words(*words), way.environment, **options)
        self.way = way
        self.streams = {"logs -f": kubectl("logs", "-f", "--tail=1", "talker"), "exec": kubectl("exec", "-i", "talker", "--", "cat", echoes=True),
                        "get -w": kubectl("get", "configmaps", "-w", "-o", "name")}
        self.nodes = kubectl("get", "nodes", "-w", "-o", f"jsonpath={self.READY}")
        script = pathlib.Path(__file__).with_name("acknowledged_writes.py")
        self.writer = Stream(way.network.inside([sys.executable, str(script), str(way.kubeconfig), prefix]), way.environment)
        self.rollout = None

    def follow_rollout(self):
        self.rollout = Stream(self.way.words("rollout", "status", "deployment/rolled", f"--timeout={120 * PATIENCE}s"), self.way.environment)

    def flow(self):
        """Everything has printed something lately."""
        for name, stream in [*self.streams.items(), ("writes", self.writer)]:
            assert len(stream.texts()) > 3, f"{name} through {self.way.name}: {stream.texts()}"
        return True

    def acknowledged(self):
        return {text.split()[1] for text in self.writer.texts("acknowledged ")}

    def end(self):
        for stream in [*self.streams.values(), self.nodes, self.writer, self.rollout]:
            if stream:
                stream.end()


class ThreeServersCase(unittest.TestCase):
    """The tests of a subclass begin with all of it running."""

    porthole = PORTHOLE  # of servers and node, at the beginning

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.machines = Machines(self.folder, small_disks=False, porthole=self.porthole)
        self.addCleanup(self.machines.end)
        self.machines.start()
        self.start_node()
        hub, folder = self.machines.hub, self.folder
        kubeconfig = self.machines.all[0].kubeconfig
        self.direct = {machine.name: Way(machine.name, hub, self.url(machine), kubeconfig, folder) for machine in self.machines.all}
        self.balanced = Way("the node's balancer", self.node.network, "https://127.0.0.1:6444", kubeconfig, folder)
        self.wait_for_node()
        self.create_pods()

    def url(self, machine):
        return f"https://{machine.address}:6443"

    def start_node(self):
        network = Network(f"{self.machines.hub.name}-n")
        self.addCleanup(network.delete)
        connect(network, self.machines.hub, "n", NODE_ADDRESS)
        run(["ip", "-n", network.name, "route", "add", "default", "via", HUB])  # looked up for a service's address before it is rewritten
        import make
        make.make(self.folder / "images")
        self.node = JoinedNode(NODE, network, self.folder / "node", self.porthole)
        self.addCleanup(self.node.stop)
        self.node.start_containerd()
        run(self.node.ctr("images", "import", self.folder / "images/busybox.docker.tar"))
        first = self.machines.all[0]
        self.node.join([self.url(machine) for machine in self.machines.all], first.network, first.folder / "data")

    def wait_for_node(self):
        ready = lambda: condition(self.direct["a"].get("node", NODE), "Ready") == "True"
        try:
            eventually(ready, 90, "the node is Ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.node.log_end()}") from None
        eventually(lambda: all(state.startswith("ready") for state in self.node.known_servers().values()), 60, "all servers are ready")

    def create_pods(self):
        way = self.direct["a"]
        eventually(lambda: way.kubectl("get", "serviceaccount", "default"), 60, "the namespace default")
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        for created in (pod("talker", container(script=TALK)), deployment("rolled", 3, strategy=strategy)):
            way.kubectl("create", "-f", "-", stdin=json.dumps(created))
        way.kubectl("wait", "--for=condition=Ready", "pod/talker", f"--timeout={FIRST_POD * PATIENCE}s", seconds=FIRST_POD)
        way.kubectl("rollout", "status", "deployment/rolled", f"--timeout={FIRST_POD * PATIENCE}s", seconds=FIRST_POD)

    # --- clients

    def used_by_the_node(self):
        url = eventually(self.node.in_use, CHANGED, "a server is in use")
        return next(machine for machine in self.machines.all if self.url(machine) == url)

    def is_ready(self, machine):
        return self.direct[machine.name].kubectl("get", "--raw", "/readyz", check=False).returncode == 0

    def clients(self, ways, round_name):
        clients = [Clients(way, f"{round_name}-{number}") for number, way in enumerate(ways)]
        for one in clients:
            self.addCleanup(one.end)
        for one in clients:
            eventually(one.flow, 60, f"clients through {one.way.name}")
        return clients

    def roll(self, way, round_name):
        patch = {"spec": {"template": {"metadata": {"annotations": {"round": round_name}}}}}
        way.kubectl("patch", "deployment", "rolled", "-p", json.dumps(patch))

    def streams_go_on(self, through_others, begin):
        gaps = {}
        for one in through_others:
            for name, stream in one.streams.items():
                gaps[f"{name} through {one.way.name}"] = stream.longest_gap(begin)
                self.assertIsNone(stream.process.poll(), f"{name} through {one.way.name}: {stream.texts()[-3:]}")
            gaps[f"writes through {one.way.name}"] = one.writer.longest_gap(begin, "acknowledged ")
        print("  longest gaps: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in gaps.items()), flush=True)
        for name, seconds in gaps.items():
            self.assertLess(seconds, STALLED * BUSY, name)

    def nothing_is_lost(self, clients, others):
        """What was acknowledged is there, and the node was ready all the time."""
        promised = set().union(*(one.acknowledged() for one in clients))
        for way in others:
            found = {item["metadata"]["name"] for item in way.get("configmaps", "-l", "acknowledged=yes")["items"]}
            self.assertEqual(promised - found, set(), f"acknowledged, and not found through {way.name}")
        for one in clients:
            self.assertEqual([text for text in one.nodes.texts(NODE + " ") if text != NODE + " True"], [], f"through {one.way.name}")
        print(f"  {len(promised)} acknowledged writes are there", flush=True)
