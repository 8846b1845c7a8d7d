"""A cluster with a registry that answers for those of the platforms, and what is needed to install them as their manuals say.

A platform's programs and manifests are upstream's, from its Go modules: `./run test platforms` compiles them once. Only the images around the
programs are made here. Platforms stay installed until the run ends, so that they have to work side by side.
"""

import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parent / "images")]
import harness  # noqa: E402
from image_registry import Registry, layer_of_files  # noqa: E402

BUILT = harness.TOOLS / "platforms"
HOSTS = ("docker.io", "gcr.io", "ghcr.io", "quay.io", "registry.k8s.io")
USERS = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"


class PlatformCluster(harness.Cluster):
    """Two Linux nodes that pull what the platforms name from a registry beside them."""

    def start(self):
        super().start()
        self.registry.terminate()  # the one of the other tests listens on one node only
        self.registry.wait(10)
        self.start_mirror(*HOSTS)
        self.storage = Registry(self.images / "registry")
        self.installed = {}  # platform -> why it could not be installed, or None
        self.installing = threading.Lock()

    def add_image(self, reference, program, place):
        """An image whose only program is `program`, at `place`."""
        repository, _, tag = reference.partition("/")[2].rpartition(":")
        layer = layer_of_files({place: (program.read_bytes(), 0o755), "etc/passwd": (USERS, 0o644)}, folders={"tmp": 0o1777})
        self.storage.add(repository, tag, [layer], entrypoint=["/" + place], user="65532:65532")


PLATFORMS = harness.SharedCluster("linux=2", kind=PlatformCluster)


class PlatformCase(harness.ClusterCase):
    """A test of one platform, which install() puts into the cluster once."""

    shared = PLATFORMS
    modules = ()  # folders of this folder whose programs it needs

    def setUp(self):
        for name in self.modules:
            if not self.module(name).is_dir():
                self.skipTest(f"{name} is not built: ./run test platforms")
        super().setUp()
        cluster, name = self.cluster, type(self).__name__
        with cluster.installing:
            if name not in cluster.installed:
                cluster.installed[name] = "see its first test"
                self.install()
                cluster.installed[name] = None
        if cluster.installed[name]:
            self.fail(f"{name} could not be installed: {cluster.installed[name]}")

    def install(self):
        raise NotImplementedError

    @staticmethod
    def module(name):
        """The folder with the programs of a module, and with the files of it that manifests.txt names."""
        return BUILT / name

    def add_image(self, reference, module, program, place=None):
        """`place`: where upstream's image has the program, where a manifest names it."""
        self.cluster.add_image(reference, self.module(module) / program, place or f"bin/{program}")

    def helm(self, *words):
        command = self.cluster.network.inside([str(harness.TOOLS / "helm"), *map(str, words)])
        return harness.run(command, env=self.cluster.environment(), seconds=200).stdout

    def install_files(self, *words, stdin=None):
        """As an administrator types it; kubectl may warn of what is deprecated in a platform's manifests."""
        self.kubectl("apply", "--server-side", *words, namespaced=False, warnings=True, seconds=120, **({"stdin": stdin} if stdin else {}))

    def kustomize(self, folder):
        return self.kubectl("kustomize", str(folder), namespaced=False, warnings=True)

    def wait_available(self, namespace, *names, kind="deployment", seconds=120):
        """Shows what the pods said where one does not come up."""
        kubectl = lambda *words, **options: self.cluster.kubectl(self.client, "-n", namespace, *words, check=False, **options)
        for name in (f"{kind}/{name}" for name in names):
            done = kubectl("rollout", "status", name, f"--timeout={seconds}s", seconds=seconds + 20)
            if done.returncode:
                columns = "custom-columns=OBJECT:.involvedObject.name,REASON:.reason,MESSAGE:.message"
                shown = [kubectl(*words).stdout for words in (("get", "pods", "-o", "wide"), ("get", "events", "-o", columns), ("logs", name, "--tail=40"))]
                self.fail("\n".join([done.stderr, *shown]))
