"""An older program next to the present one: servers and a node are replaced while pods run and clients watch and write. `./run test upgrade OLD`."""

import json
import os
import pathlib
import secrets
import signal
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))
from control_plane_case import ControlPlaneCase  # noqa: E402
from harness import PATIENCE, PORTHOLE, Network, condition, eventually, needs_newest_kubectl, run  # noqa: E402
from joined_node import JoinedNode  # noqa: E402
from manifests import container, pod  # noqa: E402
from three_servers_case import FIRST_POD, TALK, Clients, ThreeServersCase, Way  # noqa: E402

OLD = pathlib.Path(os.environ.get("PORTHOLE_OLD", "/nothing"))
SERVER, NODE_ADDRESS = "10.90.0.1", "10.90.0.20"
is_named = unittest.skipUnless(OLD.exists(), "no older program is named: ./run test upgrade OLD")


def containers(way):
    """What must not change while nobody touches pods: the containers that run, and how often they were started."""
    pods = [one for one in way.get("pods")["items"] if "deletionTimestamp" not in one["metadata"]]
    return {(one["metadata"]["name"], one["metadata"]["uid"], status["containerID"], status["restartCount"], status["state"]["running"]["startedAt"])
            for one in pods for status in one["status"]["containerStatuses"]}


def windows_programs(program):
    """Of the same build, if they are there."""
    return program.resolve().parents[2] / "windows/bin/porthole.exe"


def end(process):
    process.send_signal(signal.SIGTERM)
    process.wait(120)


class NodeOf:
    """Replaces the program of a joined node."""

    def __init__(self, node):
        self.node = node

    def replace(self, program):
        words = pathlib.Path(f"/proc/{self.node.agent.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        self.node.end_agent()
        self.node.start_agent([str(program), *words[1:]])

    def runs(self, program):
        return os.path.samefile(f"/proc/{self.node.agent.pid}/exe", program)


class RollingUpgrade(ThreeServersCase):
    """Of three servers on etcd and a Linux node. Both orders: each class begins with one of the programs and ends with the other."""

    def replace_server(self, machine, program):
        """In place: it is stopped as a service manager does it, and started from another file on the same data."""
        process = machine.processes.pop("server")
        end(process)
        machine.porthole = program
        machine.start_server()
        eventually(lambda: self.is_ready(machine), 60, f"the server of {machine.name} is ready again")

    def roll_out(self, way, name):
        """By the controllers and the scheduler of whoever leads now, and the kubelet."""
        self.roll(way, name)
        way.kubectl("rollout", "status", "deployment/rolled", f"--timeout={FIRST_POD * PATIENCE}s", seconds=FIRST_POD)

    def upgrade(self, program):
        before = containers(self.balanced)
        everyone = self.clients([*self.direct.values(), self.balanced], "first")
        current = dict(zip([*self.direct, "balanced"], everyone))
        for machine in self.machines.all:
            begin = time.monotonic()
            self.replace_server(machine, program)
            self.streams_go_on([current[name] for name in self.direct if name != machine.name], begin)
            # Its streams ended with it, and are opened again.
            current[machine.name].end()
            current[machine.name], = self.clients([self.direct[machine.name]], f"again-{machine.name}")
            everyone.append(current[machine.name])
            eventually(lambda: current["balanced"].writer.longest_gap(time.monotonic() - 1, "acknowledged ") < 1, 30, "writes by the node's balancer")
            print(f"  server {machine.name} is replaced", flush=True)
        self.assertEqual(containers(self.balanced), before, "no pod was restarted")
        self.roll_out(self.direct["b"], "servers")  # all servers of one version, the node of the other

        before, node = containers(self.balanced), NodeOf(self.node)
        node.replace(program)
        eventually(lambda: node.runs(program) and self.node.ask().returncode == 0, 60, "the node's new program has its servers")
        everyone += self.clients([self.balanced], "node")
        self.assertEqual(containers(self.balanced), before, "no pod was restarted by the node's program")
        self.roll_out(self.direct["c"], "node")
        self.nothing_is_lost(everyone, list(self.direct.values()))


@is_named
@needs_newest_kubectl
class OldToNew(RollingUpgrade):
    porthole = OLD

    # API-09, API-14
    def test_three_servers_and_a_node_are_replaced_by_newer_ones(self):
        self.upgrade(PORTHOLE)


@is_named
@needs_newest_kubectl
class NewToOld(RollingUpgrade):
    porthole = PORTHOLE

    # API-09, API-14
    def test_three_servers_and_a_node_are_replaced_by_older_ones(self):
        self.upgrade(OLD)


class SingleServer(ControlPlaneCase):
    """On its embedded store."""

    def setUp(self):
        super().setUp()
        self.machine = Network(self.network.name.replace("-test-", "-node-"))
        self.addCleanup(self.machine.delete)

    def start_server(self, program):
        self.server.porthole = program
        self.server.start("--advertise-address", SERVER)
        self.way = Way("the server", self.network, f"https://{SERVER}:6443", self.server.kubeconfig, self.folder)
        eventually(lambda: self.way.kubectl("get", "serviceaccount", "default"), 60, "the namespace default")

    def stop_server(self):
        self.server.stop()
        self.server.process = None

    def wait_ready(self, node):
        eventually(lambda: condition(self.way.get("node", node), "Ready") == "True", 120, f"{node} is Ready")

    def wait_running(self, *pods):
        for name in pods:
            self.way.kubectl("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={FIRST_POD * PATIENCE}s", seconds=FIRST_POD)

    def heartbeat(self, node):
        lease = lambda: self.way.get("lease", node, "-n", "kube-node-lease")["spec"]["renewTime"]
        return eventually(lease, 60, "the node has a lease")  # which may come after it is Ready

    def check_replaced(self, program, node):
        """In place, while clients watch and write: they go on, with all that was acknowledged; the node and its pods do not notice."""
        before, version = containers(self.way), self.way.get("configmaps")["metadata"]["resourceVersion"]
        clients = Clients(self.way, f"before-{secrets.token_hex(2)}")
        self.addCleanup(clients.end)
        eventually(clients.flow, 60, "clients")
        renewed = self.heartbeat(node)
        self.stop_server()
        clients.end()
        self.start_server(program)
        path = f"/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=2&resourceVersion={version}"
        watched = [json.loads(line) for line in self.way.kubectl("get", "--raw", path).stdout.splitlines()]
        self.assertLessEqual(clients.acknowledged(), {event["object"]["metadata"]["name"] for event in watched}, "the watch goes on from before")
        found = {item["metadata"]["name"] for item in self.way.get("configmaps")["items"]}
        self.assertLessEqual(clients.acknowledged(), found)
        eventually(lambda: self.heartbeat(node) > renewed, 60, "the node's heartbeat")
        again = Clients(self.way, f"after-{secrets.token_hex(2)}")
        self.addCleanup(again.end)
        eventually(again.flow, 60, "streams are opened again")
        again.end()
        self.assertEqual([text for text in again.nodes.texts(node + " ") if text != node + " True"], [])
        self.assertEqual(containers(self.way), before, "no pod was restarted")


@is_named
@needs_newest_kubectl
class SingleServerWithALinuxNode(SingleServer):
    def join(self, of_server, of_node):
        import make
        make.make(self.folder / "images")
        node = JoinedNode("extra", self.machine, self.folder / "node", of_node)
        self.addCleanup(node.stop)
        node.connect(self.network, SERVER, NODE_ADDRESS)
        self.start_server(of_server)
        node.start_containerd()
        run(node.ctr("images", "import", self.folder / "images/busybox.docker.tar"))
        node.join([f"https://{SERVER}:6443"], self.network, self.folder / "data")
        self.wait_ready("extra")
        self.run_pod("talker")
        return NodeOf(node)

    def run_pod(self, name):
        """From its creation to what is asked of its kubelet."""
        self.way.kubectl("create", "-f", "-", stdin=json.dumps(pod(name, container(script=TALK))))
        self.wait_running(name)
        said = lambda: self.way.kubectl("exec", name, "--", "echo", "hello").stdout
        self.assertEqual(eventually(said, 60, "the kubelet has a certificate of the cluster"), "hello\n")
        self.assertEqual(set(self.way.kubectl("logs", name).stdout.split()), {"line"})

    def remove_pod(self, name):
        """By its grace period: the kubelet says when it has ended."""
        self.way.kubectl("delete", "pod", name, "--timeout=60s", seconds=60)

    # API-09, API-22
    def test_it_is_replaced_by_a_newer_one_and_by_the_older_one_again(self):
        node = self.join(OLD, OLD)
        self.check_replaced(PORTHOLE, "extra")
        self.run_pod("by-older-node")
        before = containers(self.way)
        node.replace(PORTHOLE)
        eventually(lambda: node.runs(PORTHOLE) and node.node.ask().returncode == 0, 60, "the node's new program has its server")
        self.assertEqual(containers(self.way), before, "no pod was restarted by the node's program")
        self.check_replaced(OLD, "extra")
        self.run_pod("by-newer-node")
        self.remove_pod("by-older-node")

    # API-09
    def test_a_node_of_the_older_joins_the_newer(self):
        self.join(PORTHOLE, OLD)
        self.remove_pod("talker")

    # API-09
    def test_a_node_of_the_newer_joins_the_older(self):
        self.join(OLD, PORTHOLE)
        self.remove_pod("talker")


@is_named
@needs_newest_kubectl
class SingleServerWithAWindowsNode(SingleServer):
    node = "box-windows-1"

    def run_with(self, of_server, of_node):
        if not windows_programs(of_node).exists():
            self.skipTest(f"{of_node} has no Windows programs next to it")
        for words in (["add", "uplink", "type", "bridge"], ["set", "uplink", "up"]):
            run(["ip", "-n", self.network.name, "link", *words])
        run(["ip", "-n", self.network.name, "address", "add", SERVER + "/24", "dev", "uplink"])  # the hosts have a network of their own
        self.start_server(of_server)
        words = run(self.network.inside([str(of_server), "token", "create", "--print-join-command", "--data", str(self.folder / "data")])).stdout.split()
        hosts = ["--data", str(self.folder / "winnode")]
        self.addCleanup(lambda: run(self.network.inside([str(of_node), "winnode", "leave", *hosts]), check=False, seconds=120))
        run(self.network.inside([str(of_node), "winnode", "join", *words[2:], "--prefix", "box-", "--detach", *hosts]), seconds=300)
        self.wait_ready(self.node)

    def run_pod(self, name):
        web = {"name": "main", "image": "registry.porthole.internal/web:2"}
        self.way.kubectl("create", "-f", "-", stdin=json.dumps(pod(name, web, nodeSelector={"kubernetes.io/os": "windows"})))
        self.wait_running(name)
        self.answers(name)

    def answers(self, name):
        said = lambda: self.way.kubectl("exec", name, "--", "cmd", "/c", "echo hello").stdout.strip()
        self.assertEqual(eventually(said, 60, "the kubelet has a certificate of the cluster"), "hello")

    def replace(self, program):
        before = containers(self.way)
        self.stop_server()
        self.start_server(program)
        renewed = self.heartbeat(self.node)
        eventually(lambda: self.heartbeat(self.node) > renewed, 60, "the node's heartbeat")
        self.answers("web")
        self.assertEqual(containers(self.way), before, "no pod was restarted")

    def check(self, first, second, of_node):
        """The node joins the first."""
        self.run_with(first, of_node)
        self.run_pod("web")
        self.replace(second)
        self.run_pod("web-2")
        self.replace(first)

    # API-09
    def test_servers_of_both_versions_serve_a_node_of_the_newer(self):
        self.check(OLD, PORTHOLE, PORTHOLE)

    # API-09
    def test_servers_of_both_versions_serve_a_node_of_the_older(self):
        self.check(PORTHOLE, OLD, OLD)


if __name__ == "__main__":
    unittest.main()
