"""An upstream control plane on this machine, as `kubeadm init` makes one, in a network namespace without an uplink.

Certificates, kubeconfigs, bootstrap token, cluster-info and rights are made by kubeadm's own phases; the programs are started with the
arguments of the static pods that kubeadm writes. Only the pods themselves are left out: etcd and the three programs run as processes.
"""

import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness import CLIENTS, NEWEST_CLIENT, PORTHOLE, TOOLS, Network, eventually, fetched_through_forward, run  # noqa: E402

VERSIONS = {version: TOOLS / f"upstream-{version}" for version in ("1.20", "1.36", "newest")}
ADDRESS = "172.30.9.1"
POD_SUBNET, SERVICE_SUBNET, DOMAIN = "10.111.0.0/16", "10.222.0.0/16", "foreign.test"  # none of them is our default
CONTROL_PLANE_NODE = "control-plane"

# kubeadm's own files are made below the folder `root`, which its phases see as /.
KUBERNETES = "/etc/kubernetes"


def configuration(api, kubernetes_version):
    """What a user gives to `kubeadm init --config`."""
    documents = [
        {"apiVersion": f"kubeadm.k8s.io/{api}", "kind": "InitConfiguration",
         "localAPIEndpoint": {"advertiseAddress": ADDRESS, "bindPort": 6443},
         "nodeRegistration": {"name": CONTROL_PLANE_NODE, "criSocket": "unix:///run/containerd/containerd.sock"}},
        {"apiVersion": f"kubeadm.k8s.io/{api}", "kind": "ClusterConfiguration", "kubernetesVersion": kubernetes_version,
         "controlPlaneEndpoint": f"{ADDRESS}:6443",
         "networking": {"podSubnet": POD_SUBNET, "serviceSubnet": SERVICE_SUBNET, "dnsDomain": DOMAIN}},
    ]
    return yaml.safe_dump_all(documents)


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one version."""

    def __init__(self, version):
        self.version = version
        self.program = VERSIONS[version]
        self.network = Network(f"porthole-foreign-{os.getpid()}-{secrets.token_hex(2)}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-foreign-"))
        self.root = self.folder / "root"
        self.data = self.folder / "winnode"
        self.kubeconfig = self.root / "etc/kubernetes/admin.conf"
        self.processes = {}

    # --- kubeadm

    def kubeadm(self, *words, seconds=120, **options):
        """A command of kubeadm with `root` as its file system: it writes to fixed places below /etc."""
        command = ["chroot", self.root, "/kubeadm", "kubeadm", *words]
        return run(self.network.inside([str(word) for word in command]), seconds=seconds, env={"PATH": os.environ["PATH"], "HOME": "/"}, **options)

    def phase(self, *words, **options):
        return self.kubeadm("init", "phase", *words, "--config", "/config.yaml", **options)

    def prepare(self):
        for folder in ("etc/kubernetes", "tmp", "etc/ssl"):
            (self.root / folder).mkdir(parents=True)
        os.link(self.program, self.root / "kubeadm") if self.same_device() else shutil.copy(self.program, self.root / "kubeadm")
        api = "v1beta2" if self.version == "1.20" else "v1beta4"
        kubernetes_version = self.kubeadm("version", "-o", "short").stdout.strip()
        (self.root / "config.yaml").write_text(configuration(api, kubernetes_version))
        self.phase("certs", "all")
        self.phase("kubeconfig", "all")
        self.phase("control-plane", "all")

    def same_device(self):
        return os.stat(self.program).st_dev == os.stat(self.root).st_dev

    # --- the programs

    def start(self):
        run(["ip", "-n", self.network.name, "link", "add", "uplink", "type", "bridge"])
        run(["ip", "-n", self.network.name, "addr", "add", f"{ADDRESS}/24", "dev", "uplink"])
        run(["ip", "-n", self.network.name, "link", "set", "uplink", "up"])
        self.prepare()
        self.start_etcd()
        self.start_from_manifest("kube-apiserver")
        eventually(lambda: self.kubectl("get", "--raw", "/readyz").stdout == "ok", 120, "the API server is ready")
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.start_from_manifest(name)
        self.finish()

    def finish(self):
        """The rest of `kubeadm init`, which needs the API server: configuration for those who join, and their rights."""
        if self.version != "1.20":
            self.kubeadm("init", "phase", "kubeconfig", "super-admin", "--config", "/config.yaml", check=False)
            self.kubectl("create", "clusterrolebinding", "kubeadm:cluster-admins", "--clusterrole=cluster-admin",
                         "--group=kubeadm:cluster-admins", kubeconfig=self.root / "etc/kubernetes/super-admin.conf")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": CONTROL_PLANE_NODE, "labels": {
            "kubernetes.io/os": "linux", "kubernetes.io/hostname": CONTROL_PLANE_NODE}}}
        self.kubectl("create", "-f", "-", stdin=yaml.safe_dump(node))
        self.phase("upload-config", "all")
        self.phase("mark-control-plane")
        self.phase("bootstrap-token")

    def start_etcd(self):
        pki = self.root / "etc/kubernetes/pki/etcd"
        url = "https://127.0.0.1:2379"
        self.launch("etcd", [TOOLS / "etcd", "--name", "one", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
                             "--listen-client-urls", url, "--advertise-client-urls", url,
                             "--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
                             "--initial-cluster", "one=http://127.0.0.1:2380", "--client-cert-auth", "--trusted-ca-file", pki / "ca.crt",
                             "--cert-file", pki / "server.crt", "--key-file", pki / "server.key"])

    def start_from_manifest(self, name):
        """A static pod's command as a process; the program's name is its first argument."""
        manifest = yaml.safe_load((self.root / f"etc/kubernetes/manifests/{name}.yaml").read_text())
        words = [word.replace(KUBERNETES, str(self.root) + KUBERNETES) for word in manifest["spec"]["containers"][0]["command"]]
        self.launch(name, [self.program, *words])

    def launch(self, name, command):
        log = open(self.folder / f"{name}.log", "ab")
        words = self.network.inside([str(word) for word in command])
        self.processes[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        log.close()

    # --- for tests

    def environment(self, kubeconfig=None):
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(kubeconfig or self.kubeconfig), "LANG": "C.UTF-8",
                "NO_COLOR": "1"}

    def kubectl_command(self, *words):
        client = self.version if self.version in CLIENTS else NEWEST_CLIENT
        return self.network.inside([str(CLIENTS[client]), *map(str, words)])

    def kubectl(self, *words, kubeconfig=None, **options):
        return run(self.kubectl_command(*words), env=self.environment(kubeconfig), **options)

    def join_words(self):
        """What `kubeadm token create --print-join-command` tells a user to type: server, --token, …"""
        line = self.kubeadm("token", "create", "--print-join-command", "--kubeconfig", "/etc/kubernetes/admin.conf").stdout
        return line.strip().splitlines()[-1].split()[2:]

    def porthole(self, *words, **options):
        return run(self.network.inside([PORTHOLE, *words, "--data", self.data]), env=self.environment(), **options)

    def route(self, subnet, via="10.88.0.2"):
        """The way to a node's pods, as a Linux node of a host-gateway network has it."""
        run(["ip", "-n", self.network.name, "route", "replace", subnet, "via", via])

    def restart(self, name):
        """Ends one of the programs without notice and starts it anew."""
        self.processes[name].kill()
        self.processes[name].wait(10)
        self.start_from_manifest(name)

    def log_tails(self, lines=15):
        logs = [*self.folder.glob("*.log"), *self.data.glob("logs/*"), *self.data.glob("nodes/*/C/k/logs/*")]
        return "\n".join(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) for log in sorted(logs))

    def stop(self):
        """Ends everything in every case."""
        if self.data.exists():
            self.porthole("winnode", "leave", check=False, seconds=120)
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.network.delete()
        if os.environ.get("PORTHOLE_KEEP"):
            print(f"kept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
