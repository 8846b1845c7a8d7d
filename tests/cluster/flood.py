"""Many requests at a time to the cluster of a kubeconfig: flood.py KUBECONFIG PATH COUNT --token TOKEN.

Prints a list of [code, Retry-After or null], one for each request, when all have been answered.
"""

import argparse
import json
import threading

import raw_request


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kubeconfig")
    arguments.add_argument("path")
    arguments.add_argument("count", type=int)
    arguments.add_argument("--token")
    options = arguments.parse_args()
    # Connected first, so that the requests arrive together.
    connections = [raw_request.connect(options.kubeconfig, options.token, timeout=30) for _ in range(options.count)]
    for connection in connections:
        connection.connect()
    answers = []

    def ask(connection):
        connection.request("GET", options.path, headers={"Authorization": "Bearer " + options.token})
        answer = connection.getresponse()
        answer.read()
        answers.append([answer.status, answer.getheader("Retry-After")])

    threads = [threading.Thread(target=ask, args=[connection]) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
