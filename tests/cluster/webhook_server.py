"""Admission webhooks for tests: webhook_server.py PORT CERTIFICATE KEY. The path says what one does."""

import base64
import http.server
import json
import ssl
import sys
import time


def allowed(**more):
    return {"allowed": True, **more}


def patched(*operations):
    return allowed(patchType="JSONPatch", patch=base64.b64encode(json.dumps(operations).encode()).decode())


ANSWERS = {
    "/allow": lambda request: allowed(),
    "/mutate": lambda request: patched({"op": "add", "path": "/data/webhook", "value": request["userInfo"]["username"]}),
    "/deny": lambda request: {"allowed": False, "warnings": ["ask the team"], "status": {"code": 403, "message": "not in this cluster"}},
    "/attach": lambda request: {"allowed": False, "status": {"message": f"{request['object']['kind']} {request['object'].get('stdin')}"}},
    "/slow": lambda request: time.sleep(20) or allowed(),
    "/wrong": lambda request: allowed(uid="another"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.split("?")[0]
        if path == "/loop":
            self.send_response(307)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if path == "/huge":
            text = b" " * (8 << 20)
        else:
            review["response"] = {"uid": review["request"]["uid"], **ANSWERS[path](review["request"])}
            text = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:
            pass  # the API server has read enough

    def log_message(self, *_):
        pass


def main():
    port, certificate, key = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("0.0.0.0", int(port)), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("serving", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
