"""How long a change of an object takes to reach a file: timed_changes.py KUBECONFIG PATH FILE, with the object's new JSON, a line for each change,
on input. Replaces the object at PATH over one connection, waits until FILE is another, and prints the seconds from the request on, as JSON."""

import contextlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
from raw_request import connect  # noqa: E402

LIMIT = 60


def text_of(file):
    """"" while the file is not there: older releases make a load balancer anew for every change."""
    with contextlib.suppress(FileNotFoundError):
        return file.read_text()
    return ""


def main():
    connection, path, file = connect(sys.argv[1], timeout=LIMIT), sys.argv[2], pathlib.Path(sys.argv[3])
    taken = []
    for line in sys.stdin:
        former = text_of(file)
        started = time.monotonic()
        connection.request("PUT", path, body=line, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {content.decode()}")
        while text_of(file) in ("", former):
            if time.monotonic() - started > LIMIT:
                sys.exit(f"{file}: not changed within {LIMIT} s")
            time.sleep(0.0005)
        taken.append(time.monotonic() - started)
        time.sleep(0.2)  # what the change leaves to be removed
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
