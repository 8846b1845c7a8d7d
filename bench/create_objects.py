"""Creates many objects over one connection: create_objects.py KUBECONFIG, with a line for each on input: PATH, a space, JSON."""

import base64
import http.client
import pathlib
import ssl
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
from raw_request import read_field  # noqa: E402


def connect(kubeconfig):
    text = pathlib.Path(kubeconfig).read_text()
    with tempfile.NamedTemporaryFile("w") as own:
        context = ssl.create_default_context(cadata=base64.b64decode(read_field(text, "certificate-authority-data")).decode())
        for field in ("client-certificate-data", "client-key-data"):
            own.write(base64.b64decode(read_field(text, field)).decode())
        own.flush()
        context.load_cert_chain(own.name)
    server = urllib.parse.urlsplit(read_field(text, "server"))
    return http.client.HTTPSConnection(server.hostname, server.port, context=context, timeout=30)


def main():
    connection = connect(sys.argv[1])
    for line in sys.stdin:
        path, body = line.split(" ", 1)
        connection.request("POST", path, body=body, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 201:
            sys.exit(f"{path}: {answer.status} {content.decode()}")


if __name__ == "__main__":
    main()
