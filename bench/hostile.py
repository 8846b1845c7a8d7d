"""The row about neighbours: how long a quiet client waits while others flood the server. Works on a Bench that has signed in."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import time

QUIET = pathlib.Path(__file__).with_name("quiet_client.py")
SECONDS = 8
WARM_UP = 2
CORE = str(max(os.sched_getaffinity(0)))  # the hostile clients have this one, the server and the quiet client have all


def measure_quiet_client(bench):
    """The p99 of a quiet client beside clients that flood the server with lists, watches and patches, and beside a loop that takes as much
    of the processor as they do. A user of each own: it is fairness between users that is measured."""
    hostile, quiet = user(bench, "hostile"), user(bench, "quiet")
    alone = run_quiet(bench, quiet)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    flood = start_flood(bench, hostile)
    time.sleep(WARM_UP)
    flooded = run_quiet(bench, quiet)
    end(flood)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    share = min(1.0, used / (time.monotonic() - started))
    loop = [bench.background(["taskset", "-c", CORE, sys.executable, "-c", BUSY_LOOP, f"{share:.3f}"])]
    time.sleep(WARM_UP)
    beside_loop = run_quiet(bench, quiet)
    end(loop)
    bench.table.row("p99 of a quiet client next to a flood of another user", f"{flooded:.1f} ms", "",
                    f"busy loop {beside_loop:.1f} ms (× {flooded / beside_loop:.1f}), alone {alone:.1f} ms")


# Takes a share of every 5 ms.
BUSY_LOOP = """
import sys, time
share = float(sys.argv[1])
while True:
    end = time.monotonic() + 0.005 * share
    while time.monotonic() < end:
        pass
    time.sleep(0.005 * (1 - share))
"""


def user(bench, name):
    """The token of a service account that may read, watch and patch, and nothing else."""
    bench.kubectl("create", "serviceaccount", name)
    bench.kubectl("create", "clusterrole", name, "--verb=get,list,watch,patch", "--resource=configmaps,pods,namespaces")
    bench.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--serviceaccount=default:{name}")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = bench.kubectl("create", "--raw", f"/api/v1/namespaces/default/serviceaccounts/{name}/token", "-f", "-", stdin=json.dumps(review))
    return json.loads(answer)["status"]["token"]


def start_flood(bench, token):
    patch = bench.cluster.folder / "patch.json"
    patch.write_text(json.dumps({"data": {"a": "b"}}))
    bench.kubectl("create", "configmap", "patched")
    of = f"{bench.server}/api/v1/namespaces/default/configmaps"
    floods = [
        ["-m", "100", f"{bench.server}/api/v1/pods"],
        ["-m", "100", f"{of}?watch=1&timeoutSeconds=1"],
        ["-m", "100", "-H", ":method: PATCH", "-H", "content-type: application/merge-patch+json", "-d", str(patch), of + "/patched"],
    ]
    return [bench.background(["taskset", "-c", CORE, "h2load", "-D", "600", "-c", "4", "-H", f"authorization: Bearer {token}",
                              "-H", "accept: application/json", *words]) for words in floods]


def run_quiet(bench, token):
    """Milliseconds within which 99 of 100 requests are answered."""
    words = [sys.executable, str(QUIET), str(bench.cluster.kubeconfig), str(SECONDS), "--token", token]
    done = subprocess.run(bench.cluster.network.inside(words), capture_output=True, text=True, timeout=SECONDS + 60, check=True)
    return json.loads(done.stdout)["p99"]


def end(processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(10)
