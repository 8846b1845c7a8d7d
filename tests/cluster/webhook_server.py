"""Admission and conversion webhooks for tests: webhook_server.py PORT CERTIFICATE KEY. The path says what one does."""

import base64
import json
import sys
import time

import tls_server


SLOW = 60  # seconds; far more than a webhook is waited for, also on a busy machine


def allowed(**more):
    return {"allowed": True, **more}


def patched(*operations):
    return allowed(patchType="JSONPatch", patch=base64.b64encode(json.dumps(operations).encode()).decode())


def converted(request):
    """Objects of stable.example.com: v1 has `hostPort` where v2 has `host` and `port`."""
    objects = []
    for given in request["objects"]:
        one = {**given, "apiVersion": request["desiredAPIVersion"]}
        if one["apiVersion"].endswith("/v2") and "hostPort" in one:
            one["host"], one["port"] = one.pop("hostPort").split(":")
        elif one["apiVersion"].endswith("/v1") and "host" in one:
            one["hostPort"] = f"{one.pop('host')}:{one.pop('port')}"
        objects.append(one)
    return {"convertedObjects": objects, "result": {"status": "Success"}}


ANSWERS = {
    "/allow": lambda request: allowed(),
    "/mutate": lambda request: patched({"op": "add", "path": "/data/webhook", "value": request["userInfo"]["username"]}),
    "/deny": lambda request: {"allowed": False, "warnings": ["ask the team"], "status": {"code": 403, "message": "not in this cluster"}},
    "/attach": lambda request: {"allowed": False, "status": {"message": f"{request['object']['kind']} {request['object'].get('stdin')}"}},
    "/slow": lambda request: time.sleep(SLOW) or allowed(),
    "/convert": converted,
    "/unconverted": lambda request: {"convertedObjects": request["objects"], "result": {"status": "Success"}},
    "/wrong": lambda request: allowed(uid="another"),
}


class Handler(tls_server.Handler):
    def do_POST(self):
        review = json.loads(self.body())
        path = self.path.split("?")[0]
        if path == "/loop":
            self.send_response(307)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if path == "/huge":
            return self.answer(200, b" " * (8 << 20))
        review["response"] = {"uid": review["request"]["uid"], **ANSWERS[path](review["request"])}
        return self.answer(200, json.dumps(review).encode())


if __name__ == "__main__":
    tls_server.serve(tls_server.make_server(Handler, "0.0.0.0", *sys.argv[1:]))
