"""An OpenID Connect issuer and an image policy server for tests: token_issuer.py PORT CERTIFICATE KEY STATE.

STATE is a folder: `jwks.json` is the set of keys that is served, and `policy.json` the status of every image review.
"""

import http.server
import json
import pathlib
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        text = json.dumps(body).encode() if not isinstance(body, bytes) else body
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if self.path == "/.well-known/openid-configuration":
            return self.answer({"issuer": self.server.url, "jwks_uri": f"{self.server.url}/keys"})
        return self.answer((self.server.state / "jwks.json").read_bytes())

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        review["status"] = json.loads((self.server.state / "policy.json").read_text())
        self.answer(review)

    def log_message(self, *_):
        pass


def main():
    port, certificate, key, state = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.url, server.state = f"https://127.0.0.1:{port}", pathlib.Path(state)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("serving", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
