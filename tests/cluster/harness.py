"""One cluster for a run of the tests: in a network namespace without an uplink, with real containerd and real clients.

The cluster starts with the first test that asks for it and ends with the run. Every test has an API namespace of its own,
so that tests neither see nor wait for each other. Only processes that the cluster itself names are ever ended.
"""

import atexit
import contextlib
import fnmatch
import itertools
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from api_client import ApiClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORTHOLE = pathlib.Path(os.environ.get("PORTHOLE", ROOT / "build/release/bin/porthole"))
TOOLS = ROOT / "build/tools"
CLIENTS = {"new": TOOLS / "kubectl-new", "1.20": TOOLS / "kubectl-1.20"}
BUILT_CLIENTS = [name for name in ("1.20", "new") if name == "1.20" or CLIENTS[name].exists()]  # the new one needs Go to build
NEWEST_CLIENT = BUILT_CLIENTS[-1]
# For tests of commands that kubectl 1.20 lacks, or sends to versions of the API that are gone.
needs_newest_kubectl = unittest.skipUnless(NEWEST_CLIENT == "new", "the newest kubectl is not built: ./run clients")
IMAGE, IMAGE_2 = "porthole.test/busybox:1", "porthole.test/busybox:2"
REGISTRY = "127.0.0.1:5000"
PULLED_IMAGE = REGISTRY + "/pulled/busybox:1"
MIRROR_PORT = 5001
FETCH_SECONDS = 15  # of one request: a busy machine may lose the first packet three times, after which it comes again at 1, 3 and 7 s
PATIENCE = 3  # by how much a slow and busy machine stretches the seconds of waits and of commands, which are those of an idle one
# What kubectl prints, and nothing else, when it has asked for nothing yet.
NO_HANDSHAKE = re.compile(r"ended with 1\n(Unable to connect to the server|error: couldn't get available api versions from server)"
                          r"(: Get \"\S+\")?: net/http: TLS handshake timeout\n\Z")
MIRROR = 'server = "{0}"\n[host."{0}"]\n  capabilities = ["pull", "resolve"]\n'

sys.path.insert(0, str(ROOT / "tests/images"))


def run(command, seconds=60, check=True, stdin=None, **options):
    """Runs to the end; a failure carries everything that was printed. One that does not end has failed, too, and can be tried again."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds * PATIENCE, input=stdin,
                              stdin=None if stdin is not None else subprocess.DEVNULL, **options)
    except subprocess.TimeoutExpired as error:
        printed = b"".join(filter(None, (error.stdout, error.stderr))).decode(errors="replace")  # bytes in every case
        raise AssertionError(f"{' '.join(words)}: did not end within {error.timeout} s\n{printed}") from None
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def patiently(words):
    """The words of a kubectl whose own --timeout is stretched as that of run()."""
    return [re.sub(r"^--timeout=(\d+)s$", lambda found: f"--timeout={int(found[1]) * PATIENCE}s", str(word)) for word in words]


def slow(test):
    """Of a test that takes half a minute or more: continuous integration runs a third of these, which the commit's hash chooses."""
    test.slow = True
    return test


def fetched_through_forward(command, environment, fetch):
    """What `fetch` gets of the URL of a port-forward, which ends afterwards. The command leaves the local port to be chosen."""
    forward = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        local = re.search(r"127.0.0.1:(\d+)", forward.stdout.readline()).group(1)
        return fetch(f"http://127.0.0.1:{local}/")
    finally:
        forward.send_signal(signal.SIGTERM)
        forward.wait(120)
        forward.stdout.close()


def eventually(attempt, seconds=30.0, what="", interval=0.1, patience=PATIENCE):
    """The first true value of attempt(). What an attempt raises, such as a KeyError for a field that nobody has written yet, says why it is
    not there yet. The last attempt begins when all the time has passed, however long the others took. A `patience` of 1 is for a bound
    that is itself asserted."""
    seconds *= patience
    deadline, reason = time.monotonic() + seconds, ""
    while True:
        is_last = time.monotonic() >= deadline
        try:
            value = attempt()
            if value:
                return value
        except unittest.SkipTest:
            raise
        except AssertionError as error:
            reason = str(error)
        except Exception as error:
            reason = repr(error)
        if is_last:
            raise AssertionError(f"not within {seconds} s: {what or attempt}" + (f"; last: {reason}" if reason else ""))
        time.sleep(interval)


def never(attempt, seconds, what=""):
    """That attempt() is not true for as long as that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if attempt():
            raise AssertionError(f"it should not be: {what or attempt}")
        time.sleep(0.1)


class Network:
    """A network namespace with nothing but loopback."""

    def __init__(self, name):
        self.name = name
        run(["ip", "netns", "add", name])
        run(["ip", "-n", name, "link", "set", "lo", "up"])

    def inside(self, command):
        """`ip netns exec` would hide the machine's cgroups: only the network may change."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *command]

    def delete(self):
        run(["ip", "netns", "delete", self.name], check=False)


def raw_request(network, kubeconfig, method, path, *options, body="", **more):
    """The answer's body to a request without a client that thinks for itself; options are those of raw_request.py."""
    script = pathlib.Path(__file__).with_name("raw_request.py")
    return run(network.inside([sys.executable, str(script), str(kubeconfig), method, path, *options]), stdin=body, **more).stdout


class Cluster:
    """A running `porthole up` and what is needed to talk to it."""

    def __init__(self, nodes="linux=2", options=()):
        self.network = Network(f"porthole-test-{os.getpid()}-{secrets.token_hex(2)}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-test-"))
        self.data = self.folder / "data"
        self.kubeconfig = self.folder / "kubeconfig"
        self.api = ApiClient(self.network.name, self.kubeconfig)
        self.images = self.folder / "images"
        self.nodes = nodes
        self.options = options
        self.registry = None
        self.id = ""

    def start(self):
        import make
        make.make(self.images)
        self.start_registry()
        self.up()
        self.porthole("image", "load", self.images / "busybox.docker.tar")

    def up(self, check=True):
        done = self.porthole("up", "--nodes", self.nodes, *self.options, "--kubeconfig", self.kubeconfig, "--detach",
                             seconds=240, check=check)
        self.id = self.mark() or self.id
        return done

    def down(self, check=True):
        return self.porthole("down", seconds=240, check=check)

    def porthole(self, command, *words, **options):
        """One sub-command on this cluster's data directory, in its network namespace."""
        return run(self.network.inside([PORTHOLE, command, *words, "--data", self.data]), env=self.environment(), **options)

    def raw(self, method, path, *options, **more):
        """As raw_request(), with the administrator's certificate unless a token is given; the answer as an object."""
        return json.loads(raw_request(self.network, self.kubeconfig, method, path, *options, **more))

    def environment(self):
        sanitizers = {name: os.environ[name] for name in os.environ if name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")}
        return {"PATH": f"{os.environ['PATH']}:{TOOLS}", "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig), "LANG": "C.UTF-8",
                "NO_COLOR": "1", **sanitizers}

    def kubectl_command(self, client, *words):
        return self.network.inside([str(CLIENTS[client]), *patiently(words)])

    def kubectl(self, client, *words, **options):
        command = self.kubectl_command(client, *words)
        for _ in range(PATIENCE - 1):
            try:
                return run(command, env=self.environment(), **options)
            except AssertionError as error:
                if not NO_HANDSHAKE.search(str(error)):
                    raise
                print(f"  kubectl {words[0]}: no handshake within its 10 s, asked again", flush=True)
        return run(command, env=self.environment(), **options)

    def start_registry(self, address=REGISTRY):
        settings = self.folder / "registry.yml"
        settings.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.images}/registry}}}}\n"
                            f"http: {{addr: '{address}'}}\n")
        program = TOOLS / "docker-registry"
        self.registry = subprocess.Popen(self.network.inside([str(program), "serve", str(settings)]),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def start_mirror(self, *hosts):
        """The registry, on an address of the first node, and every node pulls from it what names one of `hosts`. Requires: up()."""
        nodes = json.loads(self.kubectl(NEWEST_CLIENT, "get", "nodes", "-o", "json").stdout)["items"]
        address = next(entry["address"] for entry in nodes[0]["status"]["addresses"] if entry["type"] == "InternalIP") + f":{MIRROR_PORT}"
        self.start_registry(address)
        for node, host in itertools.product(nodes, hosts):
            folder = self.data / "nodes" / node["metadata"]["name"] / "certs.d" / host
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "hosts.toml").write_text(MIRROR.format(f"http://{address}"))

    def processes(self):
        """Name -> pid of the processes that the cluster wrote down as its own and that still run."""
        state = json.loads((self.data / "cluster.json").read_text())
        named = dict(state.get("processes", {}), supervisor=state.get("supervisor"))
        return {name: entry["pid"] for name, entry in named.items() if entry and is_running(entry["pid"], self.data)}

    def kill(self, *names):
        """SIGKILL to processes of this cluster, by name."""
        running = self.processes()
        for name in names:
            os.kill(running[name], signal.SIGKILL)

    def cut_power(self):
        """SIGKILL to all that names this cluster: the supervisor first, so that nothing is started again."""
        if "supervisor" in self.processes():
            self.kill("supervisor")
        for _ in range(3):
            for pid, words in processes_naming([str(self.data), self.id]):
                if "kubectl" not in words and "docker-registry" not in words:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    @contextlib.contextmanager
    def nodes_lost(self, *nodes):
        """As if the nodes' machines had lost their power: SIGKILL to all that they run. The supervisor starts nothing again before the end."""
        supervisor = self.processes()["supervisor"]
        os.kill(supervisor, signal.SIGSTOP)
        try:
            self.kill(*(name for name in self.processes() if name.split("/")[0] in nodes))
            for pid in {pid for node in nodes for pid in self.pids_on(node)}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            yield
        finally:
            os.kill(supervisor, signal.SIGCONT)

    def pids_on(self, node):
        """What still runs on a node without agents: of Linux shims and all in its control groups, of Windows the first process of each container."""
        folder = self.data / "nodes" / node
        found = {pid for pid, _ in processes_naming([f"{folder}/", f"{self.id}/{node}/"])}
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and f"/porthole-{self.id}/{node}/" in entry.joinpath("cgroup").read_text():
                    found.add(int(entry.name))
        for state in folder.glob("*/runc/*/state.json"):
            pid = json.loads(state.read_text())["init_process_pid"]
            with contextlib.suppress(OSError):
                if f"/porthole-winhost/{node}-" in pathlib.Path(f"/proc/{pid}/cgroup").read_text():
                    found.add(pid)
        return found

    def mark(self):
        """The six hex digits in the names of this cluster's links, namespaces and control groups; "" before it is up."""
        links = json.loads(run(["ip", "-n", self.network.name, "-json", "link"]).stdout)
        ours = [link["ifname"] for link in links if re.fullmatch("ph[0-9a-f]{6}", link["ifname"])]
        return ours[0][2:] if ours else ""

    def leftovers(self):
        """One line for each thing on the machine that bears this cluster's marks, and all that is in its namespace."""
        ours = [str(self.data)] + ([self.id] if self.id else [])
        bears_mark = lambda text: any(mark in text for mark in ours)
        mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        left = [f"network namespace {name}" for name in list_names("/run/netns") if bears_mark(name)]
        left += [f"link {name} outside the namespace" for name in list_names("/sys/class/net") if bears_mark(name)]
        left += [f"folder /run/porthole/{name}" for name in list_names("/run/porthole") if bears_mark(name)]
        left += [f"mount {path}" for path in mounts if bears_mark(path)]
        left += [f"loop device of {path}" for path in loop_images() if path.startswith(str(self.folder))]
        left += [f"cgroup {path}" for path in control_groups("porthole-*") if bears_mark(path.name)]
        left += [f"process {pid}: {words}" for pid, words in processes_naming(ours)]

        inside = self.network.name
        links = json.loads(run(["ip", "-n", inside, "-json", "link"]).stdout)
        left += [f"link {link['ifname']}" for link in links if link["ifname"] != "lo"]
        left += [f"route {line}" for line in run(["ip", "-n", inside, "route"]).stdout.splitlines()]
        rules = run(self.network.inside(["nft", "list", "ruleset"]), check=False).stdout
        left += [f"rule {line.strip()}" for line in rules.splitlines()
                 if any(word in line for word in ("porthole", "CNI-DN", "10.244.", "10.96."))]
        return left

    def denials(self):
        """Lines of the server's log about requests of its own components that they have no right to."""
        logs = (self.data / "logs").glob("server*.log")
        lines = [line for log in sorted(logs) for line in log.read_text(errors="replace").splitlines()]
        return [line for line in lines if "a component of the control plane was denied a request" in line]

    def stop(self):
        """Ends everything in every case; returns what `down` left behind, and what the control plane was not allowed to do."""
        if self.data.exists() and PORTHOLE.exists():
            self.down(check=False)
        if self.registry:
            self.registry.terminate()
            self.registry.wait(120)
        left = self.leftovers() + self.denials()
        self.network.delete()
        if os.environ.get("PORTHOLE_KEEP"):
            print(f"kept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        return left


def control_groups(pattern):
    """Paths of the machine's control groups whose names match; glob() would raise where one of another cluster ends meanwhile."""
    return [pathlib.Path(above, name) for above, names, _ in os.walk("/sys/fs/cgroup") for name in fnmatch.filter(names, pattern)]


def remove_control_groups(pattern):
    """Those that match, with all below them, once what was in them has ended."""
    def removed():
        for group in control_groups(pattern):
            for below, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(below)
                except OSError as error:
                    raise AssertionError(f"{below}: {error}") from None
        return True
    eventually(removed, what=f"the control groups {pattern} are empty")


def is_running(pid, data):
    """Whether `pid` is one of ours: pids are used again, so its command line must name this cluster's folder or program."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return bool(words) and (str(data) in words or "porthole" in words)


def list_names(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def loop_images():
    """The files that loop devices of the machine show."""
    images = []
    for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # it may be freed now
            images.append(path.read_text().strip())
    return images


def processes_naming(marks):
    """(pid, command line) of processes that name one of `marks`; zombies name nothing and do not count."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = entry.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if any(mark in words for mark in marks):
                yield int(entry.name), words[:160]


class SharedCluster:
    """A cluster that many tests use. A failed start is remembered, so that it costs its time once."""

    def __init__(self, nodes, *options, kind=Cluster):
        self.nodes = nodes
        self.options = options
        self.kind = kind
        self.cluster = None
        self.failed = False
        self.lock = threading.Lock()

    def get(self):
        with self.lock:
            if self.failed:
                raise AssertionError("the cluster did not start: the first failed test says why")
            if not self.cluster:
                self.cluster = self.start()
            return self.cluster

    def start(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a cluster on this machine needs root")
        self.failed = True
        if not PORTHOLE.exists():
            raise AssertionError(f"{PORTHOLE} is missing: ./run build")
        cluster = self.kind(self.nodes, self.options)
        try:
            cluster.start()
        except (Exception, SystemExit) as error:  # whatever it is, it is the reason why nothing can be tested
            logs = log_tails(cluster.data)
            cluster.stop()
            raise AssertionError(f"the cluster did not start: {error}\n{logs}") from error
        self.failed = False
        atexit.register(self.end)
        return cluster

    def end(self):
        """Yields what was left behind; harmless when called again."""
        cluster, self.cluster = self.cluster, None
        return cluster.stop() if cluster else []


LINUX = SharedCluster("linux=2")
DISTURBED = SharedCluster("linux=2")  # of tests that kill, drain, add and cut off, one after the other
# Serves what is off by default, as well: certificates of pods.
MIXED = SharedCluster("linux=1,windows=2", "--server-arg", "runtime-config=certificates.k8s.io/v1beta1=true")
MIXED_PODS = SharedCluster("linux=1,windows=2")  # of tests of pods and volumes: one cluster would have them all wait for each other
OVERLAY = SharedCluster("linux=1,windows=2", "--backend", "vxlan")


def log_tails(data, lines=15):
    """The last lines of every log of the cluster, for a failure that nobody can look at later."""
    text = ""
    for path in sorted(pathlib.Path(data, "logs").glob("*")):
        tail = path.read_text(errors="replace").splitlines()[-lines:] if path.is_file() else []
        text += f"--- {path.name}\n" + "\n".join(tail) + "\n"
    return text


class ClusterCase(unittest.TestCase):
    """A test with an API namespace of its own. Subclasses may choose the client: "new" or "1.20"."""

    shared = LINUX
    client = NEWEST_CLIENT
    alone = False  # True: it disturbs tests of the same cluster, and on Linux nodes says `shared = DISTURBED`, too, to wait for fewer

    def setUp(self):
        self.cluster = self.shared.get()
        if not CLIENTS[self.client].exists():
            raise unittest.SkipTest(f"kubectl {self.client} is not built: ./run clients")
        self.namespace = "t-" + secrets.token_hex(4)
        self.cluster.api.demand("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.addCleanup(self.delete_namespace)
        # Pods are refused until the namespace's service account is there, as in every cluster.
        eventually(lambda: self.try_get("serviceaccount", "default"), what="service account default")

    def delete_namespace(self):
        with contextlib.suppress(AssertionError):  # what has become of the cluster is not the question
            self.cluster.api.request("DELETE", f"/api/v1/namespaces/{self.namespace}")

    # --- clients

    def kubectl_run(self, *words, namespaced=True, **options):
        place = ["--namespace", self.namespace] if namespaced else []
        return self.cluster.kubectl(self.client, *place, *words, **options)

    def kubectl(self, *words, namespaced=True, warnings=False, **options):
        """Output of a kubectl that must succeed, and without a warning unless one is expected."""
        done = self.kubectl_run(*words, namespaced=namespaced, **options)
        if not warnings:
            self.assertNotIn("warning", done.stderr.lower(), f"kubectl {' '.join(map(str, words))}")
        return done.stdout

    def kubectl_fails(self, *words, **options):
        """What a kubectl that must fail prints as its error."""
        done = self.kubectl_run(*words, check=False, **options)
        self.assertNotEqual(done.returncode, 0, f"kubectl {' '.join(map(str, words))} should fail, printed: {done.stdout}")
        return done.stderr

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=as_list(objects))

    def create(self, *objects):
        self.kubectl("create", "-f", "-", stdin=as_list(objects))

    # --- reading, as from `kubectl get -o json`

    def get(self, kind, name, **options):
        found = self.try_get(kind, name, **options)
        self.assertIsNotNone(found, f"{kind} {name} is not found")
        return found

    def try_get(self, kind, name, namespaced=True, warnings=False):
        found, warned = self.cluster.api.get(kind, self.namespace if namespaced else "default", name)
        self.assertFalse(warned and not warnings, warned)
        return found

    def list(self, kind, selector=None):
        found, warned = self.cluster.api.list(kind, self.namespace, selector)
        self.assertFalse(warned, warned)
        return found

    # --- waiting

    def eventually(self, attempt, seconds=30.0, what="", **options):
        try:
            return eventually(attempt, seconds, what, **options)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.situation()}") from None

    def situation(self):
        """What a person would look at first."""
        parts = [self.kubectl_run("get", "pods", "-o", "wide", check=False).stdout,
                 self.kubectl_run("get", "events", check=False).stdout]
        return "\n".join(parts)

    def wait_ready(self, pod, seconds=90):
        def ready():
            found = self.try_get("pod", pod)
            return found if found and condition(found, "Ready") == "True" else None
        return self.eventually(ready, seconds, f"pod {pod} is ready")

    def wait_phase(self, pod, *phases, seconds=90):
        def reached():
            found = self.try_get("pod", pod)
            return found if found and found.get("status", {}).get("phase") in phases else None
        return self.eventually(reached, seconds, f"pod {pod} is {' or '.join(phases)}")

    def wait_rolled_out(self, deployment, seconds=120):
        self.kubectl("rollout", "status", f"deployment/{deployment}", f"--timeout={seconds}s", seconds=seconds + 10)

    def wait_event(self, reason, text="", seconds=60):
        def happened():
            return [event for event in self.list("events") if event["reason"] == reason and text in event.get("message", "")]
        return self.eventually(happened, seconds, f"event {reason} {text}")[0]

    def pods(self, selector):
        """Pods that are not on their way out."""
        return [pod for pod in self.list("pods", selector) if "deletionTimestamp" not in pod["metadata"]]

    # --- traffic

    def exec(self, pod, *command, container=None, **options):
        chosen = ["-c", container] if container else []
        return self.kubectl("exec", pod, *chosen, "--", *command, **options)

    def fetch_from_pod(self, pod, url, times=1):
        """The pages, each on lines of its own, or an AssertionError that says why not. The timeout is outside: this wget's own is broken."""
        script = f'for _ in $(seq {times}); do timeout {FETCH_SECONDS} wget -qO- "$0" && echo || exit 1; done'
        return self.exec(pod, "sh", "-c", script, url, seconds=10 + FETCH_SECONDS * times).strip()

    def fetch_from_node(self, url, times=1):
        words = self.cluster.network.inside(["timeout", str(FETCH_SECONDS), str(TOOLS / "busybox"), "wget", "-qO-", url])
        return "\n".join(run(words).stdout.strip() for _ in range(times))


def condition(found, kind):
    return next((entry["status"] for entry in found.get("status", {}).get("conditions", []) if entry["type"] == kind), None)


def as_list(objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
