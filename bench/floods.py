#!/usr/bin/env python3
"""All known floods at once against a cluster on this machine: floods.py --data DIR [--seconds 60] [--only NAME,NAME] [--json].

Each flood is a process that holds connections and sends as fast as it is answered, as an attacker would who has no credentials, or a
token for one namespace. Meanwhile the server's memory is read from /proc, `kubectl get nodes` is timed, the nodes' Leases are looked at,
and a Lease is renewed as a controller manager renews it. The exit code is 1 when the memory passes --most-mb, the slowest answer
--most-seconds, a node is not Ready, or a Lease was not renewed in time. The floods run with a low priority: what the attackers' own
machines would compute must not be taken from the server's.

It makes the namespace `floods` and deletes it at the end. Run it in the network namespace of the cluster, as root.
"""

import argparse
import base64
import datetime
import http.client
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import secrets
import select
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cluster"))
from raw_request import connect, read_cluster  # noqa: E402

NAMESPACE, ACCOUNT, POD = "floods", "flooder", "server"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
LARGE, LARGE_MAPS = 500_000, 20  # bytes of one config map, and how many there are: what a list of them is
IMAGE = "registry.porthole.internal/web:2"  # a server that writes little, on every node


class Target:
    """A server, and the token by which the floods with credentials come in."""

    def __init__(self, kubeconfig):
        self.host, self.port, self.authority = read_cluster(pathlib.Path(kubeconfig).read_text())
        self.token = ""

    def connect(self, protocol="http/1.1"):
        context = ssl.create_default_context(cadata=self.authority)
        context.set_alpn_protocols([protocol])
        plain = socket.create_connection((self.host, self.port), timeout=10)
        return context.wrap_socket(plain, server_hostname=self.host)

    def head(self, method, path, *headers, token=True):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", *headers]
        if token:
            lines.append(f"Authorization: Bearer {self.token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Flood:
    """What all floods share: when they end, and what they count."""

    def __init__(self, target, seconds, counter):
        self.target, self.end, self.counter = target, time.monotonic() + seconds, counter

    def going(self):
        return time.monotonic() < self.end

    def count(self, number=1):
        with self.counter.get_lock():
            self.counter.value += number

    def connect(self, protocol="http/1.1"):
        """A connection, or None when the server takes no more for now."""
        try:
            return self.target.connect(protocol)
        except OSError:
            time.sleep(0.05)
            return None

    def hold(self, number, request, again=False):
        """Keeps `number` connections open that have sent `request`, and read nothing, or send it `again` after each answer."""
        held = []
        while self.going():
            if len(held) < number:
                connection = self.connect()
                if connection:
                    try:
                        connection.sendall(request())
                        held.append(connection)
                        self.count()
                    except OSError:
                        connection.close()
                continue
            time.sleep(0.2)
            for connection in held[:]:
                if select.select([connection.fileno()], [], [], 0)[0] and not self.stays(connection, request if again else None):
                    connection.close()
                    held.remove(connection)
        for connection in held:
            connection.close()

    def stays(self, connection, request):
        """False when the server has ended the connection. An answer is taken and followed by the next request, if there is one."""
        if not request:
            return not self.has_ended(connection)
        try:
            answer = connection.recv(65536)
            if answer.startswith(b"HTTP/"):  # and no further part of one
                connection.sendall(request())
                self.count()
            return bool(answer)
        except OSError:
            return False

    @staticmethod
    def has_ended(connection):
        """Without taking what is there to be read, so that the server goes on waiting for its reader."""
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
        try:
            return duplicate.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            duplicate.close()

    def ask(self, requests):
        """One connection after another, on each the requests, whose answers are read."""
        while self.going():
            try:
                client = http.client.HTTPSConnection(self.target.host, self.target.port, timeout=30,
                                                     context=ssl.create_default_context(cadata=self.target.authority))
                for method, path, body, headers in requests():
                    client.request(method, path, body=body, headers=headers)
                    client.getresponse().read()
                    self.count()
                    if not self.going():
                        return
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    def authorization(self, content_type="application/json"):
        return {"Authorization": f"Bearer {self.target.token}", "Content-Type": content_type}


def half_open_connections(flood):
    """The head of a request, and never its end."""
    flood.hold(1000, lambda: b"GET /version HTTP/1.1\r\nHost: a\r\nX-Wait: ")


def bodies_before_authentication(flood):
    """Bodies of 3 MB from nobody, sent as far as they are taken."""
    waiting = []
    while flood.going():
        connection = flood.connect() if len(waiting) < 200 else None
        if connection:
            connection.settimeout(0.5)
            try:
                connection.sendall(flood.target.head("POST", CONFIG_MAPS, "Content-Type: application/json", "Content-Length: 3000000", token=False))
                waiting.append(connection)
            except OSError:
                connection.close()
        for connection in waiting[:]:
            try:
                connection.sendall(b"x" * 65536)
                flood.count()
            except (OSError, ValueError):
                connection.close()
                waiting.remove(connection)


def lists_not_read(flood):
    """Lists of 10 MB whose readers take nothing."""
    flood.hold(100, lambda: flood.target.head("GET", CONFIG_MAPS))


def watches_not_read(flood):
    """Watches of large objects that change all the time, whose readers take nothing."""
    flood.hold(150, lambda: flood.target.head("GET", CONFIG_MAPS + "?watch=true&resourceVersion=0"))


def large_patches(flood):
    """Patches of the largest size with as many operations as there may be, and changes of large objects, for the watches."""
    operations = [{"op": "add", "path": f"/data/k{number}", "value": "v"} for number in range(9000)]
    operations += [{"op": "remove", "path": f"/data/k{number}"} for number in range(900)]
    patch = json.dumps(operations)

    def requests():
        for number in range(LARGE_MAPS):
            change = json.dumps({"data": {"large": secrets.token_hex(LARGE // 2)}})
            yield "PATCH", f"{CONFIG_MAPS}/large-{number}", change, flood.authorization("application/merge-patch+json")
            yield "PATCH", f"{CONFIG_MAPS}/small", patch, flood.authorization("application/json-patch+json")
    flood.ask(requests)


def new_metric_series(flood):
    """Paths, verbs and user agents that nobody has used before, from nobody."""
    def requests():
        for _ in range(50):
            name = secrets.token_hex(15000)
            yield "GET", f"/apis/{name}/v1/x", None, {"User-Agent": name[:2000]}
            yield "X" + secrets.token_hex(8).upper(), f"/api/v1/{name[:40]}", None, {}
    flood.ask(requests)


def future_resource_versions(flood):
    """Reads that wait for a version that does not come, in more connections than there are places for requests."""
    flood.hold(450, lambda: flood.target.head("GET", CONFIG_MAPS + "?resourceVersion=999999999999&resourceVersionMatch=NotOlderThan"), again=True)


def upgraded(flood, method, *headers):
    """A connection that has become an attach session, or None."""
    connection = flood.connect()
    if not connection:
        return None
    query = "attach?stdout=true&stderr=true"
    try:
        connection.sendall(flood.target.head(method, f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}/{query}", "Connection: Upgrade", *headers))
        if b" 101 " in connection.recv(4096).split(b"\r\n")[0]:
            return connection
    except OSError:
        pass
    connection.close()
    time.sleep(0.2)
    return None


def send_without_reading(flood, connections, frames):
    """Sends `frames` on sessions that `connections` makes, again on another when the server ends one."""
    sessions = []
    while flood.going():
        if len(sessions) < 8:
            made = connections()
            if made:
                made.settimeout(0.5)
                sessions.append(made)
        for session in sessions[:]:
            try:
                session.sendall(frames())
                flood.count()
            except OSError:
                session.close()
                sessions.remove(session)


def websocket_pings(flood):
    """Pings whose answers are not read."""
    headers = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
               "Sec-WebSocket-Protocol: v5.channel.k8s.io")
    ping = b"\x89\xfd\0\0\0\0" + b"x" * 125  # with a mask of zeros
    send_without_reading(flood, lambda: upgraded(flood, "GET", *headers), lambda: ping * 400)


def spdy_streams(flood):
    """Streams that are opened and reset, and pings, whose answers are not read."""
    headers = ("Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io")
    number = [1]

    def frames():
        burst = b""
        compressor = zlib.compressobj()
        for _ in range(300):
            stream, number[0] = number[0], (number[0] + 2) % 0x7fffffff
            block = compressor.compress(b"\0\0\0\0") + compressor.flush(zlib.Z_SYNC_FLUSH)
            burst += struct.pack(">HHIIIH", 0x8003, 1, len(block) + 10, stream, 0, 0) + block
            burst += struct.pack(">HHIII", 0x8003, 3, 8, stream, 5)
            burst += struct.pack(">HHII", 0x8003, 6, 4, stream)
        return burst
    send_without_reading(flood, lambda: upgraded(flood, "POST", *headers), frames)


# Of RFC 9113.
HEADERS, RST_STREAM, SETTINGS = 1, 3, 4
END_STREAM_AND_HEADERS, INITIAL_WINDOW_SIZE, CANCEL = 5, 4, 8
STREAMS_AT_A_TIME = 100


def http2_frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def http2_field(name, value):
    """A literal field that enters no table (RFC 7541, 6.2.2), with its lengths as prefixed integers of seven bits."""
    text = b""
    for part in (name.encode(), value.encode()):
        rest, length = len(part) - 127, bytes([min(len(part), 127)])
        while rest >= 0:
            length += bytes([rest % 128 | (0x80 if rest >= 128 else 0)])
            rest = rest // 128 or -1
        text += length + part
    return b"\0" + text


def http2_session(flood, window):
    """An HTTP/2 connection whose streams have a window of so many bytes, or None."""
    connection = flood.connect("h2")
    if not connection:
        return None
    try:
        settings = http2_frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
        return connection
    except OSError:
        connection.close()
        return None


def http2_requests(flood, path, *ends):
    """Makes, again and again, STREAMS_AT_A_TIME requests, each followed by the frames that `ends` make of its stream."""
    fields = {":method": "GET", ":scheme": "https", ":authority": flood.target.host, ":path": path, "authorization": f"Bearer {flood.target.token}"}
    head = b"".join(http2_field(name, value) for name, value in fields.items())
    streams = itertools.count(1, 2)  # of a session they need only grow

    def frames():
        return b"".join(http2_frame(HEADERS, END_STREAM_AND_HEADERS, stream, head) + b"".join(end(stream) for end in ends)
                        for stream in itertools.islice(streams, STREAMS_AT_A_TIME))
    return frames


def http2_streams_without_window(flood):
    """Lists of 10 MB on as many streams as there may be, none of which ever gets a window."""
    send_without_reading(flood, lambda: http2_session(flood, 0), http2_requests(flood, CONFIG_MAPS))


def http2_resets(flood):
    """Lists that are given up at once, as fast as the connection takes them."""
    reset = lambda stream: http2_frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL))
    send_without_reading(flood, lambda: http2_session(flood, 65535), http2_requests(flood, CONFIG_MAPS, reset))


FLOODS = [half_open_connections, bodies_before_authentication, lists_not_read, watches_not_read, large_patches, new_metric_series,
          future_resource_versions, websocket_pings, spdy_streams, http2_streams_without_window, http2_resets]


def run_flood(flood, target, seconds, counter, niceness):
    os.nice(niceness)
    flood(Flood(target, seconds, counter))


class Cluster:
    def __init__(self, data, kubectl):
        self.data, self.kubectl_program = pathlib.Path(data), kubectl
        self.kubeconfig = self.data / "admin.kubeconfig"

    def kubectl(self, *words, check=True, stdin=None):
        return subprocess.run([self.kubectl_program, "--kubeconfig", str(self.kubeconfig), *words], check=check, capture_output=True, text=True,
                              input=stdin, timeout=200).stdout

    def server_memory(self):
        """Resident megabytes of the server."""
        pid = json.loads((self.data / "cluster.json").read_text())["processes"]["server"]["pid"]
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024

    def prepare(self, image):
        """What the floods with credentials use: a namespace with an account, large objects and a pod."""
        self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")  # of a run that has failed
        self.kubectl("create", "namespace", NAMESPACE)
        deadline = time.monotonic() + 20
        while "default" not in self.kubectl("get", "serviceaccounts", "-n", NAMESPACE, check=False):
            if time.monotonic() > deadline:
                raise SystemExit("the namespace has no service account")
            time.sleep(0.1)
        self.kubectl("create", "serviceaccount", ACCOUNT, "-n", NAMESPACE)
        self.kubectl("create", "rolebinding", ACCOUNT, "--clusterrole=admin", f"--serviceaccount={NAMESPACE}:{ACCOUNT}", "-n", NAMESPACE)
        maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{number}"}, "data": {"large": "x" * LARGE}}
                for number in range(LARGE_MAPS)]
        maps.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}, "data": {"k": "v"}})
        for one in maps:
            self.kubectl("create", "-n", NAMESPACE, "-f", "-", stdin=json.dumps(one))
        self.kubectl("run", POD, "-n", NAMESPACE, f"--image={image}", "--restart=Never", f"--labels=app={POD}")
        self.kubectl("create", "-f", "-", stdin=json.dumps(Election.lease()))  # fails when someone leads: that one would have to stop
        self.kubectl("wait", "-n", NAMESPACE, f"pod/{POD}", "--for=condition=Ready", "--timeout=150s")
        return self.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE).strip()

    def clean_up(self):
        self.kubectl("delete", "namespace", NAMESPACE, "--wait=false", check=False)
        self.kubectl("delete", "lease", Election.NAME, "-n", "kube-system", check=False)


class Election(threading.Thread):
    """Renews the Lease of kube-controller-manager, with that user's rights and at its pace: with the embedded store nobody else does."""

    RETRY, DEADLINE = 2, 10  # seconds, upstream's defaults: a leader that cannot renew for the second one stops
    LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    NAME = "kube-controller-manager"
    HEADERS = {"Content-Type": "application/json", "Impersonate-User": "system:kube-controller-manager"}

    def __init__(self, kubeconfig):
        super().__init__()
        self.kubeconfig, self.connection, self.seen = kubeconfig, None, None
        self.ended, self.renewed, self.longest, self.failures = threading.Event(), time.monotonic(), 0.0, []

    def run(self):
        while not self.ended.wait(self.RETRY):
            try:
                self.renew()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                self.connection = self.seen = None
        self.longest = max(self.longest, time.monotonic() - self.renewed)

    def renew(self):
        self.seen = self.seen or self.ask("GET")
        self.seen = self.ask("PUT", self.seen | {"spec": self.lease()["spec"]})
        now = time.monotonic()
        self.longest, self.renewed = max(self.longest, now - self.renewed), now

    def ask(self, method, lease=None):
        self.connection = self.connection or connect(self.kubeconfig, timeout=self.DEADLINE / 2)
        self.connection.request(method, f"{self.LEASES}/{self.NAME}", body=json.dumps(lease) if lease else None, headers=self.HEADERS)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise OSError(f"{method} of the lease: {text.decode()}")
        return json.loads(text)

    @classmethod
    def lease(cls):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": cls.NAME, "namespace": "kube-system"},
                "spec": {"holderIdentity": "floods", "leaseDurationSeconds": 15, "renewTime": now}}


class Watch:
    """What is seen of a cluster while the floods run. Times in seconds."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.memory = 0.0  # the highest, in MB
        self.times, self.failures = [], []  # of `kubectl get nodes`
        self.not_ready, self.lease_ages = set(), {}  # of nodes

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            started = time.monotonic()
            self.look_at_nodes()
            self.look_at_leases()
            while time.monotonic() < min(end, started + 0.5):
                self.look_at_memory()
                time.sleep(0.05)

    def look_at_memory(self):
        self.memory = max(self.memory, self.cluster.server_memory())

    def ask(self, *words):
        """What kubectl prints, or nothing when it fails; looks at the memory meanwhile."""
        asked = subprocess.Popen([self.cluster.kubectl_program, "--kubeconfig", str(self.cluster.kubeconfig), *words],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while asked.poll() is None:
            self.look_at_memory()
            time.sleep(0.02)
        said, error = asked.communicate()
        if asked.returncode != 0:
            self.failures.append(error.strip())
        return said

    def look_at_nodes(self):
        started = time.monotonic()
        lines = [line.split() for line in self.ask("get", "nodes", "--no-headers").splitlines()]
        self.times.append(time.monotonic() - started)
        self.not_ready |= {name for name, state, *_ in lines if state.split(",")[0] != "Ready"}

    def look_at_leases(self):
        said = self.ask("get", "leases", "-n", "kube-node-lease", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.renewTime}{'\\n'}{end}")
        for name, renewed in map(str.split, said.splitlines()):
            age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(renewed.replace("Z", "+00:00"))
            self.lease_ages[name] = max(self.lease_ages.get(name, 0), round(age.total_seconds(), 1))


NODE_LEASE = 20  # seconds of age at most: half of what a node's Lease is valid for, which is renewed every ten


def flood_all(cluster, floods, seconds, token, niceness):
    target = Target(cluster.kubeconfig)
    target.token = token
    running = []
    for flood in floods:
        counter = multiprocessing.Value("q", 0)
        process = multiprocessing.Process(target=run_flood, args=(flood, target, seconds, counter, niceness))
        process.start()
        running.append((flood, process, counter))
    watch, election = Watch(cluster), Election(cluster.kubeconfig)
    election.start()
    try:
        watch.run(seconds)
    finally:
        election.ended.set()
        election.join()
        for _, process, _ in running:
            process.join(15)
            if process.is_alive():
                process.kill()
                process.join()
    return {"floods": {flood.__name__: counter.value for flood, _, counter in running}, "memoryMb": round(watch.memory, 1),
            "median": round(statistics.median(watch.times), 3), "slowest": round(max(watch.times), 3), "asked": len(watch.times),
            "failures": watch.failures, "notReady": sorted(watch.not_ready), "nodeLeases": watch.lease_ages,
            "electionPause": round(election.longest, 1), "electionFailures": election.failures}


def is_calm(result, most_mb, most_seconds):
    return (result["memoryMb"] <= most_mb and result["slowest"] <= most_seconds and not result["failures"] and not result["notReady"]
            and bool(result["nodeLeases"]) and max(result["nodeLeases"].values()) <= NODE_LEASE
            and result["electionPause"] <= Election.DEADLINE)


def print_rows(table, result):
    """As rows of the table of `./run bench`."""
    table.row(f"all {len(result['floods'])} floods for a minute: server's memory at most", f"{result['memoryMb']} MB", "300 MB", f"before {result['idleMb']} MB")
    table.row("the same: kubectl get nodes, slowest (median)", f"{result['slowest']:.1f} s ({result['median']:.1f} s)", "1 s",
              f"{result['asked']} times, {len(result['failures'])} failed")
    table.row("the same: nodes that were not ready", len(result["notReady"]), "0", "")
    table.row("the same: age of a node's Lease", f"{max(result['nodeLeases'].values(), default=0)} s", f"{NODE_LEASE} s", "")
    table.row("the same: pause of a leader election's renewals", f"{result['electionPause']} s", f"{Election.DEADLINE} s",
              f"{len(result['electionFailures'])} failed")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", required=True)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--only", default="", help=", ".join(flood.__name__ for flood in FLOODS))
    arguments.add_argument("--kubectl", default="kubectl")
    arguments.add_argument("--image", default=IMAGE)
    arguments.add_argument("--most-mb", type=float, default=300)
    arguments.add_argument("--most-seconds", type=float, default=1)
    arguments.add_argument("--nice", type=int, default=15)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    chosen = [flood for flood in FLOODS if not options.only or flood.__name__ in options.only.split(",")]
    cluster = Cluster(options.data, options.kubectl)
    idle = cluster.server_memory()
    try:
        result = flood_all(cluster, chosen, options.seconds, cluster.prepare(options.image), options.nice)
    finally:
        cluster.clean_up()
    result["idleMb"] = round(idle, 1)
    if options.json:
        print(json.dumps(result))
    else:
        for name, count in result["floods"].items():
            print(f"{name:32} {count:>10}")
        print(f"server's memory: {result['idleMb']} MB before, {result['memoryMb']} MB at most")
        print(f"kubectl get nodes: {result['asked']} times, median {result['median']} s, slowest {result['slowest']} s")
        print(f"nodes not ready: {', '.join(result['notReady']) or 'none'}")
        print(f"leases: of nodes at most {max(result['nodeLeases'].values(), default=0)} s old, of an election {result['electionPause']} s between renewals")
        for failure in result["failures"] + result["electionFailures"]:
            print(f"failed: {failure}")
    sys.exit(0 if is_calm(result, options.most_mb, options.most_seconds) else 1)


if __name__ == "__main__":
    main()
