"""A Windows program of others, unmodified, as two replicas on an emulated Windows node, and its own kind of client in a Linux pod.

An entry of the catalogue is a class with what its users would write: where the program's files come from, its command line, its configuration.
The one test is the same for all: files of a ConfigMap and of a Secret, a volume for each replica, exec, logs, a memory limit, a graceful stop.
"""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parent / "images"), str(HERE.parent / "csi"), str(HERE.parents[1] / "packaging/windows_images"), str(HERE)]
import harness  # noqa: E402
import make  # noqa: E402
import sources  # noqa: E402
from manifests import config_map, pod, secret, service  # noqa: E402
from windows_image import Layer, WindowsImage, image_archive, write_oci  # noqa: E402

CLIENT_IMAGE = "porthole.test/program-clients:1"
TABLE = harness.ROOT / "build/results/programs.tsv"
BUILD = "10.0.20348.1"
GRACE = 30
# The beginning of the clients' scripts for servers on port 8080 that ask for a token.
ASK = """
import http.client
def ask(method, path, body=None, token="correct-horse"):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=20)
    connection.request(method, path, body, {"Authorization": "Bearer " + token})
    answer = connection.getresponse()
    return answer.status, answer.read()
assert ask("GET", "/", token="wrong")[0] == 401
"""


def files_below(folder, place):
    return {f"{place}/{path.relative_to(folder)}": (path.read_bytes(), 0o755) for path in folder.rglob("*") if path.is_file()}


def client_image():
    """This machine's Python with the libraries of the clients."""
    program, library = pathlib.Path(sys.executable).resolve(), pathlib.Path(sysconfig.get_path("stdlib"))
    modules = [path for path in (library / "lib-dynload").glob("*.so")]
    linked = subprocess.run(["ldd", program, *modules], capture_output=True, text=True).stdout
    shared = {word for word in linked.split() if word.startswith("/") and ".so" in word and not word.endswith(":")}
    files = {path.lstrip("/"): (pathlib.Path(path).read_bytes(), 0o755) for path in shared}
    files["usr/local/bin/python3"] = (program.read_bytes(), 0o755)
    left_out = ("test", "site-packages", "dist-packages", "idlelib", "tkinter", "ensurepip", "lib2to3", "__pycache__")
    for path in library.rglob("*"):
        if path.is_file() and not set(path.relative_to(library).parts) & set(left_out) and not path.parts[-2].startswith("config-"):
            files[f"usr/local/lib/{library.name}/{path.relative_to(library)}"] = (path.read_bytes(), 0o755)
    files |= files_below(sources.Libraries().kept, "libraries")
    busybox, applets = make.busybox_program()
    files["bin/busybox"] = (busybox, 0o755)
    return image_archive.Image(name=CLIENT_IMAGE, files=files, links={f"bin/{name}": "busybox" for name in ("sh", "sleep", "cat", "timeout")},
                               folders={"tmp": 0o1777}, environment=["PATH=/usr/local/bin:/bin", "PYTHONPATH=/libraries", "PYTHONHOME=/usr/local"],
                               command=["sleep", "3600"])


class ProgramCluster(harness.Cluster):
    """A Linux and a Windows node; the Linux one has the image of the clients."""

    def start(self):
        super().start()
        archive = self.images / "clients.oci.tar"
        image_archive.write_oci(archive, [client_image()])
        self.porthole("image", "load", archive, seconds=120)


# Of the containers, in place of the installed one; what is known of a program is about that.
WINE_ROOT = os.environ.get("PORTHOLE_WINE_ROOT", "")
PROGRAMS = harness.SharedCluster("linux=1,windows=1", *(("--wine-root", WINE_ROOT) if WINE_ROOT else ()), kind=ProgramCluster)


class ProgramCase(harness.ClusterCase):
    """One entry of the catalogue. Requires a subclass that says the following."""

    shared = PROGRAMS
    alone = True  # one program at a time: they are large

    program = ""  # as the guide calls it, with its version
    sources = ()
    command = ()  # C:\config, C:\secret and C:\data are the ConfigMap, the Secret and the volume of the replica
    port = 80
    more_ports = ()  # of the service, as (port, protocol)
    config = {}  # file name -> text
    secret = {"password": "correct-horse"}  # file name -> text
    environment = {}  # name -> value; a value that begins with "secret:" is a key of the Secret
    user = ""
    working_dir = ""
    stdin = False  # whether its standard input stays open
    probe = None  # a readiness probe's action; a connection to the port, if not said
    memory = "256Mi"
    start_seconds = 120
    check = ("cmd", "/c", "dir", "C:\\config")  # what exec runs, and a part of what it prints
    check_prints = ""
    says = ""  # a part of its log once it serves; "" for one that says nothing then
    says_at_stop = ""  # and when it is told to stop; "" likewise
    red = ""  # why it is known not to work, and whose that is
    talk = ""  # the client, a Python program; HOST is a replica or the service, PHASE "use", or "again" after the replica was restarted

    def setUp(self):
        missing = [source.kept.name for source in (sources.Libraries(), *self.sources) if not source.kept.exists()]
        if missing:
            self.skipTest(f"{', '.join(missing)} is not in the cache: ./run test programs")
        super().setUp()
        self.name = type(self).__name__.lower()
        self.image = f"porthole.test/{self.name}:1"

    def test_program(self):
        started = time.monotonic()
        try:
            self.load_image()
            self.start_pods()
            self.wait_for_both()
            self.use()
            self.look_inside()
            memory = self.memory_in_use()
            self.stop_gracefully()
            self.wait_for_both()
            self.converse(f"{self.name}-0.{self.name}", "again")
            self.assertEqual([self.restarts(number) for number in (0, 1)], [0, 0], "containers ended by themselves")
        except AssertionError as error:
            print(self.situation(), file=sys.stderr)
            self.record("red", started)
            if self.red and not WINE_ROOT:
                print(str(error)[-2000:], file=sys.stderr)
                self.skipTest(self.red)
            raise
        self.assertFalse(self.red and not WINE_ROOT, "it works: take away what is said against it")
        self.record(f"green\t{memory >> 20} MiB", started)

    def record(self, result, started):
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        with TABLE.open("a") as table:
            table.write(f"{self.program}\t{time.monotonic() - started:.0f} s\t{result}\n")

    # --- steps

    def load_image(self):
        files = {}
        for source in self.sources:
            files |= source.image_files()
        archive = self.cluster.folder / f"{self.name}.tar"
        self.addCleanup(archive.unlink, missing_ok=True)
        write_oci(archive, [WindowsImage(name=self.image, layers=[Layer(files)], builds=[BUILD], user=self.user, working_dir=self.working_dir)], compress=False)
        self.cluster.porthole("image", "load", archive, seconds=180)

    def start_pods(self):
        name, labels, ports = self.name, {"app": self.name}, ((self.port, "TCP"), *self.more_ports)
        probe = self.probe or {"tcpSocket": {"port": self.port}}
        environment = [{"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": value.removeprefix("secret:")}}} if value.startswith("secret:")
                       else {"name": key, "value": value} for key, value in self.environment.items()]
        main = {"name": "main", "image": self.image, "command": list(self.command), "stdin": self.stdin, "env": environment,
                "ports": [{"containerPort": port, "protocol": protocol} for port, protocol in ports],
                "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": self.memory}},
                "readinessProbe": {**probe, "periodSeconds": 1, "timeoutSeconds": 5},
                "volumeMounts": [{"name": "config", "mountPath": "C:\\config"}, {"name": "secret", "mountPath": "C:\\secret"},
                                 {"name": "data", "mountPath": "C:\\data"}]}
        spec = {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "terminationGracePeriodSeconds": GRACE, "containers": [main],
                "volumes": [{"name": "config", "configMap": {"name": name}}, {"name": "secret", "secret": {"secretName": name}}]}
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "256Mi"}}}}
        replicas = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
                    "spec": {"serviceName": name, "replicas": 2, "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels},
                             "template": {"metadata": {"labels": labels}, "spec": spec}, "volumeClaimTemplates": [claim]}}
        service_ports = [{"name": f"{protocol.lower()}-{port}", "port": port, "protocol": protocol} for port, protocol in ports]
        self.apply(config_map(name, **self.config), secret(name, **self.secret),
                   service(name, labels, ports=service_ports, clusterIP="None", publishNotReadyAddresses=True),
                   service(f"{name}-service", labels, ports=service_ports), replicas,
                   pod("client", {"name": "main", "image": CLIENT_IMAGE, "imagePullPolicy": "IfNotPresent"}, nodeSelector={"kubernetes.io/os": "linux"}))
        self.addCleanup(self.remove_pods)

    def remove_pods(self):
        """Waits for the end: the next program needs the memory."""
        self.kubectl_run("delete", "statefulset", self.name, "--cascade=foreground", "--timeout=90s", check=False, seconds=100)

    def wait_for_both(self):
        for name in (f"{self.name}-0", f"{self.name}-1"):
            found = self.eventually(lambda: self.ready_or_broken(name), self.start_seconds, f"{name} is ready")
            if harness.condition(found, "Ready") != "True":
                logs = [self.kubectl_run("logs", name, *more, "--tail=40", check=False).stdout for more in ((), ("--previous",))]
                self.fail("\n".join([f"{name} does not stay up", json.dumps(found["status"]["containerStatuses"][0].get("lastState")), *logs]))

    def ready_or_broken(self, name):
        found = self.try_get("pod", name) or {}
        statuses = found.get("status", {}).get("containerStatuses", [{}])
        return found if harness.condition(found, "Ready") == "True" or statuses[0].get("restartCount", 0) > 1 else None

    def converse(self, host, phase):
        def answers():
            words = ["exec", "-i", "client", "--", "timeout", "60", "python3", "-", f"{host}.{self.namespace}.svc.cluster.local", phase]
            return self.kubectl_run(*words, stdin="import sys\nHOST, PHASE = sys.argv[1:]\n" + self.talk, check=True, seconds=90) or True
        self.eventually(answers, 40, f"the client is content with {host}")

    def use(self):
        self.wait_ready("client")
        for host in (f"{self.name}-0.{self.name}", f"{self.name}-1.{self.name}", f"{self.name}-service"):
            self.converse(host, "use")

    def look_inside(self):
        first = f"{self.name}-0"
        self.assertIn(self.check_prints or next(iter(self.config)), self.exec(first, *self.check, seconds=60))
        for key, value in self.secret.items():
            self.assertIn(value, self.exec(first, "cmd", "/c", "type", f"C:\\secret\\{key}"))
        if self.says:
            self.eventually(lambda: self.says in self.kubectl("logs", first), 10, f"the log says {self.says}")

    def memory_in_use(self):
        """Bytes of the larger replica: the program, and Wine's processes of its container."""
        def measured():
            summary = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))
            used = [found["containers"][0]["memory"]["workingSetBytes"] for found in summary["pods"]
                    if found["podRef"]["namespace"] == self.namespace and found.get("containers")]
            return used if len(used) == 2 and all(used) else None
        used = max(self.eventually(measured, 60, "memory is measured"))
        limit = int(self.memory.removesuffix("Mi")) << 20
        self.assertLess(used, limit)
        return used

    def situation(self):
        ended = "jsonpath={.status.containerStatuses[0].lastState}"
        ends = self.kubectl_run("get", "pod", f"{self.name}-0", "-o", ended, check=False).stdout
        return super().situation() + ends + self.kubectl_run("logs", f"{self.name}-0", "--tail=30", check=False).stdout

    def restarts(self, number):
        return self.get("pod", f"{self.name}-{number}")["status"]["containerStatuses"][0]["restartCount"]

    def stop_gracefully(self):
        """The program ends by itself, before the grace period does, and says so where it says anything."""
        name = f"{self.name}-0"
        follow = subprocess.Popen(self.cluster.kubectl_command(harness.NEWEST_CLIENT, "-n", self.namespace, "logs", "-f", name), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.cluster.environment())
        self.addCleanup(follow.stdout.close)
        self.addCleanup(follow.wait, 10)
        self.addCleanup(follow.kill)
        before, started = self.get("pod", name)["metadata"]["uid"], time.monotonic()
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(follow.stdout), daemon=True)
        reader.start()
        self.kubectl("delete", "pod", name, "--wait=false")
        self.eventually(lambda: (self.try_get("pod", name) or {"metadata": {"uid": ""}})["metadata"]["uid"] != before, GRACE + 30, f"{name} ends")
        self.assertLess(time.monotonic() - started, GRACE - 5, f"{name} did not end by itself: {''.join(lines[-5:])}")
        reader.join(10)
        if self.says_at_stop:
            self.assertIn(self.says_at_stop, "".join(lines), "what it says when it is told to stop")


class PodsCase(harness.ClusterCase):
    """Pods of several entries, without the steps of each entry's own test. Subclasses say which programs."""

    shared = PROGRAMS
    alone = True
    programs = ()

    @property
    def sources(self):
        return [source for program in self.programs for source in program.sources]

    def setUp(self):
        missing = [source.kept.name for source in self.sources if not source.kept.exists()]
        if missing:
            self.skipTest(f"{', '.join(missing)} is not in the cache: ./run test programs")
        super().setUp()

    def prepare(self, program):
        """Loads the image and creates what template() mounts; the name of both."""
        name = program.__name__.lower()
        case = program("test_program")
        case.name, case.image, case.cluster = name, f"porthole.test/{name}:1", self.cluster
        case.load_image()
        self.addCleanup(case.doCleanups)
        self.apply(config_map(name, **program.config), secret(name, **program.secret))
        return name

    def template(self, program):
        """A pod with the program's ConfigMap and Secret, and an empty C:\\data."""
        name = program.__name__.lower()
        environment = [{"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": value.removeprefix("secret:")}}}
                       for key, value in program.environment.items()]
        mounts = [{"name": "config", "mountPath": "C:\\config"}, {"name": "secret", "mountPath": "C:\\secret"}, {"name": "data", "mountPath": "C:\\data"}]
        main = {"name": "main", "image": f"porthole.test/{name}:1", "command": list(program.command), "env": environment, "volumeMounts": mounts,
                "readinessProbe": {"tcpSocket": {"port": program.port}, "periodSeconds": 10, "timeoutSeconds": 5},
                "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": program.memory}}}
        volumes = [{"name": "config", "configMap": {"name": name}}, {"name": "secret", "secret": {"secretName": name}}, {"name": "data", "emptyDir": {}}]
        return {"metadata": {"labels": {"app": name, "catalogue": "yes"}},
                "spec": {"os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [main], "volumes": volumes}}
