#!/usr/bin/env python3
"""Makes tests/upgrade/kept/VERSION of a running program: record.py VERSION [--plain-secrets], with the program in PORTHOLE. Needs root.

The program's server is given the objects of tests/takeover and a history of changes, and stopped: that is the data directory, and what it served.
Then kubectl, Helm and a node's agent of the same program work with it through recording_proxy.py, in turn. With --plain-secrets, only the directory
is kept: its secrets are not encrypted, as before versions did that by themselves.
"""

import base64
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

from control_plane_case import ControlPlane  # noqa: E402
from harness import CLIENTS, PORTHOLE, TOOLS, Network, eventually, run  # noqa: E402
from joined_node import JoinedNode  # noqa: E402
from kept_versions import Kept  # noqa: E402
from manifests import container, pod  # noqa: E402
from raw_request import read_field  # noqa: E402

SERVER, NODE = "10.90.0.1", "10.90.0.20"
SERVER_PORT = 7443  # while the proxy has the usual one
WATCHED = ["/api/v1/configmaps", "/api/v1/secrets", "/api/v1/pods", "/api/v1/services", "/api/v1/events", "/apis/apps/v1/deployments",
           "/apis/apps/v1/replicasets", "/apis/coordination.k8s.io/v1/leases", "/apis/example.com/v1/widgets"]
SETTLED = 20  # seconds until controllers that look again and again have looked twice
QUIET = 3  # seconds without a change
NO_ENCRYPTION = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
                 "resources": [{"resources": ["secrets"], "providers": [{"identity": {}}]}]}
AGENT_SECONDS = 25  # in which a node's agent sends what it sends again and again


class Recorder:
    def __init__(self, version):
        self.kept = Kept(version)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
        mark = f"{os.getpid()}-{secrets.token_hex(2)}"
        self.network, self.machine = Network(f"porthole-test-{mark}"), Network(f"porthole-node-{mark}")
        self.server = ControlPlane(self.network, self.folder)
        self.node = JoinedNode("recorded", self.machine, self.folder / "node")
        self.proxy, self.kubeconfig = None, self.server.kubeconfig

    def close(self):
        self.node.stop()
        if self.proxy:
            self.proxy.kill()
            self.proxy.wait(60)
        self.server.stop()
        for network in (self.machine, self.network):
            network.delete()
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self, program, *words, stdin=None, check=False):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        done = run(self.network.inside([str(program), *map(str, words)]), env=environment, stdin=stdin, check=check)
        if done.returncode != 0:
            print(f"  {pathlib.Path(program).name} {' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()[:200]}")
        return done

    def kubectl(self, *words, **options):
        return self.client(CLIENTS["new"], *words, **options)

    # --- what is kept of the store

    def create_objects(self):
        request = self.folder / "request"
        run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ann",
             "-keyout", self.folder / "ann.key", "-out", request])
        text = (HERE.parent / "takeover/objects.yaml").read_text().replace("REQUEST", base64.b64encode(request.read_bytes()).decode())
        # An older version may not have all kinds. Custom resources come when their definitions are served.
        for document in text.split("\n---\n"):
            attempts = 20 if "apiVersion: example.com/" in document else 1
            while self.kubectl("create", "--validate=false", "-f", "-", stdin=document).returncode != 0 and (attempts := attempts - 1) > 0:
                time.sleep(0.5)

    def change_objects(self):
        """A history: what was changed, deleted and created again can be watched from before."""
        for name in ("kept", "deleted", "again"):
            self.kubectl("create", "configmap", name, "-n", "shop", "--from-literal=a=1")
        self.kubectl("label", "configmap", "kept", "-n", "shop", "changed=yes")
        self.kubectl("delete", "configmap", "deleted", "again", "-n", "shop")
        self.kubectl("create", "configmap", "again", "-n", "shop", "--from-literal=a=2")
        self.kubectl("create", "secret", "generic", "gone", "-n", "shop", "--from-literal=a=b")
        self.kubectl("delete", "secret", "gone", "-n", "shop")
        self.kubectl("patch", "widget", "w", "-n", "shop", "--type=merge", "-p", '{"spec":{"size":5}}')
        self.kubectl("set", "image", "deployment/web", "-n", "shop", "c=i:2")

    def wait_quiet(self):
        since, last = time.monotonic(), None
        while time.monotonic() - since < QUIET:
            now = json.loads(self.kubectl("get", "--raw", "/api/v1/namespaces?limit=1", check=True).stdout)["metadata"]["resourceVersion"]
            if now != last:
                since, last = time.monotonic(), now
            time.sleep(0.2)

    def without_encryption(self):
        path = self.folder / "encryption.json"
        path.write_text(json.dumps(NO_ENCRYPTION))
        return ["--encryption-provider-config", path]

    def keep_state(self, *options):
        self.server.start(*options)
        eventually(lambda: self.server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 60, "the namespace default")
        self.create_objects()
        self.change_objects()
        time.sleep(SETTLED)
        self.wait_quiet()
        served = run(self.network.inside([sys.executable, str(HERE / "earlier_api.py"), "serve", str(self.server.kubeconfig), ",".join(WATCHED)]),
                     seconds=200).stdout
        self.server.stop()
        self.kept.keep_served(json.loads(served))
        self.kept.keep_data(self.folder / "data")

    # --- what clients ask

    def start_proxy(self):
        self.node.connect(self.network, SERVER, NODE)
        # Nodes would leave the proxy for what the cluster lists as its server.
        flag = "--endpoint-reconciler-type"
        unlisted = [flag, "none"] if flag in run([PORTHOLE, "server", "--help"]).stdout else []
        self.server.start("--port", SERVER_PORT, "--advertise-address", SERVER, *unlisted)
        self.kubeconfig = self.folder / "proxy.kubeconfig"
        text = self.server.kubeconfig.read_text()
        self.kubeconfig.write_text(text.replace(read_field(text, "server"), "https://127.0.0.1:6443"))
        self.proxy = subprocess.Popen(self.network.inside([sys.executable, str(HERE / "recording_proxy.py"), str(self.folder / "data"),
                                                           "6443", str(self.folder / "requests"), str(SERVER_PORT)]), stdout=subprocess.PIPE, text=True)
        self.proxy.stdout.readline()
        eventually(lambda: self.kubectl("get", "--raw", "/readyz").stdout == "ok", 20, "the server answers through the proxy")

    def record_clients(self):
        for name, program in CLIENTS.items():
            for words, stdin in kubectl_commands("new" if name == "new" else "old", name == "new"):
                self.client(program, *words, stdin=stdin)
        chart = HERE.parent / "cluster/charts/shop"
        for words in (["install", "store", chart], ["upgrade", "store", chart, "--set", "colour=blue,replicas=2"], ["rollback", "store", "1"],
                      ["list"], ["uninstall", "store"]):
            self.client(TOOLS / "helm", "-n", "shop", *words)

    def record_agent(self):
        """A node comes, runs two pods, and takes one away."""
        # What a scheduler or a controller would place on the node, when it chooses, and by names of its own.
        for kind, name in (("daemonset", "agent"), ("deployment", "web"), ("statefulset", "db"), ("job", "new-job"), ("job", "old-job")):
            self.kubectl("delete", kind, name, "-n", "shop", "--wait=false")
        import make
        make.make(self.folder / "images")
        self.node.start_containerd()
        run(self.node.ctr("images", "import", self.folder / "images/busybox.docker.tar"))
        self.node.join([f"https://{SERVER}:6443"], self.network, self.folder / "data")
        node = lambda: json.loads(self.kubectl("get", "node", "recorded", "-o", "json").stdout)
        ready = lambda: any(one["type"] == "Ready" and one["status"] == "True" for one in node()["status"]["conditions"])
        eventually(ready, 60, "the node is Ready")
        for name in ("served", "removed"):
            self.bind(pod(name, container(), schedulerName="none"), "recorded")
        phase = lambda name: json.loads(self.kubectl("get", "pod", name, "-n", "shop", "-o", "json").stdout)["status"]["phase"]
        try:
            for name in ("served", "removed"):
                eventually(lambda: phase(name) == "Running", 120, f"pod {name} runs", patience=1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.kubectl('describe', 'pod', 'served', '-n', 'shop').stdout}\n{self.node.log_end()}") from None
        time.sleep(AGENT_SECONDS)
        self.kubectl("delete", "pod", "removed", "-n", "shop", "--grace-period=1")
        self.node.end_agent()

    def bind(self, created, node):
        """As a scheduler does it."""
        self.kubectl("create", "-n", "shop", "-f", "-", stdin=json.dumps(created))
        name = created["metadata"]["name"]
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": "shop"},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        self.kubectl("create", "--raw", f"/api/v1/namespaces/shop/pods/{name}/binding", "-f", "-", stdin=json.dumps(binding))

    def record(self):
        self.keep_state()
        self.start_proxy()
        self.record_clients()
        self.record_agent()
        self.kept.keep_requests([json.loads(line) for line in (self.folder / "requests").read_text().splitlines()])


def kubectl_commands(name, is_new):
    """(words, input) of each command. Names differ from client to client; nothing waits for what a controller does."""
    workload = lambda image: json.dumps({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"{name}-web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"nodeSelector": {"nowhere": "yes"}, "containers": [{"name": "c", "image": image}]}}}})
    settings = lambda value: json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-settings"}, "data": {"a": value}})
    widget = lambda size: json.dumps({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}})
    file, deployment = ["-f", "-"], f"deployment/{name}-web"
    commands = [
        (["create", "configmap", f"{name}-created", "--from-literal=a=b"], None),
        (["create", "configmap", f"{name}-created", "--from-literal=a=b"], None),  # it exists
        (["create", *file], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Wrong_Name}\n"),
        (["create", "secret", "generic", f"{name}-secret", "--from-literal=password=x"], None),
        (["create", "serviceaccount", f"{name}-account"], None),
        (["create", "role", f"{name}-role", "--verb=get,list", "--resource=pods"], None),
        (["create", "rolebinding", f"{name}-role", f"--role={name}-role", f"--serviceaccount=shop:{name}-account"], None),
        (["create", "quota", f"{name}-quota", "--hard=pods=50"], None),
        (["create", "job", f"{name}-job", "--image=i", "--", "true"], None),
        (["apply", *file], settings("1")), (["apply", *file], settings("2")), (["apply", *file], settings("2")),
        (["apply", *file], workload("i:1")), (["apply", *file], workload("i:2")),
        (["apply", "--server-side", *file], settings("3")),  # against the fields of the client's own apply
        (["apply", "--server-side", "--force-conflicts", *file], settings("3")),
        (["apply", *file], widget(1)), (["apply", *file], widget(2)), (["apply", *file], widget("large")),
        (["patch", "configmap", f"{name}-settings", "--type=merge", "-p", '{"data":{"b":"1","a":null}}'], None),
        (["patch", "configmap", f"{name}-settings", "--type=json", "-p", '[{"op":"replace","path":"/data/b","value":"2"}]'], None),
        (["patch", "configmap", f"{name}-settings", "--type=json", "-p", '[{"op":"test","path":"/data/b","value":"9"}]'], None),
        (["patch", deployment, "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"j"}]}}}}'], None),
        (["label", "configmap", f"{name}-settings", "x=y"], None), (["annotate", "configmap", f"{name}-settings", "x=y"], None),
        (["set", "image", deployment, "c=i:3"], None), (["set", "env", deployment, "A=b"], None), (["set", "resources", deployment, "--limits=cpu=1"], None),
        (["expose", deployment, "--port=80", "--target-port=8080"], None),
        (["create", "service", "nodeport", f"{name}-port", "--tcp=80:8080"], None),
        (["patch", "pod", "web-0", "--type=merge", "-p", '{"spec":{"containers":[]}}'], None),  # refused
        (["replace", *file], settings("4")),
        (["taint", "node", "n1", f"{name}=x:NoSchedule"], None), (["taint", "node", "n1", f"{name}-"], None), (["cordon", "n1"], None), (["uncordon", "n1"], None),
        (["auth", "can-i", "create", "pods"], None), (["auth", "can-i", "create", "pods", f"--as=system:serviceaccount:shop:{name}-account"], None),
        (["get", "secret", f"{name}-secret", f"--as=system:serviceaccount:shop:{name}-account"], None),
        (["get", "configmap", f"{name}-settings", "-o", "json"], None), (["get", "configmaps"], None), (["get", "services", "web", "-o", "wide"], None),
        (["get", "widgets"], None), (["get", "nothing"], None), (["get", "configmap", "missing"], None),
        (["delete", "configmap", f"{name}-created", "--wait=false"], None), (["delete", "secret", f"{name}-secret", "--wait=false"], None),
        (["delete", "widget", name, "--wait=false"], None)]
    if is_new:
        commands += [(["patch", "widget", "w", "--subresource=status", "--type=merge", "-p", '{"status":{"size":7}}'], None),
                     (["scale", "widget/w", "--replicas=3"], None), (["create", "token", "web", "--duration=1h"], None),
                     (["create", *file, "--dry-run=server"], settings("5").replace("settings", "dry")), (["auth", "whoami"], None)]
    return [(["-n", "shop", *words], stdin) for words, stdin in commands]


def main():
    version, *options = sys.argv[1:]
    print(f"recording {version} of {PORTHOLE}")
    recorder = Recorder(version)
    try:
        if options == ["--plain-secrets"]:
            recorder.keep_state(*recorder.without_encryption())
        else:
            recorder.record()
    finally:
        recorder.close()


if __name__ == "__main__":
    main()
