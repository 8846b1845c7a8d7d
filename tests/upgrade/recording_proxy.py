"""Stands between clients and an API server, and notes requests with their answers: recording_proxy.py DATA PORT OUTPUT SERVER_PORT.

DATA is the data directory of the server, which listens at 127.0.0.1:SERVER_PORT. Clients see the server's own certificate; who they are by their certificates, the administrator's requests
tell the server (impersonation), so that the requests can be sent again by anyone who has its certificate. Watches are passed on, not noted.
"""

import http.client
import http.server
import json
import pathlib
import re
import ssl
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from raw_request import connect  # noqa: E402

OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "accept-encoding", "host", "keep-alive", "user-agent"}
NOTED = {"accept", "content-type", "impersonate-user", "impersonate-group"}
RESOURCE = re.compile(r"/(api/v1|apis/[^/]+/[^/]+)/[^/]+")
WATCH = re.compile(r"[?&](watch|follow)=(1|true)")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    output = kubeconfig = server_port = None
    lock = threading.Lock()  # guards the output

    def log_message(self, *_):
        pass

    def identity(self):
        """Headers that say who asks, where that is not the administrator."""
        fields = dict(pair for part in (self.connection.getpeercert() or {}).get("subject", ()) for pair in part)
        if "commonName" not in fields or fields.get("organizationName") == "system:masters":
            return {}
        return {"Impersonate-User": fields["commonName"], "Impersonate-Group": fields.get("organizationName", "")}

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle_request(self):
        body, identity = self.read_body(), self.identity()
        own = {name: value for name, value in self.headers.items() if name.lower() not in OF_A_CONNECTION}
        is_of_token = "Authorization" in own
        server = connect(self.kubeconfig, token="" if is_of_token else None, timeout=600)
        server.host, server.port = "127.0.0.1", self.server_port  # the kubeconfig names the proxy's
        try:
            server.request(self.command, self.path, body=body or None, headers=own | identity)
            answer = server.getresponse()
            if WATCH.search(self.path):
                self.pass_on(answer)
                return
            content = answer.read()
            if RESOURCE.match(self.path) and not is_of_token:
                self.note(body, own, identity, answer, content)
            self.send_answer(answer, content)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            server.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

    def send_head(self, answer, length):
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in OF_A_CONNECTION | {"date", "server"}:
                self.send_header(name, value)
        self.send_header(*length)
        self.end_headers()

    def send_answer(self, answer, content):
        self.send_head(answer, ("Content-Length", str(len(content))))
        self.wfile.write(content)

    def pass_on(self, answer):
        self.send_head(answer, ("Transfer-Encoding", "chunked"))
        while part := answer.read1(65536):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def note(self, body, own, identity, answer, content):
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        # A byte is a character: bodies may be protobuf.
        line = json.dumps({
            "client": self.headers.get("User-Agent", "").split(" ")[0], "method": self.command, "path": self.path,
            "headers": {name: value for name, value in own.items() if name.lower() in NOTED} | identity, "body": body.decode("latin-1") or None,
            "status": answer.status, "answer": json.loads(content) if is_json else None})
        with self.lock:
            self.output.write(line + "\n")
            self.output.flush()


def main():
    data, port, output, server_port = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{data}/pki/apiserver.crt", f"{data}/pki/apiserver.key")
    context.load_verify_locations(f"{data}/pki/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    Handler.output, Handler.kubeconfig, Handler.server_port = open(output, "a"), f"{data}/admin.kubeconfig", int(server_port)
    server = http.server.ThreadingHTTPServer(("", int(port)), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
