"""Writes by one server and reads by the other, at once after the answer: two_servers.py KUBECONFIG_A KUBECONFIG_B. Prints how many rounds."""

import json
import sys

from raw_request import connect

ROUNDS = 50
MAPS = "/api/v1/namespaces/default/configmaps"


def call(connection, method, path, body=None, content_type="application/json"):
    connection.request(method, path, body=json.dumps(body) if body else None, headers={"Content-Type": content_type})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def expect(what, answered, code):
    status, body = answered
    if status != code:
        sys.exit(f"{what}: {status} instead of {code}: {body.get('message')}")
    return body


def main():
    a, b = connect(sys.argv[1]), connect(sys.argv[2])
    for i in range(ROUNDS):
        writer, reader = (a, b) if i % 2 else (b, a)
        name = f"map-{i}"
        made = expect("create", call(writer, "POST", MAPS, {"metadata": {"name": name}, "data": {"n": "0"}}), 201)
        expect("get", call(reader, "GET", f"{MAPS}/{name}"), 200)
        changed = expect("patch", call(reader, "PATCH", f"{MAPS}/{name}", {"data": {"n": "1"}}, "application/merge-patch+json"), 200)
        listed = expect("list", call(writer, "GET", f"{MAPS}?limit=500"), 200)
        versions = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in listed["items"]}
        if versions.get(name) != changed["metadata"]["resourceVersion"]:
            sys.exit(f"{name}: version {versions.get(name)} in a list after {changed['metadata']['resourceVersion']} was acknowledged")
        expect("update of an old version", call(writer, "PUT", f"{MAPS}/{name}", made), 409)
        expect("delete", call(writer, "DELETE", f"{MAPS}/{name}"), 200)
        expect("get of a deleted one", call(reader, "GET", f"{MAPS}/{name}"), 404)
    print(f"{ROUNDS} rounds")


if __name__ == "__main__":
    main()
