"""A Linux machine that joins a cluster by `porthole join`: a containerd and an agent of its own in a network namespace."""

import os
import pathlib
import subprocess

from harness import CLIENTS, PORTHOLE, eventually, remove_control_groups, run
from test_join import CONTAINERD


class JoinedNode:
    def __init__(self, name, network, folder, porthole=PORTHOLE):
        self.name, self.network, self.folder, self.porthole = name, network, folder, porthole
        self.data, self.kubeconfig = folder / "agent", folder / "agent/kubeconfig"
        self.socket, self.log = folder / "containerd.sock", folder / "agent.log"
        self.cgroup = network.name
        self.flags = ["--data", self.data, "--container-runtime-endpoint", self.socket, "--cni-conf-dir", folder / "cni",
                      "--cgroup-root", "/" + self.cgroup]
        self.agent = self.containerd = None

    def inside(self, words):
        return self.network.inside([str(word) for word in words])

    def connect(self, server, address, own):
        """A link from the server's namespace, where it gets `address`, to this machine's. Nothing leads anywhere else."""
        run(["ip", "-n", server.name, "link", "add", "servers", "type", "veth", "peer", "eth0", "netns", self.network.name])
        for network, link, one in ((server, "servers", address), (self.network, "eth0", own)):
            run(["ip", "-n", network.name, "address", "add", one + "/24", "dev", link])
            run(["ip", "-n", network.name, "link", "set", link, "up"])
        run(["ip", "-n", self.network.name, "route", "add", "default", "via", address])  # looked up for a service's address before it is rewritten

    def start_containerd(self):
        (self.folder / "cni").mkdir(parents=True)
        (self.folder / "containerd.toml").write_text(CONTAINERD.format(folder=self.folder))
        self.containerd = subprocess.Popen(self.inside(["containerd", "--config", self.folder / "containerd.toml"]), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        eventually(lambda: run(self.ctr("version"), check=False).returncode == 0, 60, "containerd answers")

    def ctr(self, *words):
        return self.inside(["ctr", "--address", self.socket, "--namespace", "k8s.io", *words])

    def join(self, servers, control_plane, data):
        """`servers`: URLs. The token is created in the namespace and with the data of one of them."""
        words = run(control_plane.inside([str(self.porthole), "token", "create", "--print-join-command", "--data", str(data)])).stdout.split()
        token, ca_hash = words[words.index("--token") + 1], words[words.index("--ca-cert-hash") + 1]
        self.start_agent([self.porthole, "join", "--server", ",".join(servers), "--token", token, "--ca-cert-hash", ca_hash, "--node-name", self.name,
                          "--shared-disk", "--foreground", *self.flags])

    def start_agent(self, words):
        with open(self.log, "ab") as log:
            self.agent = subprocess.Popen(self.inside(words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def end_agent(self):
        if self.agent:
            self.agent.terminate()
            self.agent.wait(60)
            self.agent = None

    def stop(self):
        self.end_agent()
        if self.containerd:
            run(self.inside([self.porthole, "reset", *self.flags]), check=False)
            self.containerd.terminate()
            self.containerd.wait(60)
        remove_control_groups(self.cgroup)

    def known_servers(self):
        """What the node has written down: address → state."""
        lines = (self.data / "servers").read_text().splitlines()
        return {line.split()[1]: line.split(" ", 2)[2] if line.count(" ") > 1 else "" for line in lines}

    def in_use(self):
        return next((url for url, state in self.known_servers().items() if state.endswith("in use")), None)

    def ask(self):
        """A request with the node's own kubeconfig, which names its own address."""
        return run(self.inside([CLIENTS["new"], "--kubeconfig", self.kubeconfig, "--request-timeout", "20s", "get", "node", self.name]),
                   check=False, env={"PATH": os.environ["PATH"], "HOME": str(self.folder)})

    def log_end(self):
        return pathlib.Path(self.log).read_text(errors="replace")[-4000:]
