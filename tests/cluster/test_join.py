"""A Linux machine elsewhere becomes a node and leaves again: a network namespace with a containerd of its own, on the nodes' network."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from harness import DISTURBED, IMAGE, PORTHOLE, ClusterCase, condition, eventually, remove_control_groups, run
from manifests import pod, web_pod

ADDRESS = "10.89.0.77"
CONTAINERD = """version = 2
root = "{folder}/root"
state = "{folder}/state"
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  sandbox_image = "registry.porthole.internal/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "{folder}/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
    max_conf_num = 1
"""


class Machine:
    """A bare machine: an address on the nodes' network and a running containerd with one image of the first node. `programs` is a folder with
    its own containerd and runc; otherwise they are the distribution's."""

    def __init__(self, cluster, programs=None):
        self.cluster = cluster
        self.environment = os.environ | ({"PATH": f"{programs}:{os.environ['PATH']}"} if programs else {})
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-join-"))
        self.data = self.folder / "agent"
        self.network = f"porthole-{cluster.id}-extra"
        self.switch, self.outer = f"porthole-{cluster.id}-switch", f"x{cluster.id}"
        self.cgroup = f"porthole-{cluster.id}-extra"
        self.containerd = self.agent = None

    def start(self):
        inner, outer, switch = "eth0", self.outer, self.switch
        run(["ip", "netns", "add", self.network])
        run(["ip", "-n", self.network, "link", "set", "lo", "up"])
        run(["ip", "-n", switch, "link", "add", outer, "master", "switch", "type", "veth", "peer", inner, "netns", self.network])
        run(["ip", "-n", switch, "link", "set", outer, "up"])
        run(["ip", "-n", self.network, "address", "add", ADDRESS + "/24", "dev", inner])
        run(["ip", "-n", self.network, "link", "set", inner, "up"])
        (self.folder / "cni").mkdir()
        configuration = self.folder / "containerd.toml"
        configuration.write_text(CONTAINERD.format(folder=self.folder))
        self.containerd = subprocess.Popen(self.inside(["containerd", "--config", configuration]), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                           env=self.environment)
        eventually(lambda: run(self.ctr("version"), check=False).returncode == 0, 60, "containerd answers")
        self.copy_images()

    def copy_images(self):
        archive = self.folder / "images.tar"
        source = pathlib.Path("/run/porthole") / self.cluster.id / "linux-1/containerd.sock"
        run(["ctr", "--address", source, "--namespace", "k8s.io", "images", "export", archive, IMAGE])
        run(self.ctr("images", "import", archive))

    def inside(self, command):
        return ["nsenter", f"--net=/run/netns/{self.network}", *map(str, command)]

    def ctr(self, *words):
        return ["ctr", "--address", str(self.folder / "containerd.sock"), "--namespace", "k8s.io", *map(str, words)]

    def flags(self):
        return ["--data", self.data, "--container-runtime-endpoint", self.folder / "containerd.sock", "--cni-conf-dir", self.folder / "cni",
                "--cgroup-root", "/" + self.cgroup]

    def join_command(self, server, token, ca_hash):
        return self.inside([PORTHOLE, "join", server, "--token", token, "--ca-cert-hash", ca_hash, "--node-name", "extra", "--node-ip", ADDRESS,
                            "--shared-disk", "--foreground", *self.flags()])

    def start_agent(self, command, **environment):
        log = open(self.folder / "agent.log", "ab")
        self.agent = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                      env=self.environment | environment)

    def log(self):
        return (self.folder / "agent.log").read_text(errors="replace")[-3000:]

    def starts(self):
        """How often the agent has started."""
        return (self.folder / "agent.log").read_text(errors="replace").count("agent started")

    def end_agent(self):
        if self.agent:
            self.agent.terminate()
            self.agent.wait(60)
            self.agent = None

    def reset(self, check=True):
        return run(self.inside([PORTHOLE, "reset", *self.flags()]), check=check)

    def stop(self):
        self.end_agent()
        if self.data.exists():
            self.reset(check=False)
        if self.containerd:
            self.containerd.terminate()
            self.containerd.wait(60)
        # The kernel would delete it with the namespace, but some time later, when the next test has one of that name.
        run(["ip", "-n", self.switch, "link", "delete", self.outer], check=False)
        run(["ip", "netns", "delete", self.network], check=False)
        remove_control_groups(self.cgroup)
        shutil.rmtree(self.folder, ignore_errors=True)


class Join(ClusterCase):
    shared = DISTURBED
    alone = True  # it adds a node, which the others do not expect

    def setUp(self):
        super().setUp()
        self.machine = Machine(self.cluster)
        self.addCleanup(self.machine.stop)
        self.addCleanup(self.kubectl_run, "delete", "node", "extra", "--ignore-not-found", namespaced=False, check=False)
        self.machine.start()
        words = self.cluster.porthole("token", "create", "--print-join-command").stdout.split()
        self.server, self.token, self.hash = words[2], words[4], words[6]
        signature = "jws-kubeconfig-" + self.token.split(".")[0]
        signed = lambda: signature in json.loads(self.kubectl("get", "configmap", "cluster-info", "-n", "kube-public", "-o", "json", namespaced=False))["data"]
        eventually(signed, what="cluster-info is signed with the new token")

    def refused(self, server, token, ca_hash):
        """The line that `join` ends with. It leaves nothing behind."""
        done = run(self.machine.join_command(server, token, ca_hash), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.machine.data / "client.pem").exists())
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_each_wrong_word_has_a_line_of_its_own_and_leaves_nothing(self):  # JOI-02
        identity, secret = self.token.split(".")
        other = "x" * 16 if secret != "x" * 16 else "y" * 16
        self.assertIn("which does not match --ca-cert-hash", self.refused(self.server, self.token, "sha256:" + "0" * 64))
        self.assertIn("the token's second half does not match the cluster's", self.refused(self.server, f"{identity}.{other}", self.hash))
        self.assertIn("the token is unknown to the server or has expired", self.refused(self.server, "aaaaaa." + secret, self.hash))
        self.assertIn("the token must look like", self.refused(self.server, "short", self.hash))
        self.assertIn("check the address", self.refused("https://10.89.0.1:9", self.token, self.hash))
        self.assertFalse(self.machine.data.exists())
        self.assertIsNone(self.try_get("node", "extra"))

    def test_joins_runs_pods_renews_and_leaves(self):  # JOI-04, JOI-19, JOI-20, SEC-16
        self.machine.start_agent(self.machine.join_command(self.server, self.token, self.hash))
        def ready():
            node = self.try_get("node", "extra")
            return node if node and condition(node, "Ready") == "True" else None
        try:
            node = eventually(ready, 60, "the node is Ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.machine.log()}") from None
        self.assertEqual(node["status"]["addresses"][0]["address"], ADDRESS)
        identity = self.machine.data / "client.pem"
        self.assertEqual(stat.S_IMODE(identity.stat().st_mode), 0o600)
        requests = json.loads(self.kubectl("get", "csr", "-o", "json", namespaced=False))["items"]
        ours = [entry for entry in requests if entry["spec"]["username"] == "system:bootstrap:" + self.token.split(".")[0]]
        self.assertEqual(len(ours), 1)
        self.assertEqual(ours[0]["spec"]["signerName"], "kubernetes.io/kube-apiserver-client-kubelet")

        # The sandbox image and the sample's come with the agent.
        carried = {"name": "main", "image": "registry.porthole.internal/web:2", "readinessProbe": {"httpGet": {"path": "/", "port": 80}}}
        self.apply(web_pod("there", nodeName="extra"), web_pod("here", nodeName="linux-2"), pod("carried", carried, nodeName="extra"))
        self.wait_ready("there")
        self.wait_ready("here")
        self.wait_ready("carried")
        address = self.get("pod", "there")["status"]["podIP"]
        self.eventually(lambda: self.fetch_from_pod("here", f"http://{address}:8080/") == "there", 60, "the pod answers across nodes")
        self.assertIn("there", self.kubectl("exec", "there", "--", "hostname"))

        # The agent comes back with the identity it has; the token is needed no more.
        self.cluster.porthole("token", "delete", self.token)
        arguments = pathlib.Path(f"/proc/{self.machine.agent.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        self.machine.end_agent()
        started, starts = self.get("pod", "there")["status"]["containerStatuses"][0]["containerID"], self.machine.starts()
        self.machine.start_agent(self.machine.inside(arguments))
        self.kubectl("delete", "pod", "here", "--wait=false")
        eventually(lambda: self.machine.starts() > starts, 60, "the agent runs again")
        self.assertEqual(self.get("pod", "there")["status"]["containerStatuses"][0]["containerID"], started)

        self.leave()

    def test_behind_a_proxy_the_server_is_reached_through_it_and_pods_are_not(self):  # JOI-14
        log = self.machine.folder / "proxy.log"
        with open(log, "w") as output:
            proxy = subprocess.Popen(self.cluster.network.inside([sys.executable, str(pathlib.Path(__file__).with_name("connect_proxy.py")), "10.89.0.1", "3128"]),
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(proxy.wait, 60)
        self.addCleanup(proxy.terminate)
        eventually(lambda: "listening" in log.read_text(), 60, "the proxy listens")
        run(self.machine.inside(["nft", "add table inet proxied; add chain inet proxied out { type filter hook output priority 0; }; "
                                 "add rule inet proxied out tcp dport 6443 reject with tcp reset"]))
        self.assertIn("HTTPS_PROXY are not set", self.refused(self.server, self.token, self.hash))
        self.machine.start_agent(self.machine.join_command(self.server, self.token, self.hash), HTTPS_PROXY="http://10.89.0.1:3128")
        ready = lambda: condition(self.try_get("node", "extra") or {"status": {"conditions": []}}, "Ready") == "True"
        try:
            eventually(ready, 60, "the node is Ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.machine.log()}{log.read_text()}") from None
        environment = pathlib.Path(f"/proc/{self.machine.agent.pid}/environ").read_text().split("\0")
        self.assertIn(f"NO_PROXY=localhost,127.0.0.1,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local,{ADDRESS}", environment)
        self.apply(web_pod("there", nodeName="extra"))
        self.wait_ready("there")
        self.assertEqual(set(log.read_text().splitlines()[1:]), {"CONNECT 10.89.0.1:6443 HTTP/1.1"})

    def leave(self):
        self.assertIn("an agent already runs", self.machine.reset(check=False).stderr)  # it still runs
        self.machine.end_agent()
        self.machine.reset()
        self.assertFalse(self.machine.data.exists())
        self.assertEqual(run(self.machine.ctr("tasks", "list", "--quiet")).stdout.strip(), "")
        self.assertEqual(list((self.machine.folder / "cni").iterdir()), [])
        links = [link["ifname"] for link in json.loads(run(["ip", "-n", self.machine.network, "-json", "link"]).stdout)]
        self.assertEqual(sorted(links), ["eth0", "lo"])
        rules = run(self.machine.inside(["nft", "list", "ruleset"])).stdout
        self.assertNotIn("porthole", rules)
        mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        self.assertNotIn(str(self.machine.data), mounts)


if __name__ == "__main__":
    unittest.main()
