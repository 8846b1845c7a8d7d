"""Creates ConfigMaps without end: acknowledged_writes.py KUBECONFIG PREFIX. Prints a line for each: "acknowledged NAME", or why it is not."""

import http.client
import itertools
import json
import sys
import time

from raw_request import connect

PAUSE = 0.1  # seconds between two
LONGEST_ANSWER = 60  # seconds


def create(connection, name):
    body = json.dumps({"metadata": {"name": name, "labels": {"acknowledged": "yes"}}})
    connection.request("POST", "/api/v1/namespaces/default/configmaps", body=body, headers={"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    return f"acknowledged {name}" if answer.status == 201 else f"answered {answer.status}: {text.decode()[:300]}"


def main():
    kubeconfig, prefix = sys.argv[1:]
    connection = connect(kubeconfig, timeout=LONGEST_ANSWER)
    for number in itertools.count():
        try:
            print(create(connection, f"{prefix}-{number}"), flush=True)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            print(f"failed: {error!r}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
