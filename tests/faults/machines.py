"""Three machines of network namespaces on one bridge without an uplink, each with a member of etcd and a server. Where they have small disks
of their own for etcd's data, the caller has a namespace of mounts of its own."""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))
from harness import PORTHOLE, TOOLS, Network, eventually, raw_request, run  # noqa: E402

NAMES = "abc"
ADDRESSES = {name: f"10.89.78.{number}" for number, name in enumerate(NAMES, 1)}
HUB = "10.89.78.254"
DISK_MEGABYTES = 2000  # etcd reserves 64 for each of two logs, and grows by some 40 with each full disk
BLKIO, CGROUP2 = pathlib.Path("/sys/fs/cgroup/blkio"), pathlib.Path("/sys/fs/cgroup")


def program(name):
    found = TOOLS / name
    return str(found) if found.exists() else shutil.which(name)


def connect(network, hub, name, address):
    """A link `name` from the bridge to eth0 of another namespace."""
    run(["ip", "link", "add", "eth0", "netns", network.name, "type", "veth", "peer", "name", name, "netns", hub.name])
    run(["ip", "-n", network.name, "address", "add", f"{address}/24", "dev", "eth0"])
    run(["ip", "-n", network.name, "link", "set", "eth0", "up"])
    run(["ip", "-n", hub.name, "link", "set", "dev", name, "up", "master", "bridge"])


class Machine:
    def __init__(self, name, hub, folder, small_disk, porthole):
        self.name, self.address, self.folder = name, ADDRESSES[name], folder / name
        self.porthole = porthole
        self.disk = self.folder / "disk"
        self.disk.mkdir(parents=True)
        self.network = Network(f"{hub.name}-{name}")
        self.processes, self.loop = {}, None
        connect(self.network, hub, name, self.address)
        if small_disk:
            self._make_disk()

    def _make_disk(self):
        image = self.folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(DISK_MEGABYTES << 20)
        run(["mkfs.ext4", "-q", image])
        self.loop = run(["losetup", "--find", "--show", image]).stdout.strip()
        run(["mount", self.loop, self.disk])

    def start_etcd(self):
        peer, client = f"http://{self.address}:2380", f"http://{self.address}:2379"
        cluster = ",".join(f"{name}=http://{address}:2380" for name, address in ADDRESSES.items())
        self._start("etcd", [program("etcd"), "--name", self.name, "--data-dir", self.disk / "etcd", "--listen-client-urls", client,
                             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                             "--initial-cluster", cluster])

    def start_server(self, clock=None):
        """`clock`: seconds by which the server's clock is ahead of the machine's, by Debian's faketime."""
        skewed = ["faketime", "-m", "-f", f"{clock:+d}s"] if clock else []
        urls = ",".join(f"http://{address}:2379" for address in ADDRESSES.values())
        self._start("server", [*skewed, self.porthole, "server", "--data", self.folder / "data", "--etcd-servers", urls, "--server-token-file",
                               self.folder.parent / "token", "--bind-address", self.address, "--advertise-address", self.address],
                    env={**os.environ, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})

    def start(self):
        self.start_etcd()
        self.start_server()

    def _start(self, what, words, **options):
        with open(self.folder / f"{what}.log", "a") as log:
            self.processes[what] = subprocess.Popen(self.network.inside([str(word) for word in words]), stdin=subprocess.DEVNULL,
                                                    stdout=log, stderr=log, start_new_session=True, **options)

    def signal(self, number, *what):
        """To what it names; without names, to everything that runs here."""
        for name in what or list(self.processes):
            if self.processes[name].poll() is None:
                os.killpg(self.processes[name].pid, number)

    def kill(self, *what):
        self.signal(signal.SIGKILL, *what)
        for name in what or list(self.processes):
            self.processes.pop(name).wait(120)

    def has_ended(self, what):
        return what not in self.processes or self.processes[what].poll() is not None

    def restart_what_ended(self):
        for what, start in (("etcd", self.start_etcd), ("server", self.start_server)):
            if self.has_ended(what):
                start()

    @property
    def kubeconfig(self):
        return self.folder / "data/admin.kubeconfig"

    def is_ready(self, hub):
        answer = raw_request(hub, self.kubeconfig, "GET", "/readyz", seconds=5).strip()
        assert json.loads(answer).get("text") == "ok", answer
        return True

    @contextlib.contextmanager
    def filtered(self, text):
        """With nftables rules for the packets that come to this machine."""
        run(self.network.inside(["nft", "-f", "-"]), stdin="table inet faults { chain in { type filter hook input priority 0; %s\n}\n}\n" % text)
        try:
            yield
        finally:
            run(self.network.inside(["nft", "delete", "table", "inet", "faults"]))

    def from_others(self, verdict, others=NAMES):
        return " ".join(f"ip saddr {ADDRESSES[name]} {verdict};" for name in others if name != self.name)

    @contextlib.contextmanager
    def limited_writes(self, per_second):
        """Of etcd to its disk, by a control group of version 1 or 2."""
        number = os.stat(self.loop).st_rdev
        device, pid = f"{os.major(number)}:{os.minor(number)}", str(self.processes["etcd"].pid)
        root, limit = (BLKIO, "blkio.throttle.write_iops_device") if BLKIO.exists() else (CGROUP2, "io.max")
        group = root / self.network.name
        group.mkdir()
        try:
            if not (group / limit).exists():
                raise unittest.SkipTest("this machine's control groups cannot limit writes to a disk")
            (group / limit).write_text(f"{device} {per_second}" if root == BLKIO else f"{device} wiops={per_second}")
            (group / "cgroup.procs").write_text(pid)
            yield
        finally:
            for task in (group / "cgroup.procs").read_text().split():
                (root / "cgroup.procs").write_text(task)
            group.rmdir()

    def end(self):
        self.kill()
        if self.loop:
            run(["umount", self.disk], check=False)
            run(["losetup", "--detach", self.loop], check=False)
        self.network.delete()


class Machines:
    """All three, and the clients of their servers (fault_clients.cc)."""

    def __init__(self, folder, small_disks=True, porthole=PORTHOLE):
        self.folder = folder
        (folder / "token").write_text(secrets.token_hex(32) + "\n")
        (folder / "token").chmod(0o600)
        self.hub = Network(f"porthole-test-{os.getpid()}-{secrets.token_hex(2)}")
        run(["ip", "-n", self.hub.name, "link", "add", "bridge", "type", "bridge"])
        run(["ip", "-n", self.hub.name, "address", "add", f"{HUB}/24", "dev", "bridge"])
        run(["ip", "-n", self.hub.name, "link", "set", "bridge", "up"])
        self.all = [Machine(name, self.hub, folder, small_disks, porthole) for name in NAMES]
        self.clients = None

    def start(self):
        for machine in self.all:
            machine.start_etcd()
        time.sleep(1)  # a first election, which the servers would wait for
        for machine in self.all:
            machine.start_server()
        self.wait_until_ready()

    def start_clients(self):
        words = [str(PORTHOLE.parents[1] / "tests/fault_clients"), *(str(machine.kubeconfig) for machine in self.all)]
        self.clients = subprocess.Popen(self.hub.inside(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self):
        for machine in self.all:
            eventually(lambda: machine.is_ready(self.hub), 60, f"the server of machine {machine.name} is ready")

    def ask_clients(self, line):
        self.clients.stdin.write(line + "\n")
        self.clients.stdin.flush()
        answer = self.clients.stdout.readline()
        return (answer if answer.startswith(("ok", *"0123456789")) else answer + self.clients.stdout.read()).strip()

    def answers(self):
        """How many answers each server has given to the clients that stay with it, by the machine's name."""
        return dict(zip(NAMES, map(int, self.ask_clients("count").split())))

    def etcdctl(self, *words, **options):
        urls = ",".join(f"http://{address}:2379" for address in ADDRESSES.values())
        return run(self.hub.inside([program("etcdctl"), "--endpoints", urls, *words]), env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"},
                   **options).stdout

    def end(self):
        if self.clients:
            self.clients.kill()
            self.clients.wait(120)
        for machine in self.all:
            machine.end()
        self.hub.delete()
