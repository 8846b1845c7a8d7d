"""Instructions of the server for one request, counted by callgrind: what does not depend on how fast or busy the machine is.

PORTHOLE_RELEASE=FILE counts another program, such as that of an earlier commit, to compare the two tables.
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import harness
import scheduling

REQUESTS = 1000
PODS, LISTS = 5000, 20  # of the row about lists
WATCHERS, CHANGES = 64, 200
NODES, BOUND = 100, 500
PROGRAM = os.environ.get("PORTHOLE_RELEASE", str(harness.PORTHOLE))  # another build, to compare with
COLLECTION, PODS_OF_DEFAULT = (f"/api/v1/namespaces/default/{kind}" for kind in ("configmaps", "pods"))


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"},
            "spec": {"containers": [{"name": "main", "image": harness.IMAGE}], **spec}}


class Server:
    """A control plane under callgrind, in a network namespace of its own."""

    def __init__(self, options):
        self.cluster = harness.Cluster()
        self.kubeconfig = self.cluster.data / "admin.kubeconfig"
        self.output = self.cluster.folder / "callgrind"
        words = ["valgrind", "-q", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={self.output}", PROGRAM, "server",
                 "--data", str(self.cluster.data), *[option.format(folder=self.cluster.folder) for option in options]]
        log = open(self.cluster.folder / "server.log", "w")
        self.process = subprocess.Popen(self.cluster.network.inside(words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.prepare()
        except BaseException:
            self.stop()
            raise

    def prepare(self):
        if not knows("--audit-log-path"):
            self.write_kubeconfig()
        harness.eventually(lambda: self.request("GET", "/readyz").get("text") == "ok", 120)
        self.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "bench"}})
        self.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "bench"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "bench", "namespace": "default"}]})
        review = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}}
        self.token = self.request("POST", "/api/v1/namespaces/default/serviceaccounts/bench/token", review)["status"]["token"]
        self.url = re.search(r"server:\s*(\S+)", self.kubeconfig.read_text()).group(1)
        harness.eventually(lambda: self.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").get("kind") == "ServiceAccount", 60)
        time.sleep(20)  # what the start still does

    def write_kubeconfig(self):
        """What `up` did for a server that writes none itself, one of before audit."""
        pki = self.cluster.data / "pki"
        files = {"certificate-authority-data": "ca.crt", "client-certificate-data": "admin.crt", "client-key-data": "admin.key"}
        harness.eventually(lambda: all((pki / file).exists() for file in files.values()), 60)
        fields = {field: base64.b64encode((pki / file).read_bytes()).decode() for field, file in files.items()}
        self.kubeconfig.write_text("".join(f"{key}: {value}\n" for key, value in {"server": "https://127.0.0.1:6443", **fields}.items()))

    def request(self, method, path, body=None):
        script = pathlib.Path(harness.__file__).with_name("raw_request.py")
        done = harness.run(self.cluster.network.inside([sys.executable, str(script), str(self.kubeconfig), method, path]),
                           stdin=json.dumps(body) if body else "", check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {}

    def count(self, path, *options, requests=REQUESTS):
        """Instructions of one request, of each thread, the busiest first."""
        self.send(max(1, requests // 10), path, *options)
        return self.count_during(lambda: self.send(requests, path, *options), requests)

    def count_during(self, work, parts):
        """Instructions of each thread for one of the `parts` of the work, the busiest first."""
        subprocess.run(["callgrind_control", "-z", str(self.process.pid)], check=True, capture_output=True)
        work()
        before = set(self.output.parent.glob("callgrind.*"))
        subprocess.run(["callgrind_control", "-d", str(self.process.pid)], check=True, capture_output=True)
        totals = harness.eventually(lambda: self.totals(set(self.output.parent.glob("callgrind.*")) - before), 60)
        return sorted((total / parts for total in totals), reverse=True)

    def count_lists(self):
        self.create(PODS_OF_DEFAULT, pod(schedulerName="nobody"), PODS)
        return self.count(PODS_OF_DEFAULT, requests=LISTS)

    def count_fan_out(self):
        """Of an event at one watcher, with its part of the create."""
        watch = self.h2load(WATCHERS, f"{COLLECTION}?watch=1&timeoutSeconds=3600&resourceVersion=0&labelSelector=watched")
        watching = subprocess.Popen(self.cluster.network.inside(watch), stdout=subprocess.DEVNULL)
        try:
            time.sleep(10)  # all watch by now

            def change():
                thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "e-", "labels": {"watched": ""}}}
                # One at a time: how many events a watcher is woken for would depend on how requests happen to meet.
                self.send(CHANGES, COLLECTION, *self.body(thing), "-m", "1")
                time.sleep(3)  # the last events
            return self.count_during(change, CHANGES * WATCHERS)
        finally:
            watching.terminate()
            watching.wait(10)

    def count_bindings(self):
        """Of a pod that is created and bound."""
        node = scheduling.node(0)
        node["metadata"] = {"generateName": "sim-", "labels": node["metadata"]["labels"] | {"sim": "1"}}
        self.create("/api/v1/nodes", node, NODES)
        time.sleep(10)  # what the controllers do with them

        def bind():
            self.create(PODS_OF_DEFAULT, pod(nodeSelector={"sim": "1"}, tolerations=[{"operator": "Exists"}]), BOUND)
            harness.eventually(lambda: scheduling.bound(self.request("GET", "/metrics").get("text", "")) >= BOUND, 300, interval=5)
        return self.count_during(bind, BOUND)

    @staticmethod
    def totals(files):
        """Of a dump's files, one a thread; nothing until they are there and whole."""
        found = [re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE) for file in files]
        return [int(one.group(1)) for one in found] if all(found) else None

    def send(self, count, path, *options):
        text = harness.run(self.cluster.network.inside(self.h2load(count, path, "-m", "4", *options)), seconds=600).stdout
        if f"status codes: {count} 2xx" not in text:
            raise AssertionError(text)

    def h2load(self, count, path, *options):
        return ["h2load", "-n", str(count), "-c", "1", "-m", str(WATCHERS), "-H", f"authorization: Bearer {self.token}", "-H", "accept: application/json",
                *options, self.url + path]

    def create(self, path, thing, count):
        self.send(count, path, *self.body(thing))

    def body(self, thing):
        file = self.cluster.folder / "body.json"
        file.write_text(json.dumps(thing))
        return ["-H", "content-type: application/json", "-d", str(file)]

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.cluster.stop()


def count_scheduling():
    """Instructions of API server and scheduler for a pod, from the scheduler's start to the last of 1,000 bindings on 5,000 nodes."""
    program = pathlib.Path(__file__).resolve().parents[1] / "build/release/bench/scheduler_bench"
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null", str(program),
                           "--benchmark_filter=BM_OneLoop/nodes:5000/pods:1000/"], check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / 1000


def knows(option):
    """Whether the program has it: an older one may not."""
    return option in subprocess.run([PROGRAM, "server", "--help"], capture_output=True, text=True).stdout


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "bench-"}, "data": {"text": "x" * 1700}}
# What a row is about, and its instructions in each thread.
WORK = (("get", lambda server: server.count("/api/v1/namespaces/kube-system")),
        ("list of 10 namespaces and fewer", lambda server: server.count("/api/v1/namespaces")),
        ("create, 2 KB", lambda server: server.count(COLLECTION, *server.body(CONFIG_MAP))),
        (f"event, {WATCHERS} watchers", Server.count_fan_out),
        (f"list of {PODS:,} pods", Server.count_lists),
        (f"pod bound, {NODES} nodes", Server.count_bindings))


def run(table):
    if "PORTHOLE_RELEASE" not in os.environ:
        table.row("scheduling, 5,000 nodes: instructions a pod, with the lists", f"{count_scheduling():,.0f}", "", "")
    servers = [("audit off", [], WORK)]
    if knows("--audit-log-path"):
        servers.append(("the default audit policy", ["--audit-log-path", "{folder}/audit.log"], WORK))
    if knows("--connection-thread"):
        servers.append(("connections on their own thread", ["--connection-thread=true"], WORK[:3]))
    first = {}  # with audit off
    for label, options, work in servers:
        server = Server(options)
        try:
            for what, count in work:
                threads = count(server)
                total = sum(threads)
                off = first.setdefault(what, total)
                table.row(f"{what}, {label}: instructions", f"{total:,.0f}", "", "" if off == total else f"{total / off - 1:+.1%} to audit off")
                # With one processor for each thread, no more requests than this thread can serve: a bound, not a measured rate.
                table.row(f"{what}, {label}: share of the busiest thread", f"{threads[0] / total:.0%}", "a third" if "create" in what else "", "")
        finally:
            server.stop()
