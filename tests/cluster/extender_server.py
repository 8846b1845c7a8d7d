"""A scheduler extender for tests: extender_server.py PORT CERTIFICATE KEY FOLDER COMMAND…

FOLDER/behavior.json says what it does: `slow` seconds before an answer, `refused` nodes with reasons, `scores` of nodes, `victims` (the identifiers of
pods by node). FOLDER/requests gets a line of JSON for each request. COMMAND is a kubectl that may bind pods."""

import json
import pathlib
import subprocess
import sys
import time

import tls_server

FOLDER, KUBECTL = pathlib.Path(sys.argv[4]), sys.argv[5:]


def filtered(request, behavior):
    refused = behavior.get("refused", {})
    nodes = [node for node in request["Nodes"]["items"] if node["metadata"]["name"] not in refused]
    return {"Nodes": {"items": nodes}, "FailedNodes": refused}


def scored(request, behavior):
    return [{"Host": node, "Score": score} for node, score in behavior.get("scores", {}).items()]


def bound(request, behavior):
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": request["PodName"], "namespace": request["PodNamespace"]},
               "target": {"apiVersion": "v1", "kind": "Node", "name": request["Node"]}}
    path = f"/api/v1/namespaces/{request['PodNamespace']}/pods/{request['PodName']}/binding"
    done = subprocess.run([*KUBECTL, "create", "--raw", path, "-f", "-"], input=json.dumps(binding), capture_output=True, text=True, timeout=60)
    return {"Error": done.stderr if done.returncode else ""}


def preempted(request, behavior):
    return {"NodeNameToMetaVictims": {node: {"Pods": [{"UID": uid} for uid in uids]} for node, uids in behavior.get("victims", {}).items()}}


ANSWERS = {"/ext/filter": filtered, "/ext/score": scored, "/ext/bind": bound, "/ext/preempt": preempted}


class Handler(tls_server.Handler):
    def do_POST(self):
        request = json.loads(self.body())
        behavior = json.loads((FOLDER / "behavior.json").read_text())
        with open(FOLDER / "requests", "a") as log:
            log.write(json.dumps({"path": self.path, "request": request}) + "\n")
        time.sleep(behavior.get("slow", 0))
        self.answer(200, json.dumps(ANSWERS[self.path](request, behavior)).encode())


if __name__ == "__main__":
    tls_server.serve(tls_server.make_server(Handler, "127.0.0.1", *sys.argv[1:4]))
