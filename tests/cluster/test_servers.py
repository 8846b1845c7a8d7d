"""Several `porthole server` on one etcd, each with an address of its own in one network namespace, killed and stopped."""

import json
import pathlib
import shutil
import sys
import unittest

from control_plane_case import ControlPlane
from harness import eventually, run
from test_etcd_store import EtcdStore

ADDRESSES = {"a": "10.89.77.1", "b": "10.89.77.2"}
COMPONENTS = ("kube-controller-manager", "kube-scheduler")
LEASE, RETRY, BUSY = 15, 2 * 2.2, 10  # seconds: a lease, the longest pause of a candidate, and what a busy machine adds
SOON = 5  # seconds: what is done at a stop is seen; far less than a lease

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment",
              "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "example.test/none"}]}}}}


def deployment(name):
    labels = {"app": name}
    made = json.loads(json.dumps(DEPLOYMENT)) | {"metadata": {"name": name}}
    made["spec"] |= {"selector": {"matchLabels": labels}}
    made["spec"]["template"]["metadata"] = {"labels": labels}
    return json.dumps(made)


class Servers(EtcdStore):
    def setUp(self):
        super().setUp()
        self.servers = {}
        for name, address in ADDRESSES.items():
            run(["ip", "-n", self.network.name, "address", "add", f"{address}/32", "dev", "lo"])
            folder = self.folder / name
            folder.mkdir()
            self.servers[name] = ControlPlane(self.network, folder)
        self.start_etcd()
        for server in self.servers.values():
            self.addCleanup(server.stop)

    def start(self, name):
        """Servers that were not there before have the keys of a."""
        server = self.servers[name]
        if name != "a" and not (server.folder / "data").exists():
            (server.folder / "data").mkdir(mode=0o700)
            shutil.copytree(self.servers["a"].folder / "data/pki", server.folder / "data/pki")
            shutil.copy2(self.servers["a"].folder / "data/encryption.yaml", server.folder / "data/encryption.yaml")
        server.start("--etcd-servers", self.etcd.urls(), "--bind-address", ADDRESSES[name], "--advertise-address", ADDRESSES[name])

    def start_both(self):
        self.start("a")
        eventually(lambda: self.servers["a"].kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 30, "controllers")
        self.start("b")

    def kill(self, name):
        server = self.servers[name]
        server.process.kill()
        server.process.wait(120)
        server.process.stdout.close()
        server.process = None

    def stop_gracefully(self, name):
        self.servers[name].stop()
        self.servers[name].process = None

    def leader(self, component, ask="a"):
        """The name of the server that leads, or None."""
        done = self.servers[ask].kubectl("-n", "kube-system", "get", "lease", component, "-o", "jsonpath={.spec.holderIdentity}", check=False)
        holder = done.stdout.strip()
        if done.returncode != 0 or not holder:
            return None
        return next((name for name in self.servers if holder in self.log(name)), None)

    def log(self, name):
        path = self.servers[name].folder / "server.log"
        return path.read_text() if path.exists() else ""

    def led_by(self, name, ask):
        return all(self.leader(component, ask) == name for component in COMPONENTS)

    def released(self, name, ask):
        """Whether no lease is held by that server any more: its holder is no one, or another one."""
        holders = {component: self.servers[ask].kubectl("-n", "kube-system", "get", "lease", component, "-o",
                                                        "jsonpath={.spec.holderIdentity}").stdout.strip() for component in COMPONENTS}
        return all(not holder or self.leader(component, ask) not in (None, name) for component, holder in holders.items())

    def endpoints(self, ask):
        """Addresses of the service `kubernetes`; None while its slice and its Endpoints, written one after the other, differ."""
        server = self.servers[ask]
        slice = json.loads(server.kubectl("get", "endpointslice", "kubernetes", "-o", "json").stdout)
        endpoints = json.loads(server.kubectl("get", "endpoints", "kubernetes", "-o", "json").stdout)
        addresses = sorted(address for endpoint in slice["endpoints"] for address in endpoint["addresses"])
        same = addresses == sorted(address["ip"] for subset in endpoints["subsets"] for address in subset["addresses"])
        return addresses if same else None

    def deploy(self, name, ask):
        """Controllers make the pods of a Deployment, each of them once."""
        server = self.servers[ask]
        server.kubectl("apply", "-f", "-", stdin=deployment(name))
        count = lambda: len(server.kubectl("get", "pods", "-l", f"app={name}", "-o", "name").stdout.split())
        eventually(lambda: count() == 3, 20, "three pods")
        self.assertEqual(len(server.kubectl("get", "replicasets", "-l", f"app={name}", "-o", "name").stdout.split()), 1)


# API-14
class TwoServers(Servers):
    def test_what_one_has_acknowledged_is_seen_by_the_other(self):
        self.start_both()
        script = pathlib.Path(__file__).with_name("two_servers.py")
        done = run(self.network.inside([sys.executable, str(script), str(self.servers["a"].kubeconfig), str(self.servers["b"].kubeconfig)]),
                   seconds=300)
        self.assertEqual(done.stdout.strip(), "50 rounds")

    def test_controllers_run_once_and_go_over_to_the_other_server(self):
        self.start_both()
        eventually(lambda: self.led_by("a", ask="b"), 30, "a, which was there first, leads")
        self.deploy("with-both", ask="b")
        self.kill("a")
        eventually(lambda: self.led_by("b", ask="b"), LEASE + RETRY + BUSY, "b leads when the lease of a has ended")
        self.deploy("after-a-death", ask="b")

        self.start("a")
        self.assertTrue(self.led_by("b", ask="a"))
        self.stop_gracefully("b")
        eventually(lambda: self.released("b", ask="a"), SOON, "b has released its leases, which have not ended by themselves", patience=1)
        eventually(lambda: self.led_by("a", ask="a"), RETRY + BUSY, "a leads as soon as it looks")
        self.deploy("after-a-stop", ask="a")

    def test_endpoints_name_the_servers_that_live(self):
        self.start_both()
        both, only_a = sorted(ADDRESSES.values()), [ADDRESSES["a"]]
        eventually(lambda: self.endpoints("a") == both, 10, "both servers")
        self.assertIsNotNone(self.etcd.get(f"/registry/masterleases/{ADDRESSES['b']}"), "upstream's key")
        self.stop_gracefully("b")
        eventually(lambda: self.endpoints("a") == only_a, SOON, "one that is stopped takes itself out", patience=1)
        self.start("b")
        eventually(lambda: self.endpoints("a") == both, 10, "both servers again")
        self.kill("b")
        eventually(lambda: self.endpoints("a") == only_a, LEASE + BUSY, "the lease of one that was killed has ended")


if __name__ == "__main__":
    unittest.main()
