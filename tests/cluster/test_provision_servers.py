"""A control plane on bare machines with a real sshd, by `porthole provision` from an administrator's machine that has nothing but SSH.

Machines are those of test_provision.py. The administrator's machine is the network namespace with their switch.
"""

import hashlib
import json
import os
import pathlib
import secrets
import shutil
import tempfile
import unittest

from harness import CLIENTS, NEWEST_CLIENT, PORTHOLE, Network, eventually, run, slow
from test_etcd_store import Etcd, make_certificates
from test_provision import SSHD_PROGRAM, Machine


SWITCH = "10.89.0.1"  # the administrator's machine


class EtcdOnSwitch(Etcd):
    """One that other machines reach."""

    def url(self, name):
        return f"{self.scheme}://{SWITCH}:{self.ports[name]}"


class Wires:
    """The switch between the machines, as that of a cluster of `porthole up`."""

    def __init__(self):
        self.id = secrets.token_hex(3)
        self.network = Network(f"porthole-{self.id}-switch")
        name = self.network.name
        run(["ip", "-n", name, "link", "add", "switch", "type", "bridge"])
        run(["ip", "-n", name, "address", "add", SWITCH + "/24", "dev", "switch"])
        run(["ip", "-n", name, "link", "set", "switch", "up"])


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
@unittest.skipUnless(pathlib.Path(SSHD_PROGRAM).exists(), "there is no sshd: apt-get install openssh-server")
class ServerMachines(unittest.TestCase):
    """What tests of servers on machines of their own have in common."""
    alone = True

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-servers-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key"])
        self.wires = Wires()
        self.addCleanup(self.wires.network.delete)
        self.kubeconfig = self.folder / "lab.kubeconfig"
        self.machines = []

    def start_machines(self, *names):
        for number, name in enumerate(names, start=81):
            machine = Machine(self.wires, name, number, self.folder / "key.pub")
            self.addCleanup(machine.stop)
            self.machines.append(machine)
            machine.start()
        (self.folder / "known_hosts").write_text("".join(machine.known_host() for machine in self.machines))
        return self.machines

    def provision(self, servers, nodes=(), options=(), program=PORTHOLE, check=True, **fields):
        """Runs the command with a file of these machines; what it has done, and what it ended with."""
        plane = {"identityFile": "key", "knownHosts": "known_hosts", "hosts": [server.host() for server in servers], **fields}
        spec = {"controlPlane": plane, "pools": [node.description() for node in nodes]}
        file = self.folder / "cluster.yaml"
        file.write_text(json.dumps({"apiVersion": "porthole.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "lab"}, "spec": spec}))
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        done = run(self.wires.network.inside([str(program), "provision", "-f", str(file), "-o", "json", *options]), env=environment, seconds=600,
                   check=False)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        if check and done.returncode != 0:
            raise AssertionError(f"{done.stdout}{done.stderr}\n" + "\n".join(machine.log() for machine in self.machines))
        texts = [event["text"] if event["event"] != "failed" else f"{event['text']}: {event['error']}" for event in events
                 if event["event"] in ("done", "failed", "note")]
        return texts, events[-1].get("error", "")

    def kubectl(self, *words):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        return run(self.wires.network.inside([str(CLIENTS[NEWEST_CLIENT]), *words]), env=environment).stdout


class ProvisionServers(ServerMachines):
    def another_program(self):
        """A build of the same version with other bytes, and their hash."""
        path = self.folder / "porthole"
        shutil.copy(PORTHOLE, path)
        with path.open("ab") as file:
            file.write(b"another")
        return path, hashlib.sha256(path.read_bytes()).hexdigest()

    def hashes(self, *machines):
        return [hashlib.sha256(machine.program().read_bytes()).hexdigest() for machine in machines]

    # PRV-01, PRV-02, PRV-07, RUN-10
    @slow
    def test_bare_machines_become_a_control_plane_and_a_ready_node(self):
        server, node = self.start_machines("cp1", "n1")
        done = f"use it:  kubectl --kubeconfig {self.kubeconfig} get nodes"
        self.assertEqual(self.provision([server], [node], options=["--dry-run"])[0], ["would set up server cp1", "would join n1"])
        self.assertEqual(server.leftovers() + node.leftovers(), [])
        self.assertFalse(self.kubeconfig.exists())

        self.assertEqual(self.provision([server], [node])[0],
                         ["server cp1 ready", f"kubeconfig written: {self.kubeconfig}", "node n1 Ready", done])
        self.assertEqual(self.kubeconfig.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.kubectl("get", "nodes", "-o", "name"), "node/n1\n")
        unchanged = [self.kubeconfig.stat().st_mtime_ns, (server.folder / "lib/porthole-server").stat().st_ino]
        self.assertEqual(self.provision([server], [node])[0], ["server cp1 as described", "node n1 as described", done])
        self.assertEqual([self.kubeconfig.stat().st_mtime_ns, (server.folder / "lib/porthole-server").stat().st_ino], unchanged)

        # Another administrator's machine has only the description and a key.
        self.kubeconfig.unlink()
        self.assertIn(f"kubeconfig written: {self.kubeconfig}", self.provision([server], [node])[0])
        self.assertEqual(self.kubectl("get", "nodes", "-o", "name"), "node/n1\n")

        old = self.hashes(server)
        program, new = self.another_program()
        run(server.inside(["sh", "-c", f"echo {new} > /run/refused"]))
        steps, error = self.provision([server], [node], program=program, check=False)
        self.assertIn("server cp1 upgraded: porthole-server ends again and again; its log ends with: this program is refused; the old server runs "
                      "again", steps)
        self.assertIn("what comes after it was not done", error)
        self.assertEqual(self.hashes(server, node), old * 2)
        run(server.inside(["rm", "/run/refused"]))
        self.assertEqual(self.provision([server], [node], program=program)[0],
                         ["server cp1 upgraded", "node n1 upgraded", "node n1 as described", done])
        self.assertEqual(self.hashes(server, node), [new, new])
        self.assertEqual(self.provision([server], program=program)[0], ["server cp1 as described", "node n1 removed", done])
        self.assertEqual(node.leftovers(), [])

    def etcd(self):
        """An etcd on the switch, and the fields of a description that name it."""
        tls = self.folder / "etcd"
        make_certificates(tls, SWITCH)
        etcd = EtcdOnSwitch(self.wires.network, self.folder, tls=tls)
        self.addCleanup(etcd.stop)
        eventually(etcd.healthy, 30, "etcd is healthy")
        (self.folder / "server-token").write_text(secrets.token_hex(32) + "\n")
        return {"etcdServers": etcd.urls().split(","), "etcdCaFile": "etcd/ca.crt", "serverTokenFile": "server-token"}

    def kubernetes_endpoints(self):
        slices = json.loads(self.kubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=kubernetes", "-o", "json"))["items"]
        return sorted(address for one in slices for endpoint in one["endpoints"] for address in endpoint["addresses"])

    # PRV-01, PRV-03, RUN-10
    @slow
    def test_three_servers_on_an_etcd_are_one_cluster_and_one_may_go(self):
        first, second, third, node = self.start_machines("cp1", "cp2", "cp3", "n1")
        servers = [first, second, third]
        steps, error = self.provision(servers, check=False)
        self.assertIn("spec.controlPlane.etcdServers: several servers need an etcd", error)
        etcd = self.etcd()
        steps, error = self.provision(servers, **{**etcd, "etcdCaFile": "missing.crt"}, check=False)
        self.assertIn("spec.controlPlane.etcdCaFile: cannot be read: ", error)
        self.assertEqual([line for machine in servers for line in machine.leftovers()], [])

        self.assertEqual(self.provision(servers, **etcd)[0][:-1],
                         ["server cp1 ready", "server cp2 ready", "server cp3 ready", f"kubeconfig written: {self.kubeconfig}"])
        for machine in servers:
            name = self.kubectl("--server", f"https://{machine.address}:6443", "get", "namespace", "default", "-o", "name")
            self.assertEqual(name, "namespace/default\n")
            self.assertEqual({path.stat().st_mode & 0o77 for path in (machine.folder / "lib/porthole-server").glob("*")}, {0})
        eventually(lambda: self.kubernetes_endpoints() == [machine.address for machine in servers], 30, "the servers' addresses")

        program, new = self.another_program()
        self.assertEqual(self.provision(servers, program=program, **etcd)[0][:-1],
                         ["server cp1 upgraded", "server cp2 upgraded", "server cp3 upgraded"])
        self.assertEqual(self.hashes(*servers), [new] * 3)

        self.assertIn("node n1 Ready", self.provision(servers, [node], program=program, **etcd)[0])
        self.assertEqual(self.provision([second, third], [node], program=program, **etcd)[0][:-1],
                         ["server cp2 as described", "server cp3 as described", f"kubeconfig written: {self.kubeconfig}", "server cp1 removed",
                          "node n1 as described"])
        self.assertEqual(first.leftovers(), [])
        self.assertEqual(self.kubectl("get", "nodes", "-o", "name"), "node/n1\n")

    # PRV-09, SEC-16
    def test_what_cannot_be_a_server_is_refused_and_stays_as_it_is(self):
        first, second = self.start_machines("cp1", "cp2")
        (self.folder / "known_hosts").write_text(first.known_host())
        steps, error = self.provision([second], check=False)
        self.assertIn(f"the host key of root@{second.address} port 22 is not in {self.folder}/known_hosts", steps[0])
        self.assertEqual(error, "failed: cp2; nothing was changed, fix the cause and run it again")
        self.kubeconfig.write_text("apiVersion: v1\nkind: Config\n")
        steps, error = self.provision([first], check=False)
        self.assertIn("lab.kubeconfig is not the kubeconfig of cluster lab alone: move it away, or name another file by --kubeconfig", error)
        self.kubeconfig.unlink()
        (first.folder / "lib/porthole/pki").mkdir(parents=True)
        steps, error = self.provision([first], check=False)
        self.assertIn("the machine has a control plane that `provision` did not set up", steps[0])
        done = run([PORTHOLE, "up", "-f", self.folder / "cluster.yaml"], check=False)
        self.assertIn("spec.controlPlane: is on other machines, which `porthole provision -f", done.stderr)
        shutil.rmtree(first.folder / "lib/porthole")
        self.assertEqual(first.leftovers() + second.leftovers(), [])


if __name__ == "__main__":
    unittest.main()
