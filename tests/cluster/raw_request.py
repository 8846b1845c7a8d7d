"""One HTTPS request to the cluster of a kubeconfig: raw_request.py KUBECONFIG METHOD PATH [--token TOKEN] [--header "NAME: VALUE"...], body on input.

Uses the kubeconfig's client certificate, or only the token when one is given (an empty one means: no credentials).
Prints the body of the answer, whatever its code.
"""

import argparse
import base64
import http.client
import json
import pathlib
import re
import ssl
import sys
import tempfile
import urllib.parse


def read_field(text, name):
    """The kubeconfig was written by our own program: one cluster, one user, a field a line, YAML or JSON."""
    match = re.search(rf'"?{name}"?:\s*"?([^"\s,]+)', text)
    return match.group(1) if match else ""


def read_cluster(text):
    """(host, port, the authority's certificates as PEM) of a kubeconfig's text."""
    server = urllib.parse.urlsplit(read_field(text, "server"))
    return server.hostname, server.port, base64.b64decode(read_field(text, "certificate-authority-data")).decode()


def connect(kubeconfig, token=None, timeout=60):
    """A connection to the server of a kubeconfig, which the first request opens. Shows the kubeconfig's client certificate unless there
    is a token, which each request has to send (an empty one means: no credentials)."""
    text = pathlib.Path(kubeconfig).read_text()
    host, port, authority = read_cluster(text)
    context = ssl.create_default_context(cadata=authority)
    if token is None:
        with tempfile.NamedTemporaryFile("w") as own:
            for field in ("client-certificate-data", "client-key-data"):
                own.write(base64.b64decode(read_field(text, field)).decode())
            own.flush()
            context.load_cert_chain(own.name)
    return http.client.HTTPSConnection(host, port, context=context, timeout=timeout)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kubeconfig")
    arguments.add_argument("method")
    arguments.add_argument("path")
    arguments.add_argument("--token")
    arguments.add_argument("--header", action="append", default=[])
    options = arguments.parse_args()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers |= dict(header.split(": ", 1) for header in options.header)
    if options.token:
        headers["Authorization"] = "Bearer " + options.token
    connection = connect(options.kubeconfig, options.token)
    body = sys.stdin.read()
    connection.request(options.method, options.path, body=body or None, headers=headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    print(content if content.startswith("{") else json.dumps({"code": answer.status, "text": content}))


if __name__ == "__main__":
    main()
