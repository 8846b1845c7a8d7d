"""A control plane of several servers with an etcd of its own, from bare machines by `porthole provision`: members are added, replaced and removed.

Machines are those of test_provision.py, with Debian's etcd in /usr/local/sbin.
"""

import pathlib
import shutil
import sys
import unittest

from harness import eventually, run, slow
from test_etcd_store import program
from test_provision_servers import ServerMachines

ETCD = "/usr/local/sbin/etcd"
# TLS 1.3 tells a client without a certificate that it is refused when it first reads.
ASK = """import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[3])
context.load_cert_chain(sys.argv[4], sys.argv[5]) if len(sys.argv) > 4 else None
try:
    with context.wrap_socket(socket.create_connection((sys.argv[1], int(sys.argv[2])), 10), server_hostname=sys.argv[1]) as connection:
        connection.sendall(b"GET /version HTTP/1.0\\r\\n\\r\\n")
        print(connection.recv(9).decode() or "closed")
except ssl.SSLError as error:
    print(error.reason)
"""


def members_of(*machines):
    return [f"etcd member {machine.name}" for machine in machines]


class ProvisionEtcd(ServerMachines):
    def setUp(self):
        if not program("etcd"):
            self.skipTest("there is no etcd: apt-get install etcd-server")
        super().setUp()

    def start_machines(self, *names):
        machines = super().start_machines(*names)
        for machine in machines:
            shutil.copy(program("etcd"), machine.folder / "sbin/etcd")
        return machines

    def provision(self, servers, **options):
        options.setdefault("etcd", {"program": ETCD})
        return super().provision(servers, **options)

    def files(self, machine, name=""):
        return machine.folder / "lib/porthole-etcd" / name

    def pids(self, *machines):
        return [run(machine.inside(["cat", "/run/porthole-etcd.pid", "/run/porthole-server.pid"])).stdout for machine in machines]

    def ask(self, machine, port, *certificate):
        """What a member answers to a client with this certificate and key, or without one."""
        words = [sys.executable, "-c", ASK, machine.address, port, self.files(machine, "ca.crt"), *certificate]
        return run(self.wires.network.inside([str(word) for word in words])).stdout.strip()

    def note(self, name, server):
        """Writes an object through that server."""
        self.kubectl("--server", f"https://{server.address}:6443", "create", "configmap", name)

    def notes(self):
        return [name for name in self.kubectl("get", "configmaps", "-o", "name").split() if "note-" in name]

    def lose_data(self, machine):
        run(machine.inside(["systemctl", "stop", "porthole-etcd.service"]))
        shutil.rmtree(self.files(machine, "data/member"))

    # PRV-01, PRV-03, PRV-07
    @slow
    def test_members_are_added_replaced_and_removed(self):
        first, second, third, fourth = self.start_machines("cp1", "cp2", "cp3", "cp4")
        three = [first, second, third]
        would = self.provision(three, options=["--dry-run"])[0]
        self.assertIn("would set up etcd member cp1", would)
        self.assertIn("would set up server cp3", would)
        self.assertEqual([line for machine in three for line in machine.leftovers()], [])
        steps = self.provision(three)[0]
        self.assertEqual([step for step in steps if step.endswith("started")], [name + " started" for name in members_of(*three)])
        self.assertEqual(steps[-5:-1], ["server cp1 ready", "server cp2 ready", "server cp3 ready", f"kubeconfig written: {self.kubeconfig}"])
        self.note("note-1", third)

        before = self.pids(*three)
        self.assertEqual(self.provision(three)[0][:-1],
                         ["etcd as described", "server cp1 as described", "server cp2 as described", "server cp3 as described"])
        self.assertEqual(self.pids(*three), before)

        third.stop()  # its power is cut
        third.init = None
        eventually(lambda: self.kubectl("get", "--raw", "/readyz") == "ok", 30, "the others go on")
        self.note("note-2", second)
        steps, error = self.provision([first, second, fourth], check=False)
        self.assertEqual(steps[:2], [f"etcd member {third.address} removed: it is no longer described", "etcd member cp4 set up"])
        self.assertIn("etcd member cp4 votes", steps)
        self.assertIn("server cp4 ready", steps)
        self.assertIn("if it is gone for good: kubectl -n kube-system patch configmap porthole-servers", steps[-1])
        self.kubectl("-n", "kube-system", "patch", "configmap", "porthole-servers", "--type", "merge", "-p", '{"data":{"cp3":null}}')
        now = [first, second, fourth]
        self.assertEqual(self.provision(now)[0][0], "etcd as described")
        self.note("note-3", fourth)

        self.lose_data(second)
        run(second.inside(["systemctl", "start", "porthole-etcd.service"]))
        eventually(lambda: run(second.inside(["systemctl", "is-active", "porthole-etcd.service"]), check=False).returncode != 0, 20,
                   "a member without its data does not begin again")
        self.note("note-4", first)
        self.assertEqual(self.provision(now)[0][:3],
                         ["etcd member cp2 removed: its data are lost", "etcd member cp2 joined as a learner", "etcd member cp2 has its data"])
        self.files(first, "client.key").unlink()
        self.assertEqual(self.provision(now)[0][:2], ["etcd member cp1 set up", "etcd member cp1 started"])
        self.note("note-5", second)
        self.assertEqual(self.notes(), [f"configmap/note-{number}" for number in range(1, 6)])

        steps = self.provision([first])[0]
        self.assertIn("server cp4 removed", steps)
        self.assertEqual(second.leftovers() + fourth.leftovers(), [])
        self.assertEqual(len(self.notes()), 5)

    # SEC-16
    @slow
    def test_keys_and_members_are_closed_to_others(self):
        machine, = self.start_machines("cp1")
        self.provision([machine])
        folder = self.files(machine)
        token = (machine.folder / "lib/porthole-server/server-token").read_text().strip()
        self.assertRegex(token, "^[0-9a-f]{64}$")
        self.assertEqual({path.name for path in folder.iterdir()}, {"bootstrap", "ca.crt", "ca.key", "client.crt", "client.key", "data", "issued",
                                                                  "member.crt", "member.key", "porthole-etcd.service"})
        self.assertEqual([path for path in [folder, *folder.rglob("*")] if path.stat().st_mode & 0o007], [])
        self.assertEqual([(folder / name).stat().st_mode & 0o777 for name in ("ca.key", "client.key", "member.key", "data")], [0o600] * 3 + [0o700])
        self.assertEqual([(folder / name).stat().st_uid for name in ("ca.key", "client.key")], [0, 0])
        user = int(run(machine.inside(["id", "-u", "porthole-etcd"])).stdout)
        pid = run(machine.inside(["cat", "/run/porthole-etcd.pid"])).stdout
        self.assertEqual(run(machine.inside(["stat", "-c", "%u", f"/proc/{pid}"])).stdout, f"{user}\n")
        self.assertEqual((folder / "data").stat().st_uid, user)

        secrets = [token] + ["".join((folder / name).read_text().splitlines()[1:-1])[:60] for name in ("ca.key", "client.key", "member.key")]
        words = run(machine.inside(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"])).stdout
        self.assertIn("--key-file=/var/lib/porthole-etcd/member.key", words)
        self.assertEqual([secret for secret in secrets if secret in words], [])

        client = [folder / "client.crt", folder / "client.key"]
        self.assertEqual(self.ask(machine, 2379, *client), "HTTP/1.0")
        for port in (2379, 2380):
            self.assertIn("CERTIFICATE", self.ask(machine, port))
        # Nodes and users have certificates of the cluster's authority, which is another.
        pki = machine.folder / "lib/porthole/pki"
        self.assertNotEqual(self.ask(machine, 2379, pki / "admin.crt", pki / "admin.key"), "HTTP/1.0")
        self.assertEqual(run(machine.inside(["ss", "-Hltn"])).stdout.count("127.0.0.1:23"), 0)

    # PRV-01
    def test_what_cannot_have_an_etcd_is_refused(self):
        machine, other = self.start_machines("cp1", "cp2")
        self.assertIn("spec.controlPlane.hosts: are 2; with etcd there are 1, 3 or 5", self.provision([machine, other], check=False)[1])
        steps, _ = self.provision([machine], etcd={"program": "/usr/local/sbin/none"}, check=False)
        self.assertIn("the machine has no program /usr/local/sbin/none: apt-get install etcd-server there", steps[0])
        self.assertEqual(machine.leftovers() + other.leftovers(), [])
        (machine.folder / "lib/porthole/store").mkdir(parents=True)
        (machine.folder / "lib/porthole/store/store.db").write_text("")
        self.assertIn("`porthole store migrate`", self.provision([machine], check=False)[0][0])


if __name__ == "__main__":
    unittest.main()
