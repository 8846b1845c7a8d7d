"""Requests of the tests' own process to a cluster's API: objects as `kubectl get -o json` shows them.

A kubectl takes a tenth of a second of processor time, and a cluster test asks some thirty times, mostly while it waits. What kubectl itself
does is tested where a test calls it.
"""

import ctypes
import http.client
import json
import os
import urllib.parse

import raw_request

CLONE_NEWNET = 0x40000000
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
libc = ctypes.CDLL(None, use_errno=True)


def enter_network(descriptor):
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class InNetwork:
    """Sockets that this thread opens meanwhile are of a network namespace, and stay so."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        other = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            enter_network(other)
        finally:
            os.close(other)

    def __exit__(self, *_):
        enter_network(self.own)
        os.close(self.own)


class ApiClient:
    """Of a cluster's administrator. Threads may share it. What fails is an AssertionError, as of a command."""

    def __init__(self, network, kubeconfig):
        self.network, self.kubeconfig = network, kubeconfig
        self.resources = {}  # what a person may call a resource -> (path of its version, its description)

    def request(self, method, path, body=None, accept="application/json"):
        """(code, the answer's object, texts of its warnings)"""
        try:
            connection = raw_request.connect(self.kubeconfig)
            try:
                with InNetwork(self.network):
                    connection.connect()
                headers = {"Accept": accept, "Content-Type": "application/json"}
                connection.request(method, path, body=json.dumps(body) if body else None, headers=headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read()), answer.headers.get_all("Warning", [])
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise AssertionError(f"{method} {path}: {error!r}") from error

    def demand(self, method, path, body=None, **options):
        """The same, where the answer must be a success: (object, warnings)."""
        code, answer, warnings = self.request(method, path, body, **options)
        if code >= 300:
            raise AssertionError(f"{method} {path}: answered {code}: {answer.get('message', answer)}")
        return answer, warnings

    def get(self, resource, namespace, name):
        """(object, warnings); (None, []) when there is none."""
        place, _ = self.find(resource, namespace)
        path = f"{place}/{name}"
        code, answer, warnings = self.request("GET", path)
        if code == 404:
            return None, []
        if code != 200:
            raise AssertionError(f"{path}: answered {code}: {answer.get('message', answer)}")
        return shown(answer), warnings

    def list(self, resource, namespace, selector=None):
        """(objects, warnings)"""
        place, described = self.find(resource, namespace)
        query = "?" + urllib.parse.urlencode({"labelSelector": selector}) if selector else ""
        answer, warnings = self.demand("GET", place + query)
        kind = {"apiVersion": answer["apiVersion"], "kind": described["responseKind"]["kind"]}
        return [kind | shown(item) for item in answer["items"]], warnings

    def find(self, resource, namespace):
        """(path of its collection, its description); the namespace does not matter for what has none."""
        if resource not in self.resources:
            self.resources = self.discover()  # a definition may be new
        if resource not in self.resources:
            raise AssertionError(f"the server doesn't have a resource type {resource!r}")
        version, described = self.resources[resource]
        place = f"/namespaces/{namespace}" if described["scope"] == "Namespaced" else ""
        return f"{version}{place}/{described['resource']}", described

    def discover(self):
        """Groups and versions are in the order of preference: the first that has a name has it."""
        found = {}
        for root in ("/api", "/apis"):
            for group in self.demand("GET", root, accept=AGGREGATED)[0]["items"]:
                for version in group["versions"]:
                    group_name = group["metadata"].get("name", "")
                    path = "/".join(filter(None, (root, group_name, version["version"])))
                    for described in version.get("resources", []):
                        for name in (described["resource"], described["singularResource"], *described.get("shortNames", [])):
                            found.setdefault(name, (path, described))
                            found.setdefault(f"{name}.{group_name}", (path, described))
                            found.setdefault(f"{name}.{version['version']}.{group_name}", (path, described))
        return found


def shown(item):
    item["metadata"].pop("managedFields", None)
    return item
