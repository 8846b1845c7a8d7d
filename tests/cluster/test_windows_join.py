"""A Windows machine joins, joins again, and leaves, by the programs that a real one would run; here on an emulated host under Wine."""

import contextlib
import json
import re

from harness import MIXED, PORTHOLE, ClusterCase, condition, run
from test_windows_node import web_server

NODE = "windows-2"


class Joining(ClusterCase):
    shared = MIXED
    alone = True

    def on_host(self, *command, seconds=120):
        """Runs a program on the emulated host, as its administrator."""
        host = self.cluster.data / "nodes" / NODE
        return run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", "--data", host, "--", *command]), check=False, seconds=seconds,
                   env=self.cluster.environment())

    def target(self):
        """What the server prints for whoever is to join: address, token, hash."""
        text = self.cluster.porthole("token", "create", "--ttl", "10m", "--print-join-command").stdout
        found = re.search(r"join (\S+) --token (\S+) --\S*ca-cert-hash (\S+)", text)
        self.assertTrue(found, text)
        return found.groups()

    def join(self, server, token, ca_hash):
        return self.on_host("kubeadm.exe", "join", server, "--token", token, "--discovery-token-ca-cert-hash", ca_hash, "--node-name", NODE,
                            "--shared-disk")

    def wait_node(self, status="True"):
        self.eventually(lambda: condition(self.node(), "Ready") == status, 60, f"{NODE} Ready is {status}")

    def node(self):
        return self.get("node", NODE, namespaced=False)

    def config(self):
        return self.on_host("cmd", "/c", "type", "C:\\k\\config").stdout

    # JOI-03, API-03
    def test_tokens_are_made_listed_and_deleted_and_one_line_joins_both_systems(self):
        token = self.cluster.porthole("token", "create", "--description", "for a test").stdout.strip()
        self.assertRegex(token, r"^[a-z0-9]{6}\.[a-z0-9]{16}$")
        row = next(line for line in self.cluster.porthole("token", "list").stdout.splitlines() if token in line)
        self.assertRegex(row, r"(23h|24h|1d)", "a day unless said otherwise")
        line = self.cluster.porthole("token", "create", "--print-join-command").stdout.strip()
        self.assertRegex(line, r"^porthole join https://\S+ --token \S+ --ca-cert-hash sha256:[0-9a-f]{64}$")
        # The same words on Windows: the token is made invalid first, so that the machine is asked and nothing changes.
        words = line.replace(re.search(r"--token (\S+)", line).group(1), "abcdef.0123456789abcdef").split()[1:]
        refused = self.on_host("porthole.exe", *words)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("the token is unknown to the server", refused.stderr)
        self.cluster.porthole("token", "delete", token.split(".")[0])
        self.assertNotIn(token, self.cluster.porthole("token", "list").stdout)

    # JOI-02
    def test_what_is_wrong_is_named_and_nothing_changes(self):
        server, token, ca_hash = self.target()
        before = self.config()
        self.assertIn("certificate-authority", before)
        rows = [
            ("another cluster's key", (server, token, "sha256:" + "a" * 64), "does not match --ca-cert-hash"),
            ("unknown token", (server, "abcdef.0123456789abcdef", ca_hash), "the token is unknown to the server"),
            ("a token's wrong second half", (server, token[:7] + "x" * 16, ca_hash), "second half"),
            ("nobody at the port", (re.sub(r":\d+$", ":6399", server), token, ca_hash), "cannot reach the cluster"),
            ("no token at all", (server, "abc", ca_hash), "must look like"),
        ]
        for name, words, expected in rows:
            with self.subTest(name):
                refused = self.join(*words)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(expected, refused.stderr)
        self.assertEqual(self.config(), before)
        self.assertEqual(condition(self.node(), "Ready"), "True")

    # JOI-01, JOI-04, JOI-12
    def test_joining_again_changes_nothing_for_pods(self):
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web", 90)
        done = self.join(*self.target())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_order(done.stdout, "was already registered")
        self.wait_node()
        self.assertEqual(self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"], 0)

    def assert_order(self, printed, known):
        """The pod network is there, and looked at, before the kubelet starts."""
        steps = [f"node {NODE} {known}", "service flanneld runs", "HNS network cbr0 and its configuration C:\\k\\cni\\config\\10-porthole.conf",
                 "service kubelet runs", "service kube-proxy runs"]
        order = [printed.index(step) for step in steps]
        self.assertEqual(order, sorted(order), printed)

    # PRV-06, LIM-63
    def test_a_provisioning_system_reads_the_steps(self):
        server, token, ca_hash = self.target()
        words = ["kubeadm.exe", "join", server, "--token", token, "--discovery-token-ca-cert-hash", ca_hash, "--node-name", NODE, "--shared-disk",
                 "--non-interactive", "-o", "json"]
        done = self.on_host(*words)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((done.returncode, lines[-1]["event"], lines[-1]["exitCode"]), (0, "end", 0), done.stdout + done.stderr)
        self.assertIn("service kubelet runs", [line["text"] for line in lines if line["event"] == "done"])
        self.wait_node()
        words[4] = "abcdef.0123456789abcdef"
        refused = self.on_host(*words)
        last = json.loads(refused.stdout.splitlines()[-1])
        self.assertEqual((refused.returncode, last["event"], last["exitCode"]), (1, "end", 1))
        self.assertIn("the token is unknown to the server", last["error"])

    # NET-42
    def test_an_adapter_that_is_not_there_is_named_with_those_that_are(self):
        server, token, ca_hash = self.target()
        refused = self.on_host("kubeadm.exe", "join", server, "--token", token, "--discovery-token-ca-cert-hash", ca_hash, "--node-name", NODE,
                               "--adapter", "LAN")
        self.assertEqual(refused.returncode, 1)
        self.assertIn('no adapter "LAN" with an IPv4 address; this machine has', refused.stderr)
        self.assertEqual(condition(self.node(), "Ready"), "True")

    # JOI-17, RUN-07
    def test_every_check_before_a_join_has_an_id_and_what_is_wrong_a_remedy(self):
        healthy = self.checks(0)
        passed = {"elevation", "windows-build", "containers-feature", "runtime", "adapter", "ports", "names", "proxy", "stale-files", "clock"}
        self.assertEqual({name for name in passed if healthy.get(name, ("",))[0] != "done"}, set(), healthy)
        self.assertLessEqual({"page-file", "reservation"}, set(healthy))
        before = self.config()
        with self.spoiled_host():
            found = self.checks(1, "--cri-socket", "npipe:////./pipe/none", "--node-ip", "10.89.0.250", "--system-reserved", "cpu=100m",
                                variables=("HTTPS_PROXY=http://:80",))
        for name, outcome, text, remedy in (
                ("elevation", "done", "administrator", ""),
                ("windows-build", "failed", "14393 is too old", "Windows Server 2019 (17763) or newer"),
                ("containers-feature", "failed", "computenetwork.dll", "Install-WindowsFeature Containers"),
                ("runtime", "failed", "npipe:////./pipe/none", "--cri-socket"),
                ("adapter", "failed", "10.89.0.250", "--node-ip"),
                ("ports", "failed", "TCP 10250", "Get-NetTCPConnection"),
                ("names", "failed", "the service kubelet belongs to another program", "sc.exe delete kubelet"),
                ("proxy", "warning", "cannot be understood", "http://proxy.example.com:3128"),
                ("reservation", "warning", "cpu=100m", "memory=2Gi")):
            with self.subTest(name):
                self.assertEqual(found[name][0], outcome)
                self.assertIn(text, found[name][1])
                self.assertIn(remedy, found[name][1])
        self.assertIn("cannot join yet: windows-build, containers-feature, runtime, adapter, ports, names", found["end"])
        self.assertEqual(self.config(), before)
        self.wait_node()

    def checks(self, exit_code, *flags, variables=()):
        """Of a join: ID → (outcome, text with its remedy); and its last error as "end"."""
        server, token, ca_hash = self.target()
        added = [word for variable in variables for word in ("--env", variable)]
        words = ["kubeadm.exe", "join", server, "--token", token, "--discovery-token-ca-cert-hash", ca_hash, "--node-name", NODE, "--shared-disk"]
        done = run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", *added, "--data", self.cluster.data / "nodes" / NODE, "--",
                                                *words, "-o", "json", *flags]), check=False, env=self.cluster.environment())
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found = {"end": lines[-1].get("error", "")}
        for line in lines:
            check = re.match(r"\[([a-z-]+)\] ?(.*)", line["text"])
            if check:
                found[check[1]] = (line["event"], check[2] + line.get("error", ""))
        return found

    @contextlib.contextmanager
    def spoiled_host(self):
        """Of an old build, without the containers feature, and with the kubelet of another cluster, which runs."""
        version, services = "HKLM\\Software\\Microsoft\\Windows NT\\CurrentVersion", "HKLM\\System\\CurrentControlSet\\Services"
        changes = {(version, "CurrentBuildNumber"): "14393", (services + "\\kubelet", "ImagePath"): "C:\\other\\kubelet.exe"}
        value = lambda key, name: re.search(r"(REG_\w+) +(.*\S)", self.on_host("reg", "query", key, "/v", name).stdout).groups()
        former = {place: value(*place) for place in changes}
        library = "C:\\windows\\system32\\computenetwork"

        def edit(values):
            for (key, name), text in values.items():
                self.on_host("reg", "add", key, "/v", name, "/t", former[key, name][0], "/d", text, "/f")

        stopped = ("kube-proxy", "flanneld")
        for service in stopped:
            self.on_host("net", "stop", service)
        edit(changes)
        self.on_host("cmd", "/c", "ren", library + ".dll", "computenetwork.off")
        try:
            yield
        finally:
            self.on_host("cmd", "/c", "ren", library + ".off", "computenetwork.dll")
            edit({place: text for place, (_, text) in former.items()})
            for service in reversed(stopped):
                self.on_host("net", "start", service)

    # TRB-08
    def test_files_of_an_earlier_set_up_are_named_and_leave_with_the_node(self):
        for name in ("sourceVip.json", "SourceVipRequest.json"):
            self.on_host("cmd", "/c", f"echo {{}}> C:\\k\\{name}")
        told = self.on_host("porthole.exe", "status", "--node-name", NODE)
        self.assertEqual(told.returncode, 1, told.stdout)
        self.assertIn("stale     C:\\k\\SourceVipRequest.json", told.stdout)
        joined = self.join(*self.target())
        self.assertIn("[stale-files] warning: left from an earlier set-up: C:\\k\\sourceVip.json", joined.stdout)
        self.assertEqual(self.on_host("kubeadm.exe", "reset", "--force").returncode, 0)
        self.assertNotIn("ip", self.on_host("cmd", "/c", "dir /b C:\\k\\*.json").stdout.lower())
        self.kubectl("delete", "node", NODE, namespaced=False)
        done = self.join(*self.target())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.wait_node()

    # JOI-18, JOI-19
    def test_leaving_takes_everything_and_joining_works_again(self):
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web", 90)
        self.kubectl("delete", "pod", "web", "--wait=false")
        for _ in range(2):  # the second time there is nothing left to undo
            left = self.on_host("kubeadm.exe", "reset", "--force")
            self.assertEqual(left.returncode, 0, left.stdout + left.stderr)
        self.assertEqual(self.config(), "")
        self.assertNotEqual(self.on_host("cmd", "/c", "sc", "query", "kubelet").returncode, 0)
        self.assertNotIn("cbr0", self.on_host("porthole.exe", "hns", "list").stdout)
        self.kubectl("delete", "node", NODE, namespaced=False)
        done = self.join(*self.target())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_order(done.stdout, "is registered")
        own = self.node()["spec"]["podCIDR"]
        self.assertRegex(self.on_host("porthole.exe", "hns", "list").stdout, rf"cbr0 +L2Bridge +{re.escape(own)} ")
        self.assertIn(own, self.on_host("cmd", "/c", "type", "C:\\k\\cni\\config\\10-porthole.conf").stdout)
        self.wait_node()
        self.apply(web_server("again", nodeName=NODE))
        self.wait_ready("again", 90)
