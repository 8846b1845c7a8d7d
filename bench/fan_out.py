"""The row about many watchers of one change. Works on a Bench that has signed in."""

import json
import re
import subprocess
import time

WATCHERS = 256
WATCH_SECONDS = 8


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


def rate(number):
    return f"{number:,.0f}/s"
