"""`porthole up --servers 3`: three API servers on three members of etcd, killed one by one; and the cluster ended and started again."""

import json
import os
import signal
import subprocess
import tarfile
import time
import unittest

from harness import CLIENTS, NEWEST_CLIENT, PATIENCE, Cluster, eventually, log_tails, needs_newest_kubectl, slow
from manifests import container, deployment, pod

SERVERS = {"server-1", "server-2", "server-3"}
MEMBERS = {"etcd-1", "etcd-2", "etcd-3"}
TALK = "while :; do echo line; sleep 0.2; done"
LEASE, BUSY = 15, 30  # seconds: of a leader's lease, and what a busy machine adds
BACK = 60  # seconds until all is well again after something was killed


@unittest.skipUnless(os.geteuid() == 0, "a cluster on this machine needs root")
@unittest.skipUnless(CLIENTS[NEWEST_CLIENT].exists(), "kubectl is not built: ./run clients")
class UpServers(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster("linux=1,windows=1", ["--servers", "3"])
        self.addCleanup(self.end)
        self.ended = False

    def end(self):
        if not self.ended:
            self.cluster.stop()

    def up(self):
        done = self.cluster.up(check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + log_tails(self.cluster.data))
        return done.stdout

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(NEWEST_CLIENT, *words, **options)

    def status(self):
        return json.loads(self.cluster.porthole("status", "-o", "json", check=False).stdout)

    def states(self, what):
        return {one["name"]: one["status"] for one in self.status()[what]}

    def leaders(self):
        """Names of the servers that lead the controllers and the scheduler: one each, or an assertion that says what there is."""
        leads = [(component, server["name"]) for server in self.status()["servers"] for component in server["leads"]]
        self.assertEqual(sorted(component for component, _ in leads), ["kube-controller-manager", "kube-scheduler"])
        return dict(leads)

    def leading_member(self):
        """Of etcd, which may elect another one at any time."""
        return next(one["name"] for one in self.status()["etcdMembers"] if one["leads"])

    def all_is_well(self):
        self.assertEqual(self.states("servers"), dict.fromkeys(SERVERS, "ready"))
        self.assertEqual(self.states("etcdMembers"), dict.fromkeys(MEMBERS, "healthy"))
        self.assertEqual(sum(member["leads"] for member in self.status()["etcdMembers"]), 1)
        return self.leaders()

    def replicas(self, name):
        done = self.kubectl("get", "deployment", name, "-o", "json", check=False, seconds=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout).get("status", {}).get("replicas", 0)

    def scale(self, name, count):
        """By controllers that work, whoever leads them."""
        done = self.kubectl("scale", f"deployment/{name}", f"--replicas={count}", check=False, seconds=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        return True

    def scaled(self, name, count):
        eventually(lambda: self.scale(name, count), BUSY, "a write through one of the servers")
        eventually(lambda: self.replicas(name) == count, LEASE + BUSY, f"controllers have scaled to {count}")

    # CLI-01, API-14
    @slow
    def test_one_dies_and_all_goes_on(self):
        said = self.up()
        self.assertIn("all 3 API servers ready", said)
        self.assertLessEqual(SERVERS | MEMBERS, set(self.cluster.processes()))
        leads = eventually(self.all_is_well, BACK, "all servers and members, each component led once")
        config = self.cluster.kubeconfig.read_text()
        self.assertIn("https://127.0.0.1:6444", config)
        eventually(lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, BUSY, "the namespace default")
        self.kubectl("create", "-f", "-", stdin=json.dumps(deployment("before", 1)))
        eventually(lambda: self.replicas("before") == 1, BUSY, "a replica")

        with self.subTest("the server that leads"):
            leader = leads["kube-controller-manager"]
            self.cluster.kill(leader)
            self.scaled("before", 2)
            # The first server writes the administrator's kubeconfig again when it starts.
            self.assertIn("https://127.0.0.1:6444", (self.cluster.data / "admin.kubeconfig").read_text())
            eventually(self.all_is_well, BACK, "the server is back")

        with self.subTest("the member of etcd that leads"):
            member = eventually(self.leading_member, BACK, "a leader")
            self.cluster.kill(member)
            self.scaled("before", 3)
            eventually(self.all_is_well, BACK, "the member is back")

        with self.subTest("a server that stands still"):
            leader = eventually(self.leaders, BACK, "leaders")["kube-controller-manager"]
            stopped = self.cluster.processes()[leader]
            os.kill(stopped, signal.SIGSTOP)
            try:
                self.scaled("before", 1)
                self.assertNotEqual(eventually(self.leaders, BUSY, "leaders")["kube-controller-manager"], leader)
            finally:
                os.kill(stopped, signal.SIGCONT)
            eventually(self.all_is_well, BACK, "it goes on")

        with self.subTest("the server that an emulated Windows node uses"):
            self.change_the_server_of_the_windows_node()

        with self.subTest("the supervisor, and then a member and a server"):
            before = self.cluster.processes()
            self.cluster.kill("supervisor")
            eventually(lambda: self.cluster.processes().get("supervisor", before["supervisor"]) != before["supervisor"], BUSY, "another one")
            eventually(lambda: self.cluster.processes()["etcd-2"] == before["etcd-2"], BUSY, "it goes on with what runs")
            self.cluster.kill("etcd-3", "server-3")
            eventually(self.all_is_well, BACK, "both are back")

        with self.subTest("the supervisor and the server that would start it again"):
            before = self.cluster.processes()
            self.cluster.kill("supervisor", "server-1")
            self.up()
            eventually(self.all_is_well, BACK, "what was missing is back")
            self.assertEqual(self.cluster.processes()["server-2"], before["server-2"], "it goes on with what runs")

        self.look_with_other_commands()
        self.refuse_another_number()
        self.end_and_start_again()

    def used_by_the_windows_node(self):
        """The name of the server; its programs write it down."""
        lists = [path for path in (self.cluster.data / "nodes/windows-1").glob("**/k/pki/servers") if path.is_file()]
        lines = [line for path in lists for line in path.read_text().splitlines() if line.endswith("in use")]
        names = {f"https://{one['address']}:6443": one["name"] for one in self.status()["servers"]}
        return names[lines[0].split()[1]] if lines else None

    def change_the_server_of_the_windows_node(self):
        used = eventually(self.used_by_the_windows_node, BUSY, "a server in use")
        stopped = self.cluster.processes()[used]
        os.kill(stopped, signal.SIGSTOP)
        try:
            eventually(lambda: self.used_by_the_windows_node() not in (None, used), BUSY, "another one in use")
        finally:
            os.kill(stopped, signal.SIGCONT)
        eventually(self.all_is_well, BACK, "it goes on")

    def look_with_other_commands(self):
        """`doctor` knows the cluster's etcd, and a bundle has the servers and members, without what lets anyone in."""
        found = json.loads(self.cluster.porthole("doctor", "-o", "json", check=False).stdout)["findings"]
        verdicts = {finding["item"]: finding["verdict"] for finding in found}
        self.assertEqual((verdicts["2.1-7"], verdicts["1.2.23"], verdicts["1.1.11"]), ("pass", "pass", "pass"))
        archive = self.cluster.folder / "bundle.tar.gz"
        self.cluster.porthole("bundle", archive)
        with tarfile.open(archive) as bundle:
            files = {member.name: bundle.extractfile(member).read().decode(errors="replace") for member in bundle if member.isfile()}
        find = lambda end: next((text for name, text in files.items() if name.endswith(end)), None)
        self.assertEqual({one["name"] for one in json.loads(find("machine/servers.json"))["etcdMembers"]}, MEMBERS)
        for name in SERVERS | MEMBERS:
            self.assertIsNotNone(find(f"machine/logs/{name}.log"), name)
        token = (self.cluster.data / "server-token").read_text().strip()
        for name, text in files.items():
            self.assertNotIn(token, text, name)
            self.assertNotIn("PRIVATE KEY", text, name)

    # API-14
    @slow
    def test_one_server_becomes_three_and_a_backup_is_restored_as_one(self):
        self.cluster.nodes, self.cluster.options = "linux=1", []
        self.up()
        eventually(lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, BUSY, "the namespace default")
        self.kubectl("create", "secret", "generic", "kept", "--from-literal=a=b")
        refused = self.cluster.porthole("up", "--servers", "3", "--detach", check=False)
        self.assertIn("this cluster has one API server, and --servers 3 cannot change that while it runs", refused.stderr)
        self.cluster.down()
        self.fail_to_become_three()

        self.cluster.options = ["--servers", "3"]
        self.assertIn("objects moved to etcd", self.up())
        eventually(self.all_is_well, BACK, "three servers")
        self.assertEqual(self.kubectl("get", "secret", "kept", "-o", "jsonpath={.data.a}").stdout, "Yg==")
        self.assertFalse((self.cluster.data / "store").exists())
        backup = self.cluster.folder / "backup"
        self.cluster.porthole("backup", backup)
        self.cluster.down()
        refused = self.cluster.porthole("backup", self.cluster.folder / "other", check=False)
        self.assertIn("the cluster's own etcd, which does not run: start it with `porthole up", refused.stderr)

        self.cluster.porthole("down", "--purge")
        said = self.cluster.porthole("restore", backup)
        self.assertIn("--servers 3", said.stdout)
        self.up()
        eventually(self.all_is_well, BACK, "three servers again")
        self.assertEqual(self.kubectl("get", "secret", "kept", "-o", "jsonpath={.data.a}").stdout, "Yg==")
        self.ended = True
        self.assertEqual(self.cluster.stop(), [])

    # API-14
    @slow
    def test_a_member_of_etcd_that_has_lost_its_data_is_replaced(self):
        self.cluster.nodes = "linux=1"
        self.up()
        eventually(self.all_is_well, BACK, "three servers")
        eventually(lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, BUSY, "the namespace default")

        with self.subTest("while the cluster runs"):
            self.lose("etcd-2")
            self.cluster.kill("etcd-2")
            self.written("while-it-is-replaced")
            eventually(self.all_is_well, BACK, "the member is back")
            self.assertTrue((self.cluster.data / "etcd/etcd-2/member").is_dir())
            self.votes("etcd-2", instead_of="etcd-1")

        with self.subTest("before a start"):
            self.cluster.down()
            self.lose("etcd-3")
            self.assertIn("etcd-3 replaced", self.up())
            eventually(self.all_is_well, BACK, "three members")
            self.votes("etcd-3", instead_of="etcd-2")
            self.assertEqual(self.kubectl("get", "configmap", "while-it-is-replaced", "-o", "name").stdout.strip(), "configmap/while-it-is-replaced")

        with self.subTest("but not two of three, which may have acknowledged what the third one lacks"):
            self.cluster.down()
            kept = {name: self.lose(name) for name in ("etcd-1", "etcd-2")}
            refused = self.cluster.up(check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("the data of etcd-1 and etcd-2 are missing", refused.stdout + refused.stderr)
            for name, folder in kept.items():
                folder.rename(self.cluster.data / "etcd" / name)
            self.up()
            eventually(self.all_is_well, BACK, "all as before")

    def lose(self, member):
        """Where its data are now."""
        elsewhere = self.cluster.data / "etcd" / f"lost-{member}-{time.monotonic_ns()}"
        (self.cluster.data / "etcd" / member).rename(elsewhere)
        return elsewhere

    def written(self, name):
        eventually(lambda: self.kubectl("create", "configmap", name, check=False, seconds=20).returncode == 0, BACK, f"{name} is written")

    def votes(self, member, instead_of):
        """Writes need two of three."""
        stopped = self.cluster.processes()[instead_of]
        os.kill(stopped, signal.SIGSTOP)
        try:
            self.written(f"by-{member}")
        finally:
            os.kill(stopped, signal.SIGCONT)
        eventually(self.all_is_well, BACK, f"{instead_of} goes on")

    def stream(self, name, *words):
        """A kubectl that goes on printing lines, through one server, and how many lines it has printed so far."""
        path = self.cluster.folder / f"stream-{len(self.streams)}"
        url = next(f"https://{one['address']}:6443" for one in self.status()["servers"] if one["name"] == name)
        with open(path, "wb") as output:
            process = subprocess.Popen(self.cluster.kubectl_command(NEWEST_CLIENT, "--server", url, *words), env=self.cluster.environment(),
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.streams.append(process)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        lines = lambda: len(path.read_text().splitlines())
        eventually(lambda: lines() > 2, BUSY, f"lines of {' '.join(words)} through {name}")
        return process, lines

    # API-14
    @slow
    @needs_newest_kubectl
    def test_streams_through_other_servers_go_on_when_one_is_killed(self):
        self.streams = []
        self.cluster.nodes = "linux=1"
        self.cluster.start()
        eventually(self.all_is_well, BACK, "three servers")
        eventually(lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, BUSY, "the namespace default")
        self.kubectl("create", "-f", "-", stdin=json.dumps(pod("talker", container(script=TALK))))
        self.kubectl("wait", "--for=condition=Ready", "pod/talker", "--timeout=60s", seconds=60)
        self.kubectl("create", "-f", "-", stdin=json.dumps(deployment("rolled", 3)))
        lost, kept = "server-2", "server-3"
        ways = {("logs", "-f", "talker"): ("logs", "talker", "--tail=1"),
                ("exec", "talker", "--", "sh", "-c", TALK): ("exec", "talker", "--", "echo", "again")}
        through = {name: [self.stream(name, *way) for way in ways] for name in (lost, kept)}
        rollout = subprocess.Popen(self.cluster.kubectl_command(NEWEST_CLIENT, "rollout", "status", "deployment/rolled", "--timeout=120s"),
                                   env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(rollout.kill)

        self.cluster.kill(lost)
        begun = time.monotonic()
        for again in ways.values():
            eventually(lambda: self.kubectl(*again, check=False).returncode == 0, BUSY, f"{again[0]} is answered again")
        print(f"logs and exec were answered again after {time.monotonic() - begun:.1f} s")
        for process, _ in through[lost]:
            self.assertNotEqual(process.wait(BUSY * PATIENCE), 0, "it ends with an error")
        before = [lines() for _, lines in through[kept]]
        eventually(lambda: all(lines() > count + 5 for (_, lines), count in zip(through[kept], before)), BUSY, "more lines through the other server")
        self.assertEqual([process.poll() for process, _ in through[kept]], [None, None])
        self.assertEqual(rollout.wait(120 * PATIENCE), 0)

    def fail_to_become_three(self):
        """With an etcd that does not start. The objects are where they were, so the cluster goes on with one server."""
        broken, path = self.cluster.folder / "broken", os.environ["PATH"]
        broken.mkdir()
        (broken / "etcd").write_text("#!/bin/sh\nexit 1\n")
        (broken / "etcd").chmod(0o755)
        os.environ["PATH"] = f"{broken}:{path}"
        try:
            failed = self.cluster.porthole("up", "--servers", "3", "--kubeconfig", self.cluster.kubeconfig, "--detach", check=False, seconds=240)
        finally:
            os.environ["PATH"] = path
        self.assertEqual(failed.returncode, 1)
        self.cluster.options = ["--servers", "1"]
        self.up()
        self.assertEqual(self.kubectl("get", "secret", "kept", "-o", "jsonpath={.data.a}").stdout, "Yg==")
        self.cluster.down()

    def refuse_another_number(self):
        for number, why in (("1", "only one server can become several: write --servers 3"), ("2", "a cluster has 1, 3 or 5 API servers")):
            refused = self.cluster.porthole("up", "--servers", number, "--detach", check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(why, refused.stderr)
            self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)

    def end_and_start_again(self):
        self.cluster.down()
        self.assertEqual([line for line in self.cluster.leftovers()], [])
        refused = self.cluster.porthole("up", "--servers", "5", "--detach", check=False)
        self.assertIn("has 3 servers, and only one server can become several", refused.stderr)
        self.cluster.options = []  # what it was made with stays
        self.up()
        eventually(self.all_is_well, BACK, "the same cluster")
        self.assertEqual(self.replicas("before"), 1)
        self.ended = True
        self.assertEqual(self.cluster.stop(), [])


if __name__ == "__main__":
    unittest.main()
