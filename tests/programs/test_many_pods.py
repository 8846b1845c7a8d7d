"""Thirty pods of catalogue programs on one emulated host, all of which are asked all the time: nothing grows.

For two minutes, or for as long as PORTHOLE_MANY_PODS_MINUTES says. The samples are written to build/results/many_pods.tsv.
"""

import json
import os
import pathlib
import time

import harness
import inventory
import program_case
import test_nginx
import test_node
from manifests import pod

MINUTES = float(os.environ.get("PORTHOLE_MANY_PODS_MINUTES", "2"))
TABLE = harness.ROOT / "build/results/many_pods.tsv"
REPLICAS = {test_node.Node22: 20, test_nginx.Nginx: 10}
GROWTH = 1.15  # of a program with a garbage collector, after the first sixth of the time
ASK = """
import http.client, json, sys, time
pods, end, asked = json.loads(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while True:
    for address, port in pods:
        connection = http.client.HTTPConnection(address, port, timeout=20)
        connection.request("GET", "/", None, {"Authorization": "Bearer correct-horse"})
        answer = connection.getresponse()
        assert answer.status == 200 and b"from a ConfigMap" in answer.read(), (address, answer.status)
        asked += 1
    if time.monotonic() > end: break
    time.sleep(2)
print(asked)
"""


class ManyPods(program_case.PodsCase):
    programs = tuple(REPLICAS)

    def test_thirty_pods_of_one_host_answer_and_do_not_grow(self):
        for program, replicas in REPLICAS.items():
            self.start(program, replicas)
        self.apply(pod("client", {"name": "main", "image": program_case.CLIENT_IMAGE, "imagePullPolicy": "IfNotPresent", "command": ["sleep", "86400"]},
                       nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("client")
        for program in REPLICAS:
            self.kubectl("rollout", "status", f"deployment/{program.__name__.lower()}", "--timeout=300s", seconds=310)
        asked = [[found["status"]["podIP"], 8080 if found["metadata"]["labels"]["app"] == "node22" else 80] for found in self.windows_pods()]
        self.assertEqual(len(asked), sum(REPLICAS.values()))
        samples, end = [], time.monotonic() + MINUTES * 60
        while True:
            self.ask(asked, min(60.0, MINUTES * 10))
            samples.append(self.sample())
            self.write(samples)
            if time.monotonic() > end:
                break
        self.assertEqual({found["status"]["containerStatuses"][0]["restartCount"] for found in self.windows_pods()}, {0})
        first, last = samples[len(samples) // 6], samples[-1]
        self.assertEqual(last["processes"], first["processes"], samples)
        self.assertLessEqual(last["descriptors"], first["descriptors"] + 16, samples)
        for what in ("node22", "nginx", "host"):
            self.assertLess(last[what], first[what] * GROWTH, f"{what}: {samples}")

    def start(self, program, replicas):
        name = self.prepare(program)
        self.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
                    "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": self.template(program)}})
        self.addCleanup(self.kubectl_run, "delete", "deployment", name, "--cascade=foreground", "--timeout=120s", check=False, seconds=130)

    def windows_pods(self):
        return self.list("pods", "catalogue=yes")

    def ask(self, pods, seconds):
        words = ["exec", "-i", "client", "--", "timeout", str(int(seconds) + 120), "python3", "-", json.dumps(pods), str(seconds)]
        self.assertGreater(int(self.kubectl_run(*words, stdin=ASK, seconds=seconds + 130).stdout), 0)

    def sample(self):
        """Bytes of the largest pod of each program and of the host's own process, and counts of what the host has."""
        summary = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))
        used = {name: [one["containers"][0]["memory"]["workingSetBytes"] for one in summary["pods"]
                       if one["podRef"]["namespace"] == self.namespace and one["podRef"]["name"].startswith(name + "-") and one.get("containers")]
                for name in ("node22", "nginx")}
        process = self.cluster.processes()["windows-1/winhost"]
        rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().split()
        private = sum(int(rollup[rollup.index(f"{kind}:") + 1]) << 10 for kind in ("Private_Clean", "Private_Dirty"))
        return {"at": round(time.time()), **{name: max(bytes_of, default=0) for name, bytes_of in used.items()}, "host": private,
                "processes": inventory.windows_host(self.cluster, "windows-1")["processes in the host's namespace"],
                "descriptors": inventory.count(pathlib.Path(f"/proc/{process}/fd"))}

    def write(self, samples):
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        lines = ["\t".join(samples[0]), *("\t".join(map(str, one.values())) for one in samples)]
        TABLE.write_text("\n".join(lines) + "\n")
