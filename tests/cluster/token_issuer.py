"""An OpenID Connect issuer and an image policy server for tests: token_issuer.py PORT CERTIFICATE KEY STATE.

STATE is a folder: `jwks.json` is the set of keys that is served, and `policy.json` the status of every image review.
"""

import json
import pathlib
import sys

import tls_server


class Handler(tls_server.Handler):
    def do_GET(self):
        if self.path == "/.well-known/openid-configuration":
            return self.answer(200, json.dumps({"issuer": self.server.url, "jwks_uri": f"{self.server.url}/keys"}).encode())
        return self.answer(200, (self.server.state / "jwks.json").read_bytes())

    def do_POST(self):
        review = json.loads(self.body())
        review["status"] = json.loads((self.server.state / "policy.json").read_text())
        return self.answer(200, json.dumps(review).encode())


def main():
    port, certificate, key, state = sys.argv[1:]
    server = tls_server.make_server(Handler, "127.0.0.1", port, certificate, key)
    server.url, server.state = f"https://127.0.0.1:{port}", pathlib.Path(state)
    tls_server.serve(server)


if __name__ == "__main__":
    main()
