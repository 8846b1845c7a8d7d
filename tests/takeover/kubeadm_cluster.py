"""A cluster of upstream's kubeadm with one Linux node of ours, whose etcd `porthole server` can take over by the steps of docs/guide/etcd.md."""

import base64
import json
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cluster"), str(ROOT / "tests/foreign"), str(ROOT / "tests/images")]

import make  # noqa: E402
from control_plane import ADDRESS, CONTROL_PLANE_NODE, DOMAIN, POD_SUBNET, SERVICE_SUBNET, ControlPlane  # noqa: E402
from harness import PORTHOLE, Network, condition, eventually, run  # noqa: E402
from joined_node import JoinedNode  # noqa: E402

VERSION = "1.36"
RIGHTS = ROOT / "packaging/windows/examples/foreign-cluster.yaml"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE = "worker"
NODE_ADDRESS, SERVERS_ADDRESS = "172.30.8.2", "172.30.8.1"
ISSUER = "https://tokens.foreign.test"  # kubeadm's default is ours
READY = 120  # seconds, of a busy machine
GRACE = 30  # seconds, that of kubeadm's static pods
ENCRYPTION = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: one, secret: KEY}]}
  - identity: {}
"""


class KubeadmCluster(ControlPlane):
    """Upstream's three programs, or ours in their place; the administrator's kubeconfig is kubeadm's with both."""

    def __init__(self):
        super().__init__(VERSION)
        self.kubernetes = self.root / "etc/kubernetes"
        self.encryption = self.kubernetes / "encryption.yaml"
        self.data = self.folder / "porthole"
        self.machine = Network(self.network.name + "-node")
        self.node = JoinedNode(NODE, self.machine, self.folder / "node")

    # --- upstream

    def prepare(self):
        super().prepare()
        self.encryption.write_text(ENCRYPTION.replace("KEY", base64.b64encode(secrets.token_bytes(32)).decode()))

    def launch(self, name, command):
        if name == "kube-apiserver":
            command = [word for word in command if not str(word).startswith("--service-account-issuer=")]
            command += [f"--encryption-provider-config={self.encryption}", f"--service-account-issuer={ISSUER}"]
        super().launch(name, command)

    def finish(self):
        """Also CoreDNS, as objects: its image is not here. The machine of the control plane is no node, as no kubelet runs there."""
        super().finish()
        self.kubectl("delete", "node", CONTROL_PLANE_NODE)
        self.phase("addon", "coredns")
        self.kubectl("scale", "-n", "kube-system", "deployment/coredns", "--replicas=0")

    def start_upstream(self):
        for name in PROGRAMS:
            self.start_from_manifest(name)
        self.wait_until_served()

    def end(self, *names):
        """As a kubelet ends containers: what takes its time, such as an API server with watches, is killed after a while."""
        for name in names:
            self.processes[name].send_signal(signal.SIGTERM)
        for name in names:
            process = self.processes.pop(name)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(READY)

    # --- ours

    def start_ours(self):
        pki = self.kubernetes / "pki"
        if not self.data.exists():
            self.data.mkdir(mode=0o700)
            shutil.copytree(pki, self.data / "pki")
        self.launch("porthole", [
            PORTHOLE, "server", "--data", self.data, "--advertise-address", ADDRESS,
            "--etcd-servers", "https://127.0.0.1:2379", "--etcd-cafile", pki / "etcd/ca.crt",
            "--etcd-certfile", pki / "apiserver-etcd-client.crt", "--etcd-keyfile", pki / "apiserver-etcd-client.key",
            "--service-cidr", SERVICE_SUBNET, "--cluster-cidr", POD_SUBNET, "--cluster-domain", DOMAIN,
            "--cluster-dns", SERVICE_SUBNET.replace(".0.0/16", ".0.10"), "--encryption-provider-config", self.encryption,
            "--service-account-issuer", ISSUER])
        self.wait_until_served()

    # --- both

    def wait_until_served(self):
        try:
            eventually(lambda: self.kubectl("get", "--raw", "/readyz").stdout == "ok", READY, "the API server is ready", interval=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_tails()}") from None

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)

    def leader(self, name):
        return self.get("lease", name, "-n", "kube-system")["spec"].get("holderIdentity", "")

    # --- the node

    def join_node(self):
        self.node.connect(self.network, SERVERS_ADDRESS, NODE_ADDRESS)
        self.node.start_containerd()
        make.make(self.folder / "images")
        run(self.node.ctr("images", "import", self.folder / "images/busybox.docker.tar"))
        self.kubectl("apply", "-f", RIGHTS)
        self.node.start_agent([PORTHOLE, "join", *self.join_words(), "--node-name", NODE, "--shared-disk", "--foreground", *self.node.flags])
        self.wait_for_node()

    def wait_for_node(self):
        try:
            eventually(lambda: condition(self.get("node", NODE), "Ready") == "True", READY, "the node is Ready", interval=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.node.log_end()}\n{self.log_tails()}") from None

    def stop(self):
        self.node.stop()
        self.machine.delete()
        shutil.rmtree(self.data, ignore_errors=True)  # no winnode is to leave
        super().stop()
