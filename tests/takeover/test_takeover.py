"""An etcd of upstream's API server is taken over by `porthole server` and given back: every object is the same for whoever reads it."""

import base64
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from comparison import objects, resources, unexpected  # noqa: E402
from control_plane_case import ControlPlane, NetworkCase  # noqa: E402
from harness import CLIENTS, TOOLS, eventually, run  # noqa: E402
from test_etcd_store import Etcd, make_certificates  # noqa: E402

UPSTREAM = TOOLS / "upstream-1.36"
PREFIX = "/taken"
READY = 120  # seconds, of a busy machine
SERVICES = "10.96.0.0/16"
ENCRYPTION = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, widgets.example.com]
  providers:
  - secretbox: {keys: [{name: one, secret: KEY}]}
  - identity: {}
- resources: [configmaps]
  providers:
  - aescbc: {keys: [{name: two, secret: KEY}]}
  - identity: {}
"""
SEALED = {"/secrets/shop/password": "secretbox:v1:one:", "/configmaps/shop/settings": "aescbc:v1:two:", "/example.com/widgets/shop/w": "secretbox:v1:one:"}


class Upstream:
    """kube-apiserver, without controllers: what is stored stays as it was asked for."""

    def __init__(self, network, folder, etcd):
        self.network, self.folder, self.etcd = network, folder, etcd
        self.token = secrets.token_hex(16)
        (folder / "tokens.csv").write_text(f"{self.token},admin,admin,system:masters\n")
        run(["openssl", "genpkey", "-algorithm", "RSA", "-out", folder / "sa.key"])
        self.kubeconfig = folder / "upstream.kubeconfig"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443", "certificate-authority": str(folder / "tls/ca.crt")}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        self.process = None

    def start(self):
        options = {
            "etcd-servers": self.etcd.urls(), "etcd-prefix": PREFIX, "bind-address": "127.0.0.1", "advertise-address": "192.0.2.1",
            "tls-cert-file": self.folder / "tls/etcd.crt", "tls-private-key-file": self.folder / "tls/etcd.key",
            "token-auth-file": self.folder / "tokens.csv", "authorization-mode": "RBAC", "service-cluster-ip-range": SERVICES,
            "service-account-issuer": "https://kubernetes.default.svc", "service-account-key-file": self.folder / "sa.key",
            "service-account-signing-key-file": self.folder / "sa.key", "encryption-provider-config": self.folder / "encryption.yaml",
            "endpoint-reconciler-type": "none", "disable-admission-plugins": "ServiceAccount,PersistentVolumeClaimResize", "watch-cache": "true"}
        words = [UPSTREAM, "kube-apiserver", *(f"--{name}={value}" for name, value in options.items())]
        with open(self.folder / "upstream.log", "a") as log:
            self.process = subprocess.Popen(self.network.inside([str(word) for word in words]), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            eventually(self.is_ready, READY, "upstream's server is ready", interval=0.5)
        except AssertionError as error:
            raise AssertionError((self.folder / "upstream.log").read_text()[-3000:]) from error

    def is_ready(self):
        return self.kubectl("get", "--raw", "/readyz", check=False).stdout == "ok"

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
            self.process = None

    def kubectl(self, *words, check=True, **options):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        return run(self.network.inside([str(CLIENTS["new"]), *map(str, words)]), env=environment, check=check, **options)


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@unittest.skipUnless(UPSTREAM.exists(), "upstream's API server is not built: ./run test takeover")
class Takeover(NetworkCase):
    def setUp(self):
        super().setUp()
        make_certificates(self.folder / "tls")
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        (self.folder / "encryption.yaml").write_text(ENCRYPTION.replace("KEY", key))
        self.etcd = Etcd(self.network, self.folder)
        self.addCleanup(self.etcd.stop)
        eventually(self.etcd.healthy, 30, "etcd is healthy")
        self.upstream = Upstream(self.network, self.folder, self.etcd)
        self.addCleanup(self.upstream.stop)
        self.ours = ControlPlane(self.network, self.folder)
        self.addCleanup(self.ours.stop)

    def start_ours(self):
        self.ours.start("--etcd-servers", self.etcd.urls(), "--etcd-prefix", PREFIX, "--service-cidr", SERVICES,
                        "--encryption-provider-config", self.folder / "encryption.yaml", "--endpoint-reconciler-type", "none")

    def create_all(self):
        request = self.folder / "request"
        run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ann",
             "-keyout", self.folder / "ann.key", "-out", request])
        text = (pathlib.Path(__file__).with_name("objects.yaml")).read_text()
        text = text.replace("REQUEST", base64.b64encode(request.read_bytes()).decode())
        (self.folder / "objects.yaml").write_text(text)
        documents = text.split("\n---\n")
        # Custom resources come when their definitions are served.
        late = [document for document in documents if "apiVersion: example.com/" in document]
        self.upstream.kubectl("create", "--validate=strict", "-f", "-", stdin="\n---\n".join(one for one in documents if one not in late))
        create = lambda: self.upstream.kubectl("create", "-f", "-", stdin="\n---\n".join(late), check=False)
        eventually(lambda: create().returncode == 0, 30, "custom resources are served", interval=1)

    def hold_leaderships(self, server):
        """Controllers and scheduler of ours stay away, as if upstream's ran: objects stay as they are."""
        for component in ("kube-controller-manager", "kube-scheduler"):
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": component, "namespace": "kube-system"},
                     "spec": {"holderIdentity": "upstream", "leaseDurationSeconds": 3600, "renewTime": "2096-01-02T03:04:05.000000Z"}}
            server.kubectl("create", "-f", "-", stdin=json.dumps(lease))

    def label_all(self, server, label):
        """A write of every object by the server."""
        done = server.kubectl("label", "--overwrite", "-f", self.folder / "objects.yaml", label, check=False, seconds=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_encryption(self, who):
        for key, prefix in SEALED.items():
            value = base64.b64decode(self.etcd.get(PREFIX + key)["value"])
            self.assertTrue(value.startswith(f"k8s:enc:{prefix}".encode()), f"{key}, as {who} has stored it: {value[:40]}")

    def check_taken(self, server, port):
        """Node ports that the other server has given away are known: it keeps them in a form of its own."""
        done = server.kubectl("create", "service", "nodeport", "second", "-n", "shop", "--tcp=80", f"--node-port={port}", check=False)
        self.assertIn("provided port is already allocated", done.stderr)

    def check_same(self, before, after):
        lines = unexpected(before, after)
        self.assertFalse(lines, "\n".join(lines))

    # API-14
    def test_every_object_is_the_same_there_and_back(self):
        self.upstream.start()
        self.create_all()
        self.hold_leaderships(self.upstream)
        self.check_encryption("upstream")
        paths = resources(self.upstream)
        before = objects(self.upstream, paths)
        self.upstream.stop()

        self.start_ours()
        self.assertEqual(paths - resources(self.ours), set(), "resources that are not served any more")
        taken = objects(self.ours, paths)
        self.check_same(before, taken)
        self.label_all(self.ours, "taken=over")
        self.ours.kubectl("delete", "configmap", "settings", "-n", "shop")
        self.ours.kubectl("create", "configmap", "settings", "-n", "shop", "--from-literal=a=2")
        self.ours.kubectl("scale", "widget/w", "-n", "shop", "--replicas=7")
        self.check_encryption("ours")
        self.check_taken(self.ours, 30080)
        self.ours.kubectl("create", "service", "nodeport", "ours", "-n", "shop", "--tcp=80", "--node-port=30081")
        changed = objects(self.ours, paths)
        self.ours.stop()
        self.ours.process = None

        self.upstream.start()
        eventually(lambda: paths <= resources(self.upstream), 30, "custom resources are served again", interval=1)
        self.check_same(changed, objects(self.upstream, paths))
        self.check_taken(self.upstream, 30081)
        self.label_all(self.upstream, "given=back")
        self.check_encryption("upstream, again")


if __name__ == "__main__":
    unittest.main()
