"""PostgreSQL for Linux and for Windows on attachable volumes of a CSI driver, whose nodes are lost and come back: what was committed follows."""

import os
import pathlib
import time
import unittest

import harness
from csi_case import NODE_HALF, STAGE, Programs
from manifests import KUBELET, windows_csi_driver
from postgresql_case import IMAGES, PostgreSQLCase
from program_case import ProgramCluster

ATTACHER, CONTROLLER_HALF = harness.TOOLS / "csi-attacher", harness.TOOLS / "csi-driver"
WINDOWS_PROGRAMS = pathlib.Path(os.environ.get("PORTHOLE_WINDOWS", harness.ROOT / "build/windows")) / "bin"
DRIVER = "attach.csi.test"
TAINT = "node.kubernetes.io/out-of-service"
LONGEST_MOVE = 120  # seconds from the taint on
KUBELETS = {"linux": "kubelet", "windows": "C/var/lib/kubelet"}


def number(system, which):
    return f"{system}-{which}"


@unittest.skipUnless(ATTACHER.exists() and CONTROLLER_HALF.exists(), "the external attacher is not built: ./run clients")
class PostgreSQLMoves(PostgreSQLCase):
    """The servers run on the second node of their system until it is lost."""

    shared = harness.SharedCluster("linux=2,windows=2", kind=ProgramCluster)

    def setUp(self):
        super().setUp()
        self.storage_class = {"storageClassName": self.namespace}
        self.folder = self.cluster.folder / self.namespace
        self.disks = self.folder / "disks"
        (self.folder / "attached").mkdir(parents=True)
        self.programs = Programs(self, self.folder, self.cluster.network.inside)
        self.node_halves = {}
        self.load_images()
        self.cluster_object("storage.k8s.io/v1", "CSIDriver", DRIVER, spec={"attachRequired": True, "fsGroupPolicy": "File"})
        for which in (1, 2):
            self.start_linux_driver(number("linux", which))
        self.start_windows_drivers()
        self.start_controller()
        for system in IMAGES:
            self.put_volume(system)

    # --- the driver

    def cluster_object(self, version, kind, name, **fields):
        self.addCleanup(self.kubectl_run, "delete", kind, name, "--ignore-not-found", "--wait=false", namespaced=False, check=False)
        self.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})

    def kubelet(self, node):
        return self.cluster.data / "nodes" / node / KUBELETS[node.split("-")[0]]

    def start_linux_driver(self, node):
        storage = self.disks / "nodes" / f"id-of-{node}"
        storage.mkdir(parents=True, exist_ok=True)
        words = {"name": DRIVER, "node": f"id-of-{node}", "endpoint": self.folder / f"{node}.sock", "attached": "by-controller",
                 "registration": self.kubelet(node) / "plugins_registry" / f"{DRIVER}.sock", "storage": storage, "capabilities": STAGE}
        self.node_halves[node] = self.programs.start(NODE_HALF, *(f"{key}={value}" for key, value in words.items()), name=node)

    def start_windows_drivers(self):
        for node in (number("windows", 1), number("windows", 2)):
            program = self.cluster.data / "nodes" / node / "C/k/csi_windows_driver.exe"
            program.write_bytes((WINDOWS_PROGRAMS / program.name).read_bytes())
            (self.disks / "nodes" / f"id-of-{node}").symlink_to(self.kubelet(node) / "plugins" / DRIVER / "volumes")
        volumes, fields = windows_csi_driver(DRIVER, "id-of-$(NODE)", attached="by-controller")
        # Made by the kubelet, as only what a container mounts is.
        volumes.append({"name": "volumes", "hostPath": {"path": f"{KUBELET}\\plugins\\{DRIVER}\\volumes", "type": "DirectoryOrCreate"}})
        fields["volumeMounts"].append({"name": "volumes", "mountPath": "C:\\volumes"})
        main = {"name": "main", "image": IMAGES["windows"], "imagePullPolicy": "IfNotPresent", "resources": {"limits": {"memory": "256Mi"}},
                **fields, "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "securityContext": {"windowsOptions": {"runAsUserName": "ContainerAdministrator"}}}
        labels = {"app": "csi-driver"}
        self.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "csi-driver"},
                    "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                        "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [main], "volumes": volumes}}}})

    def start_controller(self):
        socket = self.folder / "controller.sock"
        self.programs.start(CONTROLLER_HALF, socket, self.folder / "attached", self.disks)
        self.eventually(socket.exists, 60, "the driver's controller listens")
        self.programs.start(ATTACHER, f"--csi-address={socket}", f"--kubeconfig={self.cluster.kubeconfig}",
                            "--retry-interval-start=100ms", "--retry-interval-max=2s", "--http-endpoint=")
        self.addCleanup(self.eventually, lambda: not self.places(), 60, "the volumes are detached")
        for system in IMAGES:
            for which in (1, 2):
                self.eventually(lambda: self.is_registered(number(system, which)), 120, "the driver is registered")

    def is_registered(self, node):
        drivers = self.get("csinode", node, namespaced=False)["spec"]["drivers"] or []
        return any(one["name"] == DRIVER for one in drivers)

    def put_volume(self, system):
        name = f"{self.namespace}-{system}"
        self.cluster_object("v1", "PersistentVolume", name, spec={
            "capacity": {"storage": "256Mi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain", **self.storage_class,
            "claimRef": {"namespace": self.namespace, "name": f"data-db-{system}-0"}, "csi": {"driver": DRIVER, "volumeHandle": name}})

    def places(self):
        """Volumes and nodes that the driver has attached them to."""
        return sorted(path.name for path in (self.folder / "attached").iterdir())

    def wait_places(self, which, what):
        wanted = [f"{self.namespace}-{system}@id-of-{system}-{which}" for system in IMAGES]
        self.eventually(lambda: self.places() == wanted, LONGEST_MOVE, what)

    # --- the nodes

    def on_each(self, which, *words, check=True):
        for system in IMAGES:
            self.kubectl_run(*(number(system, which) if word == "NODE" else word for word in words), namespaced=False, check=check)

    def wait_nodes(self, which, ready):
        for node in (number(system, which) for system in IMAGES):
            self.eventually(lambda: harness.condition(self.get("node", node, namespaced=False), "Ready") == ready, 120, f"Ready of {node} is {ready}")

    def wait_moved(self):
        """Within what was promised, however slow the machine is; says how long each step took."""
        started = time.monotonic()
        steps = {"pods deleted": lambda: all(self.uid(system) not in ("", self.before[system]) for system in IMAGES),
                 "attached": lambda: all(place.endswith("-1") for place in self.places()) and len(self.places()) == len(IMAGES)}
        for system in IMAGES:
            steps[f"{system} ready"] = lambda name=f"db-{system}-0": harness.condition(self.get("pod", name), "Ready") == "True"
        for step, done in steps.items():
            self.eventually(done, LONGEST_MOVE - (time.monotonic() - started), f"{step} within {LONGEST_MOVE} s of the taint", patience=1)
            print(f"  {step} {time.monotonic() - started:.0f} s after the taint", flush=True)

    def left_on(self, node, uid):
        """What a node still has of the volume: files, mounts, and what its status says."""
        kubelet, status = self.kubelet(node), self.get("node", node, namespaced=False)["status"]
        staged = list((kubelet / "plugins/kubernetes.io/csi" / DRIVER).glob("*"))
        mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        mounts = [path for path in mounts if path.startswith(os.path.realpath(kubelet)) and ("/csi/" in path or "~csi/" in path)]
        names = [name for name in status.get("volumesInUse", []) if DRIVER in name]
        names += [one["name"] for one in status.get("volumesAttached", []) if DRIVER in one["name"]]
        return staged + mounts + names + [path for path in [kubelet / "pods" / uid] if path.exists()]

    def test_data_follow_when_a_node_is_lost_and_when_it_is_back(self):  # STO-19, STO-22
        self.on_each(1, "cordon", "NODE")
        self.addCleanup(self.on_each, 1, "uncordon", "NODE")
        self.start_servers()
        self.wait_places(2, "the volumes are where the servers are")
        self.before = {system: self.uid(system) for system in IMAGES}

        with self.cluster.nodes_lost(*(number(system, 2) for system in IMAGES)):
            self.programs.end(self.node_halves[number("linux", 2)])
            self.on_each(1, "uncordon", "NODE")
            self.wait_nodes(2, "Unknown")
            self.assertTrue(all(place.endswith("-2") for place in self.places()), "nobody has said yet that the nodes are off")
            self.addCleanup(self.on_each, 2, "taint", "node", "NODE", f"{TAINT}-", check=False)
            self.on_each(2, "taint", "node", "NODE", f"{TAINT}=nodeshutdown:NoExecute")
            self.wait_moved()
            self.go_on("2: node lost")

        self.start_linux_driver(number("linux", 2))
        self.wait_nodes(2, "True")
        self.on_each(2, "taint", "node", "NODE", f"{TAINT}-")
        for system, uid in self.before.items():
            node = number(system, 2)
            self.eventually(lambda: self.is_registered(node), 120, "the driver is registered again")
            self.eventually(lambda: self.assertEqual(self.left_on(node, uid), []) or True, 60, f"{node} has nothing left of the volume")
        self.go_on("3: node back")

        self.on_each(1, "cordon", "NODE")
        self.kubectl("delete", "pod", *(f"db-{system}-0" for system in IMAGES), "--timeout=60s", seconds=70)
        self.wait_places(2, "the volumes are back on the nodes that were lost")
        self.go_on("4: moved back")
