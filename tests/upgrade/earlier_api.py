"""What an API server serves, and how it answers recorded requests; run where the server's loopback address is.

    earlier_api.py serve KUBECONFIG WATCHED         prints all objects, and all that watches of the paths WATCHED (with commas) tell
    earlier_api.py check KUBECONFIG VERSION         prints what is served and answered otherwise than tests/upgrade/kept/VERSION has it
"""

import http.client
import json
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from answers import Translation, differences, neutral  # noqa: E402
from kept_versions import Kept  # noqa: E402
from raw_request import connect  # noqa: E402

DISCOVERY = "/api", "/apis"
WATCH_SECONDS = 2  # for which a recorded watch stays open


class Api:
    def __init__(self, kubeconfig):
        self.connection = connect(kubeconfig)

    def send(self, method, path, body=None, headers=None):
        """(status, body)"""
        self.connection.request(method, path, body=body, headers=headers or {"Accept": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

    def get(self, path):
        status, body = self.send("GET", path)
        if status != 200:
            raise AssertionError(f"{path}: {status}: {body[:300]}")
        return json.loads(body)

    def list_paths(self):
        """Of everything that can be listed."""
        versions = ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in self.get("/apis")["groups"] for version in group["versions"])]
        found = set()
        for version in versions:
            status, body = self.send("GET", version)
            if status == 200:  # an extension API server may not answer
                found |= {f"{version}/{one['name']}" for one in json.loads(body)["resources"] if "list" in one.get("verbs", [])}
        return sorted(found - {"/api/v1/componentstatuses"})

    def objects(self, path):
        """By "NAMESPACE/NAME". None if nothing is served there."""
        status, body = self.send("GET", path)
        items = json.loads(body)["items"] if status == 200 else None
        return items and {f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}": one for one in items}

    def events(self, path, revision, most=None, seconds=WATCH_SECONDS):
        """What a watch from a revision on tells, until it has told `most` or ends."""
        self.connection.request("GET", f"{path}?watch=1&resourceVersion={revision}&timeoutSeconds={seconds}", headers={"Accept": "application/json"})
        answer, found = self.connection.getresponse(), []
        while (most is None or len(found) < most) and (line := answer.readline()):
            found.append(json.loads(line))
        if most is not None:
            self.connection.close()  # it would go on
        else:
            answer.read()
        return found


def serve(api, watched):
    """All objects at one moment, and the events of some paths from the beginning on. Nothing may change meanwhile."""
    revision = api.get("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"]
    objects = {path: found for path in api.list_paths() if (found := api.objects(path))}
    return {"revision": revision, "objects": objects, "events": {path: api.events(path, 1) for path in watched}}


def check_objects(api, kept):
    for path, recorded in kept.served["objects"].items():
        actual = api.objects(path)
        if actual is None:
            yield f"{path}: it is no longer served"
            continue
        for name, one in recorded.items():
            if name in actual:
                yield from (f"{path} {name}{line}" for line in differences(one, actual[name]))
            else:
                yield f"{path} {name}: it is gone"


def check_watches(api, kept):
    """Watches go on from every revision that they could go on from."""
    for path, recorded in kept.served["events"].items():
        for begin in {0, len(recorded) // 2, max(0, len(recorded) - 1)}:
            revision = recorded[begin - 1]["object"]["metadata"]["resourceVersion"] if begin else 1
            expected = recorded[begin:]
            actual = api.events(path, revision, len(expected), seconds=10)
            if len(actual) < len(expected):
                yield f"watch {path} from {revision}: {len(actual)} of {len(expected)} events"
            for one, other in zip(expected, actual):
                name = one["object"]["metadata"]["name"]
                yield from (f"watch {path} from {revision}: {name}{line}" for line in differences(one, other))


def check_requests(api, kept):
    translation = Translation()
    for one in kept.requests:
        body = translation.request(one["body"]) if one["body"] else None
        path = translation.request(one["path"])
        try:
            status, text = api.send(one["method"], path, body and body.encode("latin-1"), one["headers"])
        except (OSError, http.client.HTTPException) as error:
            api.connection.close()
            yield f"{one['method']} {path}: {error!r}"
            continue
        where = f"{one['client']}: {one['method']} {urllib.parse.urlsplit(one['path']).path}"
        if status != one["status"]:
            yield f"{where}: {status} instead of {one['status']}: {text[:300]}"
        elif one["answer"] is not None:
            actual = json.loads(text)
            translation.learn(one["answer"], actual)
            both = (neutral(answer, urllib.parse.urlsplit(one["path"]).path) for answer in (one["answer"], actual))
            yield from (where + line for line in differences(*both, translation))


def main():
    what, kubeconfig, argument = sys.argv[1:]
    api = Api(kubeconfig)
    if what == "serve":
        json.dump(serve(api, argument.split(",")), sys.stdout)
    else:
        kept = Kept(argument)
        json.dump({"objects": list(check_objects(api, kept)), "watches": list(check_watches(api, kept)),
                   "requests": list(check_requests(api, kept))}, sys.stdout)


if __name__ == "__main__":
    main()
