"""A request every 5 ms to the cluster of a kubeconfig, one at a time: quiet_client.py KUBECONFIG SECONDS --token TOKEN. Prints milliseconds."""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
import raw_request  # noqa: E402


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kubeconfig")
    arguments.add_argument("seconds", type=float)
    arguments.add_argument("--token")
    options = arguments.parse_args()
    connection = raw_request.connect(options.kubeconfig, options.token, timeout=60)
    times, end = [], time.monotonic() + options.seconds
    while time.monotonic() < end:
        started = time.monotonic()
        connection.request("GET", "/api/v1/namespaces/default", headers={"Authorization": "Bearer " + options.token})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise AssertionError(f"a quiet client is answered {answer.status}")
        times.append(1e3 * (time.monotonic() - started))
        time.sleep(0.005)
    times.sort()
    print(json.dumps({"requests": len(times), "p50": times[len(times) // 2], "p99": times[int(len(times) * 0.99)], "max": times[-1]}))


if __name__ == "__main__":
    main()
