"""Instructions of the server for one request, counted by callgrind: what does not depend on how fast or busy the machine is."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import harness

REQUESTS = 1000
PROGRAM = os.environ.get("PORTHOLE_RELEASE", str(harness.PORTHOLE))  # another build, to compare with
COLLECTION = "/api/v1/namespaces/default/configmaps"


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
        harness.eventually(lambda: self.request("GET", "/readyz").get("text") == "ok", 120)
        self.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "bench"}})
        self.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "bench"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "bench", "namespace": "default"}]})
        review = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}}
        self.token = self.request("POST", "/api/v1/namespaces/default/serviceaccounts/bench/token", review)["status"]["token"]
        self.url = re.search(r"server:\s*(\S+)", self.kubeconfig.read_text()).group(1)
        time.sleep(20)  # what the start still does

    def request(self, method, path, body=None):
        script = pathlib.Path(harness.__file__).with_name("raw_request.py")
        done = harness.run(self.cluster.network.inside([sys.executable, str(script), str(self.kubeconfig), method, path]),
                           stdin=json.dumps(body) if body else "", check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {}

    def count(self, path, *options):
        """Instructions of one request, of each thread, the busiest first."""
        self.send(REQUESTS // 10, path, *options)
        subprocess.run(["callgrind_control", "-z", str(self.process.pid)], check=True, capture_output=True)
        self.send(REQUESTS, path, *options)
        before = set(self.output.parent.glob("callgrind.*"))
        subprocess.run(["callgrind_control", "-d", str(self.process.pid)], check=True, capture_output=True)
        totals = harness.eventually(lambda: self.totals(set(self.output.parent.glob("callgrind.*")) - before), 60)
        return sorted((total / REQUESTS for total in totals), reverse=True)

    @staticmethod
    def totals(files):
        """Of a dump's files, one a thread; nothing until they are there and whole."""
        found = [re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE) for file in files]
        return [int(one.group(1)) for one in found] if all(found) else None

    def send(self, count, path, *options):
        words = ["h2load", "-n", str(count), "-c", "1", "-m", "4", "-H", f"authorization: Bearer {self.token}", "-H", "accept: application/json",
                 *options, self.url + path]
        text = harness.run(self.cluster.network.inside(words), seconds=300).stdout
        if f"status codes: {count} 2xx" not in text:
            raise AssertionError(text)

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


def run(table):
    table.row("scheduling, 5,000 nodes: instructions a pod, with the lists", f"{count_scheduling():,.0f}", "", "")
    for label, options in (("audit off", []), ("the default audit policy", ["--audit-log-path", "{folder}/audit.log"]),
                           ("connections on their own thread", ["--connection-thread=true"])):
        server = Server(options)
        try:
            body = server.cluster.folder / "body.json"
            body.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "bench-"}, "data": {"text": "x" * 1700}}))
            for what, words in (("get", ["/api/v1/namespaces/kube-system"]),
                                ("list of 10 namespaces and fewer", ["/api/v1/namespaces"]),
                                ("create, 2 KB", [COLLECTION, "-H", "content-type: application/json", "-d", str(body)])):
                threads = server.count(*words)
                table.row(f"{what}, {label}: instructions a request", f"{sum(threads):,.0f}", "", "")
                # With one processor for each thread, no more requests than this thread can serve: a bound, not a measured rate.
                table.row(f"{what}, {label}: share of the busiest thread", f"{threads[0] / sum(threads):.0%}", "a third" if "create" in what else "", "")
        finally:
            server.stop()
