"""Many requests at a time to the cluster of a kubeconfig, again and again until input ends:
flood.py KUBECONFIG PATH COUNT --token TOKEN [--body TEXT], which is posted.

Prints a list of [code, Retry-After or null], one for each request, when all have been answered.
"""

import argparse
import json
import sys
import threading

import raw_request


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kubeconfig")
    arguments.add_argument("path")
    arguments.add_argument("count", type=int)
    arguments.add_argument("--token")
    arguments.add_argument("--body")
    options = arguments.parse_args()
    # Connected first, so that the requests arrive together.
    connections = [raw_request.connect(options.kubeconfig, options.token) for _ in range(options.count)]
    for connection in connections:
        connection.connect()
    answers, told_to_end = [], threading.Event()

    def ask(connection):
        while not told_to_end.is_set():
            connection.request("POST" if options.body else "GET", options.path, body=options.body,
                               headers={"Authorization": "Bearer " + options.token, "Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            answers.append([answer.status, answer.getheader("Retry-After")])
            told_to_end.wait(int(answer.getheader("Retry-After") or 0))

    threads = [threading.Thread(target=ask, args=[connection]) for connection in connections]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    told_to_end.set()
    for thread in threads:
        thread.join()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
