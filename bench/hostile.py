"""The row about neighbours: how long a quiet client waits while others flood the server. Works on a Bench that has signed in."""

import json
import os
import pathlib
import subprocess
import sys
import time

QUIET, HOSTILE = (pathlib.Path(__file__).with_name(name) for name in ("quiet_client.py", "hostile_client.py"))
SECONDS = 8
WARM_UP = 5  # seconds, in which the hostile clients have opened their connections
TICKS = os.sysconf("SC_CLK_TCK")


class OneCore:
    """Holds the programs that are started through it to the time of one processor together: by a cgroup, or else by one processor that
    they share with the server."""

    FOLDERS = (("/sys/fs/cgroup", "cpu.max", "100000 100000"), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "100000"))  # version 2, and 1

    def __init__(self):
        self.folder = None
        for above, file, quota in self.FOLDERS:
            made = pathlib.Path(above, f"porthole-bench-{os.getpid()}")
            try:
                made.mkdir()
                if (made / file).exists():  # elsewhere it would be a file like any other
                    (made / file).write_text(quota)
                    self.folder = made
                    return
            except OSError:
                pass
            if made.is_dir():
                made.rmdir()
        print("no cgroup limits the processor here: the hostile clients share one processor with the server instead", file=sys.stderr)

    def words(self, command):
        if self.folder:
            return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]
        return ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]

    def end(self):
        """After all that was started has ended."""
        if self.folder:
            self.folder.rmdir()


def measure_quiet_client(bench):
    """The p99 of a quiet client next to clients that flood the server, and next to a loop that takes as much of the processor as they do.
    A user of each own: it is fairness between users that is measured."""
    hostile, quiet = user(bench, "hostile"), user(bench, "quiet")
    alone = run_quiet(bench, quiet)
    core = OneCore()
    try:
        flooded, share = run_next_to(bench, quiet, start_flood(bench, hostile, core))
        if share < 0.05:
            raise AssertionError(f"the hostile clients took {share:.2f} of a processor: they did not run")
        loop = [bench.background(core.words([sys.executable, "-c", BUSY_LOOP, f"{min(1.0, share):.3f}"]))]
        beside_loop, took = run_next_to(bench, quiet, loop)
    finally:
        core.end()
    bench.table.row("p99 of a quiet client next to floods of another user", f"{flooded:.1f} ms (× {flooded / beside_loop:.1f})", "3 × next to a loop",
                    f"busy loop {beside_loop:.1f} ms, alone {alone:.1f} ms; of a core {share:.2f} and {took:.2f}")


def run_next_to(bench, token, others):
    """(the quiet client's p99, the share of a processor that the others took meanwhile). Ends the others."""
    try:
        time.sleep(WARM_UP)
        started, before = time.monotonic(), processor_seconds(others)
        p99 = run_quiet(bench, token)
        return p99, (processor_seconds(others) - before) / (time.monotonic() - started)
    finally:
        end(others)


def processor_seconds(processes):
    fields = [pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() for process in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS  # utime and stime


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


def start_flood(bench, token, core):
    patch = bench.cluster.folder / "patch.json"
    patch.write_text(json.dumps({"data": {"a": "b"}}))
    bench.kubectl("create", "configmap", "patched")
    of = f"{bench.server}/api/v1/namespaces/default/configmaps"
    floods = [
        ["-m", "100", f"{bench.server}/api/v1/pods"],
        ["-m", "100", f"{of}?watch=1&timeoutSeconds=1"],
        ["-m", "100", "-H", ":method: PATCH", "-H", "content-type: application/merge-patch+json", "-d", str(patch), of + "/patched"],
    ]
    clients = [["h2load", "-D", "600", "-c", "4", "-H", f"authorization: Bearer {token}", "-H", "accept: application/json", *words] for words in floods]
    clients += [[sys.executable, str(HOSTILE), str(bench.cluster.kubeconfig), flood, "--token", token]
                for flood in ("future_resource_versions", "half_open_connections")]
    return [bench.background(core.words(client)) for client in clients]


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
