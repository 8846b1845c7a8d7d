"""Device plugins: upstream's sample plugin, unmodified, offers two devices, which are files, on one node."""

import subprocess
import tempfile
import unittest

from harness import DISTURBED, TOOLS, ClusterCase
from manifests import container, pod

PLUGIN = TOOLS / "sample-device-plugin"
RESOURCE, NODE = "example.com/resource", "linux-2"
# It knows one place only; the kubelets of this cluster have a folder each.
START = ("mount -t tmpfs none /var/lib && mkdir -p /var/lib/kubelet/device-plugins && "
         'mount --bind "$1" /var/lib/kubelet/device-plugins && exec "$2"')


@unittest.skipUnless(PLUGIN.exists(), "upstream's sample device plugin is not built: ./run clients")
class DevicePlugins(ClusterCase):
    shared = DISTURBED
    alone = True

    def setUp(self):
        super().setUp()
        self.log = self.enterContext(tempfile.TemporaryFile("w+"))
        self.plugin = None
        self.start_plugin()
        self.addCleanup(self.stop_plugin)

    def start_plugin(self):
        folder = self.cluster.data / f"nodes/{NODE}/kubelet/device-plugins"
        self.plugin = subprocess.Popen(["unshare", "--mount", "sh", "-c", START, "sh", folder, PLUGIN], stdin=subprocess.DEVNULL,
                                       stdout=self.log, stderr=self.log)
        self.wait_amounts("2", "2")

    def stop_plugin(self):
        self.plugin.terminate()
        self.plugin.wait(60)

    def wait_amounts(self, capacity, allocatable):
        def reached():
            status = self.get("node", NODE, namespaced=False)["status"]
            found = status["capacity"].get(RESOURCE), status["allocatable"].get(RESOURCE)
            self.assertEqual(found, (capacity, allocatable))
            return True
        self.eventually(reached, 60, f"the node has {capacity} devices, {allocatable} of them healthy")

    def user(self, name, count, **fields):
        return pod(name, container(resources={"limits": {RESOURCE: str(count)}}), **fields)

    def files(self, name):
        return sorted(line for line in self.exec(name, "ls", "/tmp").split() if line.startswith("Dev-"))

    def test_a_container_has_the_devices_that_it_asks_for(self):
        self.apply(self.user("one", 1))
        self.wait_ready("one")
        self.assertEqual(self.get("pod", "one")["spec"]["nodeName"], NODE)
        device, = self.files("one")
        status, = self.get("pod", "one")["status"]["containerStatuses"]
        self.assertEqual(status["allocatedResourcesStatus"], [{"name": RESOURCE, "resources": [{"resourceID": device, "health": "Healthy"}]}])
        self.apply(self.user("two", 2))
        self.wait_event("FailedScheduling", f"Insufficient {RESOURCE}")
        self.kubectl("delete", "pod", "one")
        self.wait_ready("two")
        self.assertEqual(self.files("two"), ["Dev-1", "Dev-2"])

    def test_a_pod_for_which_there_is_no_device_fails(self):
        self.apply(self.user("both", 2))
        self.wait_ready("both")
        self.apply(self.user("late", 1, nodeName=NODE))
        self.wait_phase("late", "Failed")
        status = self.get("pod", "late")["status"]
        self.assertEqual(status["reason"], "UnexpectedAdmissionError")
        self.assertEqual(status["message"], "Pod was rejected: Allocate failed due to requested number of devices unavailable for "
                                            f"{RESOURCE}. Requested: 1, Available: 0, which is unexpected")

    def test_containers_keep_their_devices_over_the_loss_of_plugin_and_kubelet(self):
        self.apply(self.user("kept", 1, restartPolicy="Always"))
        self.wait_ready("kept")
        before = self.files("kept")
        self.stop_plugin()
        self.wait_amounts("2", "0")
        self.exec("kept", "kill", "1")
        self.eventually(lambda: self.get("pod", "kept")["status"]["containerStatuses"][0]["restartCount"] == 1, 60, "the container restarts")
        self.wait_ready("kept")
        self.assertEqual(self.files("kept"), before)
        self.start_plugin()
        self.cluster.kill(NODE + "/agent")  # and the plugin registers again by itself
        self.wait_amounts("2", "2")
        self.apply(self.user("other", 1))
        self.wait_ready("other")
        self.assertNotEqual(self.files("other"), before)
