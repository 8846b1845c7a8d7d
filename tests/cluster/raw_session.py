"""HTTPS requests to the cluster of a kubeconfig by one process: raw_session.py KUBECONFIG.

Each line of input is a JSON list [method, path, headers, body, token], each line of output [code, body]; bodies are bytes as latin-1.
A token of null stands for the kubeconfig's client certificate.
"""

import json
import sys

import raw_request


def main():
    for line in sys.stdin:
        method, path, headers, body, token = json.loads(line)
        if token:
            headers["Authorization"] = "Bearer " + token
        connection = raw_request.connect(sys.argv[1], token, timeout=60)
        connection.request(method, path, body=body.encode("latin-1") or None, headers=headers)
        answer = connection.getresponse()
        print(json.dumps([answer.status, answer.read().decode("latin-1")]), flush=True)
        connection.close()


if __name__ == "__main__":
    main()
