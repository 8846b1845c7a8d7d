#!/usr/bin/env python3
"""What `./run profile` counts: the requests of `./run bench upstream` to our server alone, deletions, and the controllers and the scheduler at work."""

import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
import bench  # noqa: E402
import scheduling  # noqa: E402
import upstream_server  # noqa: E402

STARTS = {"plain": upstream_server.ours, "connections": upstream_server.ours_with_connection_thread}


def ask(name, folder):
    side = upstream_server.Side(name, folder / name, STARTS[name])
    try:
        side.load("/api/v1/namespaces/list/pods", upstream_server.POD, count=upstream_server.LISTED)
        for what, request in upstream_server.ROWS:
            print(f"{what}, {name}: {request(side):,.0f}/s", flush=True)
        side.server.kubectl("delete", "pods", "--all", "--wait=false", "-n", "list", seconds=300)
        side.server.kubectl("delete", "namespace", "list", "--wait=false")
    finally:
        side.stop()


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-bench-"))
    try:
        for name in STARTS:
            ask(name, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    scheduling.SchedulingBench(bench.Table()).run()


if __name__ == "__main__":
    main()
