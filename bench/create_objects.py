"""Creates many objects over one connection: create_objects.py KUBECONFIG, with a line for each on input: PATH, a space, JSON."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
from raw_request import connect  # noqa: E402


def main():
    connection = connect(sys.argv[1], timeout=30)
    for line in sys.stdin:
        path, body = line.split(" ", 1)
        connection.request("POST", path, body=body, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 201:
            sys.exit(f"{path}: {answer.status} {content.decode()}")


if __name__ == "__main__":
    main()
