"""An extension API server for tests: extension_server.py PORT CERTIFICATE KEY FRONT_PROXY_AUTHORITY.

Serves flunders of wardle.example.com/v1alpha1 from memory, to who shows a certificate of the front proxy's authority.
`flunders/NAME/user` tells as whom one asks, and `flunders/NAME/echo` leaves HTTP and sends back what it gets.
"""

import json
import queue
import sys
import threading
import urllib.parse
import uuid

import tls_server

GROUP, VERSION = "wardle.example.com", "v1alpha1"
API = f"{GROUP}/{VERSION}"
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API, "resources": [
    {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": VERBS, "shortNames": ["fl"]},
    {"name": "flunders/user", "singularName": "", "namespaced": True, "kind": "Flunder", "verbs": ["get"]}]}
DOCUMENTS = {
    f"/apis/{API}": RESOURCES,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/openapi/v3": {"paths": {f"apis/{API}": {"serverRelativeURL": f"/openapi/v3/apis/{API}?hash=1"}}},
    f"/openapi/v3/apis/{API}": {
        "openapi": "3.0.0", "info": {"title": "wardle", "version": "1"},
        "paths": {f"/apis/{API}/namespaces/{{namespace}}/flunders/{{name}}": {"get": {
            "responses": {"200": {"description": "OK", "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Flunder"}}}}},
            "x-kubernetes-action": "get",
            "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": "Flunder"}}}},
        "components": {"schemas": {"Flunder": {
            "type": "object", "description": "Flunder is what the test makes.",
            "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                           "spec": {"type": "object", "properties": {"reference": {"type": "string", "description": "Whom it knows."}}}},
            "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": "Flunder"}]}}}},
}


class Flunders:
    """The objects, and who watches them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.objects = {}  # by (namespace, name)
        self.watchers = []
        self.revision = 1

    def change(self, kind, key, flunder):
        self.revision += 1
        flunder["metadata"]["resourceVersion"] = str(self.revision)
        if kind == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = flunder
        for namespace, events in self.watchers:
            if namespace in ("", key[0]):
                events.put({"type": kind, "object": json.loads(json.dumps(flunder))})
        return flunder

    def of(self, namespace):
        return [flunder for key, flunder in sorted(self.objects.items()) if namespace in ("", key[0])]

    def watch(self, namespace, after):
        events = queue.Queue()
        for flunder in self.of(namespace):
            if int(flunder["metadata"]["resourceVersion"]) > after:
                events.put({"type": "ADDED", "object": flunder})
        self.watchers.append((namespace, events))
        return events


FLUNDERS = Flunders()


def merged(value, patch):
    if not isinstance(patch, dict):
        return patch
    value = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        value[key] = merged(value.get(key), change)
    return {key: kept for key, kept in value.items() if kept is not None}


class Handler(tls_server.Handler):
    def parse_request(self):
        if not super().parse_request():
            return False
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.document = url.path
        words = url.path.removeprefix(f"/apis/{API}/").split("/")
        self.namespace = words[1] if words[0] == "namespaces" else ""
        words = words[2:] if self.namespace else words
        self.name = words[1] if len(words) > 1 else ""
        self.subresource = words[2] if len(words) > 2 else ""
        return True

    def tell(self, value, code=200):
        self.answer(code, json.dumps(value).encode())

    def refuse(self, code, reason, message):
        self.tell({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message}, code)

    def found(self):
        flunder = FLUNDERS.objects.get((self.namespace, self.name))
        if not flunder:
            self.refuse(404, "NotFound", f'flunders.{GROUP} "{self.name}" not found')
        return flunder

    def do_GET(self):
        if self.document in DOCUMENTS:
            return self.tell(DOCUMENTS[self.document])
        if self.subresource == "user":
            extra = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-remote-extra-")}
            return self.tell({"user": self.headers.get_all("X-Remote-User"), "groups": self.headers.get_all("X-Remote-Group"), "extra": extra,
                              "authorization": self.headers.get("Authorization"), "via": self.headers.get("Via")})
        if self.subresource == "echo":
            return self.echo()
        with FLUNDERS.lock:
            if self.name:
                flunder = self.found()
                return self.tell(flunder) if flunder else None
            if self.query.get("watch") not in ("true", "1"):
                return self.tell({"kind": "FlunderList", "apiVersion": API, "metadata": {"resourceVersion": str(FLUNDERS.revision)},
                                  "items": FLUNDERS.of(self.namespace)})
            events = FLUNDERS.watch(self.namespace, int(self.query.get("resourceVersion") or 0))
        return self.stream(events)

    def stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                line = json.dumps(events.get()).encode() + b"\n"
                for part in (line[:10], line[10:]):  # a chunk may end anywhere
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
        except OSError:
            pass

    def echo(self):
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "echo")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        while data := self.connection.recv(4096):
            self.connection.sendall(data)

    def do_POST(self):
        flunder = json.loads(self.body())
        metadata = flunder["metadata"]
        metadata.update(namespace=self.namespace, uid=str(uuid.uuid4()), creationTimestamp="2026-01-01T00:00:00Z")
        key = (self.namespace, metadata["name"])
        with FLUNDERS.lock:
            if key in FLUNDERS.objects:
                return self.refuse(409, "AlreadyExists", f'flunders.{GROUP} "{key[1]}" already exists')
            return self.tell(FLUNDERS.change("ADDED", key, flunder), 201)

    def do_PATCH(self):
        patch = json.loads(self.body())
        with FLUNDERS.lock:
            flunder = self.found()
            if flunder:
                self.tell(FLUNDERS.change("MODIFIED", (self.namespace, self.name), merged(flunder, patch)))

    def do_DELETE(self):
        self.body()
        with FLUNDERS.lock:
            if self.name:
                flunder = self.found()
                return self.tell(FLUNDERS.change("DELETED", (self.namespace, self.name), flunder)) if flunder else None
            for flunder in FLUNDERS.of(self.namespace):
                FLUNDERS.change("DELETED", (self.namespace, flunder["metadata"]["name"]), flunder)
            return self.tell({"kind": "Status", "apiVersion": "v1", "status": "Success"})


if __name__ == "__main__":
    tls_server.serve(tls_server.make_server(Handler, "0.0.0.0", *sys.argv[1:]))
