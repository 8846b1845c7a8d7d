"""The rows about many: watchers of one change, and pods for thousands of nodes. Works on a Bench that has signed in."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import harness

WATCHERS = 256
WATCH_SECONDS = 8
NODES = int(os.environ.get("PORTHOLE_BENCH_NODES", 5000))  # of the rows about scheduling
PODS = int(os.environ.get("PORTHOLE_BENCH_PODS", 5000))
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def measure_fan_out(bench):
    """Events that arrive at watchers over TLS while objects are created as fast as the server takes them."""
    bench.kubectl("create", "namespace", "fan-out")
    path = "/api/v1/namespaces/fan-out/configmaps"
    body = bench.cluster.folder / "small.json"
    body.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "e-"}, "data": {"a": "b"}}))
    first = bench.raw("POST", path, body.read_text(), token=bench.token)
    event_bytes = len(json.dumps({"type": "ADDED", "object": first}, separators=(",", ":"))) + 1
    version = first["metadata"]["resourceVersion"]

    watch = f"{bench.server}{path}?watch=1&timeoutSeconds={WATCH_SECONDS}&resourceVersion={version}"
    # One connection carries at most 250 streams.
    watching = bench.background(["h2load", "-n", str(WATCHERS), "-c", "4", "-m", str(WATCHERS // 4), *bench.headers(), watch],
                                stdout=subprocess.PIPE, text=True)
    time.sleep(1)  # all watch by now; the rest of their time counts
    started = time.monotonic()
    bench.load.run(bench.server + path, *bench.headers("content-type: application/json"), "-d", str(body), seconds=WATCH_SECONDS - 2)
    text = watching.communicate(timeout=60)[0]
    seconds = time.monotonic() - started
    data = int(re.search(r"headers \(space savings [\d.]+%\), [\d.]+\w+ \((\d+)\) data", text).group(1))
    events = data / event_bytes
    bench.table.row(f"watch fan-out, {WATCHERS} watchers, {event_bytes} B events, TLS", rate(events / seconds), "400,000/s", "")


def node(number):
    """One that nobody runs."""
    # Both labels, as a kubelet sends them: the node controller would add the one that lacks.
    labels = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "sim": "1", "kubernetes.io/hostname": f"sim-{number}", ZONE: f"zone-{number % 3}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"sim-{number}", "labels": labels},
            "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"}, "capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                       "lastHeartbeatTime": stamp(), "lastTransitionTime": stamp()}]}}


def workloads():
    """What is scheduled, in this order: name, number of pods, their app, spec. Required anti-affinity comes last, because the scheduler checks such
    terms of pods that are bound for each pod that comes after them."""
    one = lambda app: {"labelSelector": {"matchLabels": {"app": app}}}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    required = lambda app, key: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **one(app)}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": HOST, **one("apart")}}]}
    fewer = max(1, PODS // 5)
    return [("plain", PODS, "plain", {}),
            ("spread over 3 zones", PODS, "spread", {"topologySpreadConstraints": [spread | one("spread")]}),
            ("affinity to their zone", fewer, "near", {"affinity": {"podAffinity": required("near", ZONE)}}),
            ("preferred anti-affinity to their node", fewer, "apart", {"affinity": {"podAntiAffinity": preferred}}),
            ("anti-affinity to their node", min(fewer, NODES), "alone", {"affinity": {"podAntiAffinity": required("alone", HOST)}})]


def measure_scheduling(bench):
    """Pods bound a second, from the first create on, to nodes without an agent: all through the API."""
    bench.kubectl("create", "namespace", "crowd")
    harness.eventually(lambda: bench.raw("GET", "/api/v1/namespaces/crowd/serviceaccounts/default").get("kind") == "ServiceAccount", 10)
    lines = "".join(f"/api/v1/nodes {json.dumps(node(number))}\n" for number in range(NODES))
    creator = [sys.executable, pathlib.Path(__file__).with_name("create_objects.py"), bench.cluster.kubeconfig]
    harness.run(bench.cluster.network.inside([str(word) for word in creator]), stdin=lines, seconds=300)
    # A new node has a taint until the node controller has seen it: that work is not the pods'.
    taints = ["get", "nodes", "-l", "sim=1", "-o", "jsonpath={.items[*].spec.taints}"]
    harness.eventually(lambda: bench.kubectl(*taints) == "", 60, "all nodes without taints", interval=1)
    for name, count, app, spec in workloads():
        measure_workload(bench, name, count, app, spec)


def measure_workload(bench, name, count, app, spec):
    # No agent sends the nodes' heartbeats: the pods must not mind what becomes of them.
    container = {"name": "main", "image": harness.IMAGE, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": f"{app}-", "labels": {"app": app}},
           "spec": {"nodeSelector": {"sim": "1"}, "tolerations": [{"operator": "Exists"}], "containers": [container], **spec}}
    before = scheduled(bench)
    started = time.monotonic()
    create(bench, "/api/v1/namespaces/crowd/pods", pod, count)
    created = time.monotonic() - started
    harness.eventually(lambda: scheduled(bench) - before >= count, 120, "all pods bound", interval=0.05)
    seconds = time.monotonic() - started
    bench.table.row(f"{NODES:,} nodes, {count:,} pods: {name}", rate(count / seconds), "4,000/s" if app == "plain" else "",
                    f"created in {created:.1f} s of {seconds:.1f}")


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def create(bench, path, thing, count):
    body = bench.cluster.folder / "thing.json"
    body.write_text(json.dumps(thing))
    words = ["h2load", "-n", str(count), "-c", "4", "-m", "16", *bench.headers("content-type: application/json"), "-d", str(body),
             bench.server + path]
    text = harness.run(bench.cluster.network.inside(words), seconds=300).stdout
    if f"{count} succeeded" not in text or f"status codes: {count} 2xx" not in text:
        raise AssertionError(f"creating {count} at {path}: {text}")


def scheduled(bench):
    return scheduled_of(bench.raw("GET", "/metrics"))


def scheduled_of(metrics):
    """How many pods have been bound, by the answer of /metrics."""
    found = re.search(r'scheduler_schedule_attempts_total\{[^}]*result="scheduled"\} (\d+)', metrics.get("text", ""))
    return int(found.group(1)) if found else 0


def rate(number):
    return f"{number:,.0f}/s"
