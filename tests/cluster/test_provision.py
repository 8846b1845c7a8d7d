"""Machines with a real sshd become nodes by `porthole provision`, are upgraded and leave again.

A machine is a network, mount and process namespace with a containerd and an OpenSSH server of its own, on the nodes' network. It has no
systemd: systemctl.py stands for it.
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import PORTHOLE, ClusterCase, SharedCluster, condition, control_groups, eventually, run, slow
from manifests import pod
from test_join import CONTAINERD

# Whatever has lost its parent is reaped, as by any init.
INIT = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True: signal.pause()"
OWN_FOLDERS = {"bin": "/usr/local/bin", "sbin": "/usr/local/sbin", "units": "/etc/systemd/system", "lib": "/var/lib"}
SSHD_PROGRAM = "/usr/sbin/sshd"
SSHD = """Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
"""


class Machine:
    """A bare machine that can be reached by SSH with the key of `folder_of_keys`."""

    def __init__(self, cluster, name, number, public_key):
        self.cluster, self.name, self.address = cluster, name, f"10.89.0.{number}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"porthole-{name}-"))
        self.network = self.cgroup = f"porthole-{cluster.id}-{name}"
        self.link = f"x{cluster.id}{number}"
        self.hardware_address = f"02:00:00:00:00:{number:02x}"  # the same in every test: the nodes remember whose an IP address was
        self.public_key = public_key
        self.init = self.containerd = self.sshd = None

    def start(self):
        switch = f"porthole-{self.cluster.id}-switch"
        run(["ip", "netns", "add", self.network])
        run(["ip", "-n", self.network, "link", "set", "lo", "up"])
        run(["ip", "-n", switch, "link", "add", self.link, "master", "switch", "type", "veth", "peer", "eth0", "address",
             self.hardware_address, "netns", self.network])
        run(["ip", "-n", switch, "link", "set", self.link, "up"])
        run(["ip", "-n", self.network, "address", "add", self.address + "/24", "dev", "eth0"])
        run(["ip", "-n", self.network, "link", "set", "eth0", "up"])
        self.start_init()
        (self.folder / "containerd.toml").write_text(CONTAINERD.format(folder=self.folder))
        self.containerd = self.spawn("containerd", "--config", self.folder / "containerd.toml")
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "host_key"])
        shutil.copy(self.public_key, self.folder / "authorized_keys")
        (self.folder / "sshd_config").write_text(SSHD.format(address=self.address, folder=self.folder))
        self.sshd = self.spawn(SSHD_PROGRAM, "-D", "-f", self.folder / "sshd_config")
        eventually(lambda: run(self.inside(["ctr", "--address", self.socket(), "version"]), check=False).returncode == 0, 20, "containerd answers")
        eventually(lambda: ":22 " in run(self.inside(["ss", "-ltn"])).stdout, 10, "sshd listens")

    def start_init(self):
        mounts = "mount -t tmpfs none /run && mkdir -p /run/sshd /run/systemd/system /run/netns /run/etc/own /run/etc/work"
        mounts += " && mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/own,workdir=/run/etc/work /etc"  # its users are its own
        for name, place in OWN_FOLDERS.items():
            (self.folder / name).mkdir()
            mounts += f" && mount --bind {self.folder / name} {place}"
        for name in ("systemctl", "journalctl"):
            shutil.copy(pathlib.Path(__file__).with_name("systemctl.py"), self.folder / "sbin" / name)
        (self.folder / "cni").mkdir()
        command = ["nsenter", f"--net=/run/netns/{self.network}", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
                   "-c", f"{mounts} && echo ready && exec \"$0\" -c \"$1\"", sys.executable, INIT]
        self.init = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     text=True)
        if self.init.stdout.readline() != "ready\n":
            raise AssertionError("the machine's namespaces could not be made")
        self.pid = int(pathlib.Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children").read_text().split()[0])

    def inside(self, command):
        spaces = [f"--{kind}=/proc/{self.pid}/ns/{file}" for kind, file in (("net", "net"), ("mount", "mnt"), ("pid", "pid"))]
        return ["nsenter", *spaces, *map(str, command)]

    def spawn(self, *command):
        return subprocess.Popen(self.inside(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def socket(self):
        return self.folder / "containerd.sock"

    def known_host(self):
        return f"{self.address} {(self.folder / 'host_key.pub').read_text()}"

    def program(self):
        return self.folder / "bin/porthole"

    def host(self):
        return {"name": self.name, "address": self.address}

    def description(self):
        flags = [f"--container-runtime-endpoint={self.socket()}", f"--cni-conf-dir={self.folder / 'cni'}", f"--cgroup-root=/{self.cgroup}",
                 "--shared-disk"]
        return {"name": self.name + "-pool", "os": "linux", "identityFile": "key", "knownHosts": "known_hosts", "labels": {"pool": self.name},
                "joinFlags": flags, "hosts": [self.host()]}

    def log(self):
        return run(self.inside(["tail", "-n", "20", "/run/porthole-agent.log"]), check=False).stdout

    def leftovers(self):
        """One line for each thing that a node has made here."""
        links = json.loads(run(["ip", "-n", self.network, "-json", "link"]).stdout)
        left = [f"link {link['ifname']}" for link in links if link["ifname"] not in ("lo", "eth0")]
        left += [f"file {path}" for name in ("bin", "units", "cni") for path in (self.folder / name).iterdir()]
        left += [f"folder {path.name}" for path in (self.folder / "lib").glob("porthole*")]
        left += [f"task {line}" for line in run(self.inside(["ctr", "--address", self.socket(), "-n", "k8s.io", "tasks", "list", "-q"])).stdout.split()]
        left += [f"rule {line}" for line in run(self.inside(["nft", "list", "ruleset"])).stdout.splitlines() if "porthole" in line]
        left += [f"process {line}" for line in run(self.inside(["ps", "-e", "-o", "args="])).stdout.splitlines() if "porthole agent" in line or "porthole server" in line or "porthole-etcd" in line]
        left += [f"user {line}" for line in run(self.inside(["getent", "passwd", "porthole-etcd"]), check=False).stdout.splitlines()]
        return left

    def stop(self):
        if self.init:
            os.kill(self.pid, signal.SIGKILL)  # and so all of its namespace; `unshare` lets SIGTERM pass
            self.init.wait(120)
            self.init.stdout.close()
        for process in filter(None, (self.containerd, self.sshd)):
            process.wait(120)
        run(["ip", "netns", "delete", self.network], check=False)
        for group in control_groups(self.cgroup):
            for below in sorted(group.glob("**/"), reverse=True):
                below.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


CLUSTER = SharedCluster("linux=2")  # of its own: other tests leave tokens, and neighbours that had the addresses of these machines


class Provision(ClusterCase):
    shared = CLUSTER
    alone = True

    def setUp(self):
        if not pathlib.Path(SSHD_PROGRAM).exists():
            self.skipTest("there is no sshd: apt-get install openssh-server")
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-provision-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "key"])
        self.addCleanup(self.kubectl_run, "delete", "node", "m1", "m2", "--ignore-not-found", namespaced=False, check=False)
        self.addCleanup(self.kubectl_run, "-n", "kube-system", "delete", "configmap", "porthole-machines", "--ignore-not-found",
                        namespaced=False, check=False)
        self.machines = [Machine(self.cluster, name, number, self.folder / "key.pub") for name, number in (("m1", 77), ("m2", 78))]
        for machine in self.machines:
            self.addCleanup(machine.stop)
            machine.start()
        (self.folder / "known_hosts").write_text("".join(machine.known_host() for machine in self.machines))

    def provision(self, *machines, options=(), program=PORTHOLE, check=True):
        """Runs the command with a file of these machines; its steps, and what it ended with."""
        done = run(self.words(*machines, options=options, program=program), env=self.cluster.environment(), seconds=600, check=False)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        if check and done.returncode != 0:
            raise AssertionError(f"{done.stdout}{done.stderr}\n" + "\n".join(machine.log() for machine in self.machines))
        return [event for event in events if event["event"] in ("done", "failed", "note")], events[-1]

    def words(self, *machines, options=(), program=PORTHOLE):
        file = self.folder / "cluster.yaml"
        file.write_text(json.dumps({"apiVersion": "porthole.dev/v1alpha1", "kind": "Cluster",
                                    "spec": {"pools": [machine.description() for machine in machines]}}))
        return self.cluster.network.inside([program, "provision", "-f", file, "--data", self.cluster.data, "-o", "json", *options])

    def tokens(self):
        names = self.kubectl("-n", "kube-system", "get", "secrets", "-o", "name", namespaced=False)
        return [name for name in names.split() if "bootstrap-token-" in name]

    def texts(self, *machines, **options):
        return sorted(event["text"] for event in self.provision(*machines, **options)[0])

    def another_program(self):
        """A build of the same version with other bytes."""
        path = self.folder / "porthole"
        shutil.copy(PORTHOLE, path)
        with path.open("ab") as file:
            file.write(b"another")
        return path

    def node(self, name):
        return self.try_get("node", name)

    # PRV-01, PRV-03, PRV-06, PRV-07, JOI-19
    @slow
    def test_machines_join_stay_as_they_are_and_leave_without_leftovers(self):
        first, second = self.machines
        self.assertEqual(self.texts(first, second, options=["--dry-run"]), ["would join m1", "would join m2"])
        self.assertEqual(first.leftovers(), [])
        self.assertEqual(self.texts(first, second), ["node m1 Ready", "node m2 Ready"])
        for machine in self.machines:
            node = self.node(machine.name)
            self.assertEqual(condition(node, "Ready"), "True")
            self.assertEqual(node["metadata"]["labels"]["pool"], machine.name)
            self.assertEqual(node["status"]["addresses"][0]["address"], machine.address)
        self.assertEqual(self.tokens(), [], "the tokens of the run are deleted")

        versions = [self.node(machine.name)["metadata"]["uid"] for machine in self.machines]
        agents = [(machine.folder / "lib/porthole-agent/client.pem").stat().st_mtime_ns for machine in self.machines]
        self.assertEqual(self.texts(first, second), ["node m1 as described", "node m2 as described"])
        self.assertEqual([self.node(machine.name)["metadata"]["uid"] for machine in self.machines], versions)
        self.assertEqual([(machine.folder / "lib/porthole-agent/client.pem").stat().st_mtime_ns for machine in self.machines], agents)

        carried = {"name": "main", "image": "registry.porthole.internal/web:2", "readinessProbe": {"httpGet": {"path": "/", "port": 80}}}
        self.apply(pod("alone", carried, nodeName="m2"))
        self.wait_ready("alone")
        steps, end = self.provision(first, check=False)
        self.assertIn("no controller would make pod", steps[-1]["error"])
        self.assertEqual(end["exitCode"], 1)
        self.assertEqual(condition(self.node("m2"), "Ready"), "True", "it is kept")
        self.kubectl("delete", "pod", "alone")
        self.assertEqual(self.texts(first), ["node m1 as described", "node m2 removed"])
        self.assertIsNone(self.node("m2"))
        self.assertEqual(second.leftovers(), [])
        self.assertEqual(self.texts(), ["node m1 removed"])
        self.assertEqual(first.leftovers(), [])

    # PRV-09, SEC-16
    def test_a_host_key_that_is_not_the_known_one_is_refused_with_what_helps(self):
        first, second = self.machines
        wrong = self.folder / "wrong"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong])
        (self.folder / "known_hosts").write_text(f"{first.address} {wrong.with_suffix('.pub').read_text()}")
        steps, end = self.provision(first, second, check=False)
        errors = {step["text"]: step["error"] for step in steps}
        self.assertIn(f"the host key of root@{first.address} port 22 differs from ", errors["machine m1"])
        self.assertIn(f"the host key of root@{second.address} port 22 is not in", errors["machine m2"])
        self.assertIn("ssh-keyscan", errors["machine m2"])
        self.assertEqual([text for text in errors.values() if "\n" in text], [])
        self.assertEqual(end["error"], "failed: m1, m2; fix the cause and run it again")
        for machine in self.machines:
            self.assertEqual(machine.leftovers(), [])
            self.assertIsNone(self.node(machine.name))

    # PRV-07, SEC-16
    @slow
    def test_a_second_run_is_refused_and_an_interrupted_one_leaves_no_token(self):
        first, second = self.machines
        refused = hashlib.sha256(pathlib.Path(PORTHOLE).read_bytes()).hexdigest()
        run(first.inside(["sh", "-c", f"echo {refused} > /run/refused"]))  # its join waits
        running = subprocess.Popen([str(word) for word in self.words(first)], env=self.cluster.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            eventually(lambda: self.tokens() or running.poll() is not None, 180, "the machine joins")
            self.assertIsNone(running.poll())
            _, end = self.provision(second, check=False)
            self.assertIn("another run for this cluster is in progress: ", end["error"])
            self.assertEqual(second.leftovers(), [])
            running.send_signal(signal.SIGINT)
            output, _ = running.communicate(timeout=120)
        finally:
            running.kill()
            running.communicate()
        end = json.loads(output.splitlines()[-1])
        self.assertEqual((end["exitCode"], end["error"]), (1, "interrupted; the next run continues where this one ended"))
        self.assertEqual(self.tokens(), [])
        run(first.inside(["rm", "/run/refused"]))
        self.assertEqual(self.texts(first), ["node m1 Ready"])
        self.assertEqual(self.texts(), ["node m1 removed"])
        self.assertEqual(first.leftovers(), [])

    # RUN-10
    @slow
    def test_agents_are_upgraded_one_by_one_and_rolled_back_where_they_do_not_come_back(self):
        first, second = self.machines
        self.provision(first, second)
        old = hashlib.sha256(first.program().read_bytes()).hexdigest()
        program = self.another_program()
        new = hashlib.sha256(program.read_bytes()).hexdigest()
        run(first.inside(["sh", "-c", f"echo {new} > /run/refused"]))
        steps, end = self.provision(first, second, program=program, options=["--ready-timeout", "20s"], check=False)
        self.assertIn("; the old program runs again", steps[-1]["error"])
        self.assertIn("the upgrade of m1 failed", end["error"])
        self.assertEqual([hashlib.sha256(machine.program().read_bytes()).hexdigest() for machine in self.machines], [old, old])
        self.assertNotIn("unschedulable", self.node("m1")["spec"])
        self.assertEqual(condition(self.node("m1"), "Ready"), "True")

        run(first.inside(["rm", "/run/refused"]))
        self.assertEqual(self.texts(first, second, program=program),
                         ["node m1 as described", "node m1 upgraded", "node m2 as described", "node m2 upgraded"])
        self.assertEqual([hashlib.sha256(machine.program().read_bytes()).hexdigest() for machine in self.machines], [new, new])
        self.assertEqual([path.name for path in (first.folder / "bin").iterdir()], ["porthole"])
        for machine in self.machines:
            self.assertEqual(condition(self.node(machine.name), "Ready"), "True")
            self.assertNotIn("unschedulable", self.node(machine.name)["spec"])
        self.assertEqual(self.texts(program=program), ["node m1 removed", "node m2 removed"])


if __name__ == "__main__":
    unittest.main()
