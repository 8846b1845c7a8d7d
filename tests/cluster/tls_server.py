"""An HTTPS server for tests: what token_issuer.py, webhook_server.py and extension_server.py share."""

import http.server
import ssl


class Handler(http.server.BaseHTTPRequestHandler):
    """Silent, with connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms, until the client has acknowledged its head

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, code, text, content_type="application/json"):
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:
            pass  # the other side has read enough

    def log_message(self, *_):
        pass


def make_server(handler, address, port, certificate, key, client_authority=None):
    """Serves only who shows a certificate of `client_authority`, where one is given."""
    server = http.server.ThreadingHTTPServer((address, int(port)), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_authority:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def serve(server):
    """Tells who started this program that it can be asked, and never returns."""
    print("serving", flush=True)
    server.serve_forever()
