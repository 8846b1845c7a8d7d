"""A control plane whose state lies in an etcd: Debian's etcd, in a network namespace, with its members killed and others writing to it."""

import base64
import json
import os
import secrets
import shutil
import subprocess
import time
import unittest

from control_plane_case import ControlPlaneCase
from harness import CLIENTS, PORTHOLE, TOOLS, eventually, needs_newest_kubectl, run


def program(name):
    """PORTHOLE_ETCD and PORTHOLE_ETCDCTL name other versions than Debian's."""
    if chosen := os.environ.get("PORTHOLE_" + name.upper()):
        return chosen
    found = TOOLS / name
    return str(found) if found.exists() else shutil.which(name)

BUSY_ELECTION = 60  # seconds; two or three on an idle machine
MAPS = "/api/v1/namespaces/default/configmaps"
SMALL = ["--quota-backend-bytes", "3000000"]  # of an etcd that is soon full
FULL = "database space exceeded: delete what is not needed, then etcdctl compact, defrag and alarm disarm"
DIFFERENT = "etcdserver: corrupt cluster: its members differ, and it takes no writes: replace the members that etcdctl alarm list names"


class Etcd:
    """Members m1, m2, … of one etcd, on ports of their own."""

    def __init__(self, network, folder, members=1, tls=None, options=()):
        self.network, self.folder, self.tls, self.options = network, folder, tls, options
        self.scheme = "https" if tls else "http"
        self.ports = {f"m{i + 1}": 2379 + 1000 * i for i in range(members)}
        self.running = {}
        for name in self.ports:
            self.start(name)

    def url(self, name):
        return f"{self.scheme}://127.0.0.1:{self.ports[name]}"

    def urls(self, names=None):
        return ",".join(self.url(name) for name in names or self.ports)

    def peer(self, name):
        return f"http://127.0.0.1:{self.ports[name] + 1}"

    def data(self, name):
        return self.folder / f"etcd-{name}"

    def start(self, name, *options):
        words = [program("etcd"), "--name", name, "--data-dir", self.data(name), "--listen-client-urls", self.url(name),
                 "--advertise-client-urls", self.url(name), "--listen-peer-urls", self.peer(name), "--initial-advertise-peer-urls", self.peer(name),
                 "--initial-cluster", ",".join(f"{member}={self.peer(member)}" for member in self.ports), *self.options, *options]
        if self.tls:
            words += ["--cert-file", self.tls / "etcd.crt", "--key-file", self.tls / "etcd.key"]
        with open(self.folder / f"etcd-{name}.log", "a") as log:
            self.running[name] = subprocess.Popen(self.network.inside([str(word) for word in words]), stdout=log, stderr=log,
                                                  stdin=subprocess.DEVNULL)

    def kill(self, name):
        process = self.running.pop(name)
        process.kill()
        process.wait(120)

    def stop(self):
        for name in list(self.running):
            self.kill(name)

    def ctl(self, *words, check=True, names=None):
        trust = ["--cacert", self.tls / "ca.crt"] if self.tls else []
        command = [program("etcdctl"), "--endpoints", self.urls(names), *trust, *words]
        return run(self.network.inside([str(word) for word in command]), env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"}, check=check)

    def get(self, key):
        """What etcd has of a key, or None."""
        return json.loads(self.ctl("get", key, "-w", "json").stdout).get("kvs", [None])[0]

    def healthy(self):
        return self.ctl("endpoint", "health", check=False).returncode == 0

    def revision(self):
        return json.loads(self.ctl("get", "none", "-w", "json").stdout)["header"]["revision"]

    def replace(self, name):
        """A new member, with nothing, in the place of one whose data are lost or wrong."""
        if name in self.running:
            self.kill(name)
        others = [other for other in self.ports if other != name]
        members = json.loads(self.ctl("member", "list", "-w", "json", names=others).stdout)["members"]
        identity = next(one["ID"] for one in members if one["name"] == name)
        # etcd refuses it for the first five seconds in which the others are connected.
        done = lambda *words: self.ctl("member", *words, names=others, check=False).returncode == 0
        eventually(lambda: done("remove", f"{identity:x}"), 60, "the member is removed", interval=1)
        eventually(lambda: done("add", name, f"--peer-urls={self.peer(name)}"), 60, "the member is added", interval=1)
        shutil.rmtree(self.data(name))
        self.start(name, "--initial-cluster-state", "existing")

    def leader(self):
        for member in json.loads(self.ctl("endpoint", "status", "-w", "json", names=list(self.running)).stdout):
            if member["Status"]["leader"] == member["Status"]["header"]["member_id"]:
                return next(name for name in self.ports if self.url(name) == member["Endpoint"])
        raise AssertionError("etcd has no leader")


def make_certificates(folder, address="127.0.0.1"):
    """An authority, a certificate of it for the address, and another authority."""
    folder.mkdir()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ("ca", "other"):
        run(["openssl", "req", "-x509", *key, "-days", "1", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"])
    run(["openssl", "req", *key, "-subj", "/CN=etcd", "-keyout", folder / "etcd.key", "-out", folder / "etcd.csr"])
    (folder / "names").write_text(f"subjectAltName=IP:{address}\n")
    run(["openssl", "x509", "-req", "-days", "1", "-in", folder / "etcd.csr", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
         "-CAcreateserial", "-extfile", folder / "names", "-out", folder / "etcd.crt"])


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class EtcdStore(ControlPlaneCase):
    members = 1

    def setUp(self):
        super().setUp()
        self.etcd = None

    def start_etcd(self, **options):
        self.etcd = Etcd(self.network, self.folder, self.members, **options)
        self.addCleanup(self.etcd.stop)
        self.addCleanup(self.server.stop)  # before etcd
        eventually(self.etcd.healthy, 60, "etcd is healthy")

    def start_server(self, *options):
        self.server.start("--etcd-servers", self.etcd.urls(), *options)
        self.server.wait_for_default_namespace()

    def restart_server(self):
        self.server.stop()
        self.server.process = None
        self.start_server()

    def create(self, name, **options):
        return self.server.kubectl("create", "configmap", name, "--from-literal=a=b", **options)

    def created(self, name):
        """For eventually(): an attempt, whose error is told if it was the last."""
        done = self.create(name, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return True

    def post(self, name):
        """The Status that a create is answered."""
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        return self.server.raw("POST", "/api/v1/namespaces/default/configmaps", body=body)

    def get(self, name):
        return json.loads(self.server.kubectl("get", "configmap", name, "-o", "json").stdout)

    def names(self):
        return self.server.kubectl("get", "configmaps", "-o", "name").stdout.split()

    def refusal(self, *options):
        done = run(self.network.inside([str(PORTHOLE), "server", "--data", str(self.folder / "refused"), "--port", "7443", *map(str, options)]),
                   check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr


class OneMember(EtcdStore):
    def test_the_state_lies_in_etcd_and_a_restart_goes_on_from_it(self):
        self.start_etcd()
        self.start_server()
        self.create("kept")
        before = self.get("kept")
        self.server.kubectl("create", "secret", "generic", "hidden", "--from-literal=password=plain-text")
        self.assertEqual(str(self.etcd.get("/registry/configmaps/default/kept")["mod_revision"]), before["metadata"]["resourceVersion"])
        hidden = base64.b64decode(self.etcd.get("/registry/secrets/default/hidden")["value"])
        self.assertTrue(hidden.startswith(b"k8s:enc:secretbox:v1:"), hidden[:40])
        self.assertFalse((self.folder / "data/store").exists())

        self.restart_server()
        self.assertEqual(self.get("kept"), before)
        self.create("later")
        self.assertGreater(int(self.get("later")["metadata"]["resourceVersion"]), int(before["metadata"]["resourceVersion"]))
        self.assertEqual(self.server.kubectl("get", "secret", "hidden", "-o", "jsonpath={.data.password}").stdout, "cGxhaW4tdGV4dA==")
        self.server.kubectl("delete", "configmap", "kept")
        self.assertIsNone(self.etcd.get("/registry/configmaps/default/kept"))

    def test_no_key_is_made_for_objects_of_another_control_plane(self):
        """What a server would encrypt with a key of its own, that control plane could not read when it comes back."""
        self.start_etcd()
        self.start_server()
        self.server.stop()
        self.server.process = None
        self.assertIn("has none of its keys: name the --data of its server", self.refusal("--etcd-servers", self.etcd.urls()))
        self.etcd.ctl("del", "/registry/clusterrolebindings/porthole:", "--prefix")  # that control plane has none
        self.assertIn("it is not known how to encrypt them: give --encryption-provider-config", self.refusal("--etcd-servers", self.etcd.urls()))
        self.assertFalse((self.folder / "refused").exists())
        self.start_server()

    def test_a_watch_sees_what_another_writer_does(self):
        self.start_etcd()
        self.start_server()
        self.create("theirs")
        value = self.etcd.ctl("get", "/registry/configmaps/default/theirs", "--print-value-only").stdout.strip()
        output = self.folder / "watched"
        with open(output, "w") as file:
            watching = subprocess.Popen(
                self.network.inside([str(CLIENTS["new"]), "get", "configmaps", "--watch", "--output-watch-events", "--no-headers"]),
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.server.kubeconfig)}, stdout=file,
                stdin=subprocess.DEVNULL)
        try:
            seen = lambda *words: any(line.split()[:2] == list(words) for line in output.read_text().splitlines())
            eventually(lambda: seen("ADDED", "theirs"), 60, "the watch has begun")
            self.etcd.ctl("put", "/registry/configmaps/default/put", value.replace('"theirs"', '"put"'))
            eventually(lambda: seen("ADDED", "put"), 60, "what etcdctl has put")
            self.etcd.ctl("del", "/registry/configmaps/default/theirs")
            eventually(lambda: seen("DELETED", "theirs"), 60, "what etcdctl has deleted")
        finally:
            watching.kill()
            watching.wait(120)
        put = self.etcd.get("/registry/configmaps/default/put")
        self.assertEqual(self.get("put")["metadata"]["resourceVersion"], str(put["mod_revision"]))

    def test_without_etcd_writes_are_refused_and_go_on_when_it_is_back(self):
        self.start_etcd()
        self.start_server()
        self.create("before")
        self.etcd.kill("m1")
        refused = self.post("meanwhile")
        self.assertEqual((refused["code"], refused["reason"]), (503, "ServiceUnavailable"))
        self.assertIn("etcd is not available (http://127.0.0.1:2379: connection refused", refused["message"])
        self.assertIn("etcd-readiness failed", self.server.kubectl("get", "--raw", "/readyz", check=False).stderr)
        self.assertEqual(self.server.raw("GET", "/api/v1/namespaces/default/configmaps")["code"], 503, "the newest cannot be asked for")
        known = self.server.raw("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=0")
        self.assertIn("before", [one["metadata"]["name"] for one in known["items"]], "what was read before can be read")
        self.etcd.start("m1")
        eventually(lambda: self.created(f"after-{secrets.token_hex(2)}"), 60, "writes go on")
        self.assertIn("configmap/before", self.names())
        self.assertNotIn("configmap/meanwhile", self.names())

    def fill(self):
        """Writes until etcd has no more space; the answer that said so."""
        answers = (self.server.raw("POST", MAPS, body=self.large(f"large-{i}")) for i in range(20))
        return next(answer for answer in answers if answer["kind"] == "Status")

    def large(self, name):
        return json.dumps({"metadata": {"name": name}, "data": {"text": secrets.token_hex(100_000)}})

    def delete_large(self):
        for name in [one["metadata"]["name"] for one in self.server.raw("GET", MAPS)["items"]]:
            self.assertNotIn("code", self.server.raw("DELETE", f"{MAPS}/{name}"), name)

    def make_space(self):
        status = json.loads(self.etcd.ctl("endpoint", "status", "-w", "json").stdout)[0]["Status"]
        for words in (["compact", status["header"]["revision"]], ["defrag"], ["alarm", "disarm"]):
            self.etcd.ctl(*map(str, words))

    def test_a_full_etcd_is_read_and_takes_writes_again_once_it_has_space(self):
        self.start_etcd(options=SMALL)
        self.start_server()
        self.etcd.ctl("put", "/other", "of another cluster")
        refused = self.fill()
        self.assertEqual(refused["code"], 500)
        self.assertIn(FULL, refused["message"])

        self.etcd.ctl("del", "/other")  # etcd's newest revision is not of a key that the server watches
        self.assertIn("large-0", [one["metadata"]["name"] for one in self.server.raw("GET", MAPS)["items"]])
        self.delete_large()
        self.assertEqual(self.server.raw("POST", MAPS, body=self.large("still"))["code"], 500)
        self.make_space()
        eventually(lambda: self.created("after"), 60, "writes go on")

    def test_a_server_starts_on_a_full_etcd_so_that_objects_can_be_deleted(self):
        self.start_etcd(options=SMALL)
        self.start_server()
        self.fill()
        before = self.names()
        self.restart_server()
        self.assertIn("alarm:NOSPACE", (self.folder / "server.log").read_text())
        self.assertEqual(self.names(), before)
        self.assertIn(FULL, self.post("refused")["message"])
        self.delete_large()
        self.make_space()
        eventually(lambda: self.created("after"), 60, "writes go on without a restart")

    def test_a_new_cluster_on_a_full_etcd_is_refused_in_one_line_and_can_begin_once_there_is_space(self):
        self.start_etcd(options=SMALL)
        self.start_server("--etcd-prefix", "/other")
        self.fill()
        self.server.stop()
        self.server.process = None
        self.assertTrue(self.refusal("--etcd-servers", self.etcd.urls()).strip().splitlines()[-1].endswith(FULL))
        self.assertEqual(self.etcd.ctl("get", "/registry/", "--prefix", "--keys-only").stdout.split(), [], "nothing was written")
        self.etcd.ctl("del", "/other/", "--prefix")
        self.make_space()
        shutil.rmtree(self.folder / "data")  # it is of the other cluster
        self.start_server()
        self.create("after")

    def test_what_cannot_be_used_is_said_in_one_line(self):
        tls = self.folder / "tls"
        make_certificates(tls)
        self.start_etcd(tls=tls)
        said = lambda *options: self.refusal("--etcd-servers", self.etcd.urls(), *options).strip().splitlines()[-1]
        self.assertRegex(said("--etcd-cafile", tls / "other.crt"), r"etcd is not available \(https://127.0.0.1:2379: tls: .*\): check --etcd-cafile")
        self.assertIn("--etcd-cafile", said("--etcd-cafile", self.folder / "missing"))
        plain = self.etcd.url("m1").replace("https", "http")
        self.assertIn("is it encrypted? Then write https://", self.refusal("--etcd-servers", plain))
        peers = self.etcd.url("m1").replace("2379", "2380")
        self.assertIn("is it a member's port for clients", self.refusal("--etcd-servers", peers, "--etcd-cafile", tls / "ca.crt"))
        self.assertIn("etcd is not available", self.refusal("--etcd-servers", "http://127.0.0.1:2"))
        self.assertIn("is not a URL such as", self.refusal("--etcd-servers", "127.0.0.1:2379"))
        self.assertIn("is not encrypted", self.refusal("--etcd-servers", "http://127.0.0.1:2379", "--etcd-cafile", tls / "ca.crt"))
        self.assertIn("--store-quota-bytes", self.refusal("--etcd-servers", self.etcd.urls(), "--store-quota-bytes", "1000000"))
        self.assertIn("--etcd-servers", self.refusal("--etcd-prefix", "/other"))
        self.start_server("--etcd-cafile", tls / "ca.crt", "--etcd-prefix", "/other")
        self.create("a")
        self.assertIn("/other/configmaps/default/a", self.etcd.ctl("get", "/other/", "--prefix", "--keys-only").stdout.split())


    def test_the_data_of_a_newer_build_is_refused_and_nothing_is_written(self):
        self.start_etcd()
        self.start_server()
        self.server.stop()
        self.server.process = None
        self.etcd.ctl("put", "/registry/_porthole/data-version", "2")
        before = self.etcd.revision()
        newer = "the objects in etcd were written by a newer Porthole (format 2, this one knows 1)"
        for command in (["server", "--port", "7443"], ["store", "migrate", "--to", "data-dir"]):
            words = [str(PORTHOLE), *command, "--data", str(self.server.folder / "data"), "--etcd-servers", self.etcd.urls()]
            refused = run(self.network.inside(words), check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(newer, refused.stderr.strip().splitlines()[-1])
        self.assertEqual(self.etcd.revision(), before)
        self.etcd.ctl("del", "/registry/_porthole/data-version")
        self.start_server()


class ThreeMembers(EtcdStore):
    members = 3

    def damage(self, name, text, other):
        """Changes what a member has on its disk, as a disk or a defect would."""
        database = self.etcd.data(name) / "member/snap/db"
        eventually(lambda: text in database.read_bytes(), 30, "the member has written it to its database")
        self.etcd.kill(name)
        database.write_bytes(database.read_bytes().replace(text, other))
        self.etcd.start(name)

    def test_the_loss_of_the_leader_delays_writes_by_seconds(self):
        self.start_etcd()
        self.start_server()
        self.create("before")
        leader = eventually(self.etcd.leader, BUSY_ELECTION, "etcd has a leader")
        self.etcd.kill(leader)
        eventually(lambda: self.created(f"after-{secrets.token_hex(2)}"), BUSY_ELECTION, "a write")
        self.assertIn("configmap/before", self.names())
        self.etcd.start(leader)
        eventually(lambda: len(self.etcd.running) == 3 and self.etcd.healthy(), 60, "all members")
        self.etcd.kill(eventually(self.etcd.leader, BUSY_ELECTION, "etcd has a leader"))
        eventually(lambda: self.created(f"again-{secrets.token_hex(2)}"), BUSY_ELECTION, "a write")

    def start_and_corrupt(self):
        """The third member differs, and etcd has found it."""
        self.start_etcd(options=["--experimental-corrupt-check-time", "1s"])
        self.start_server()
        self.create("before")
        self.server.kubectl("create", "configmap", "changed", "--from-literal=a=right-value")
        self.damage("m3", b"right-value", b"wrong-value")
        alarms = lambda: self.etcd.ctl("alarm", "list", names=["m1", "m2"]).stdout
        eventually(lambda: "CORRUPT" in alarms(), 60, "etcd has found it")
        eventually(lambda: self.post(f"refused-{secrets.token_hex(2)}").get("code") == 500, 60, "writes are refused")

    # API-14
    def test_a_server_starts_on_members_that_differ_and_goes_on_when_the_member_is_replaced(self):
        self.start_and_corrupt()
        known, before = self.names(), self.etcd.revision()
        self.restart_server()
        self.assertIn("alarm:CORRUPT", (self.folder / "server.log").read_text())
        self.assertEqual(self.names(), known)
        self.assertIn(DIFFERENT, self.post("refused")["message"])
        self.assertEqual(self.etcd.revision(), before, "nothing was written")
        self.etcd.replace("m3")
        self.etcd.ctl("alarm", "disarm")
        eventually(lambda: self.created(f"after-{secrets.token_hex(2)}"), 60, "writes go on without a restart")

    # API-14
    def test_of_members_that_differ_reads_go_on_and_writes_when_the_member_is_replaced(self):
        self.start_and_corrupt()
        before = self.etcd.revision()
        begin = time.monotonic()
        refused = self.post("refused")
        self.assertLess(time.monotonic() - begin, 4, "at once, and not after other members were tried")  # they are tried for five
        self.assertIn(DIFFERENT, refused["message"])
        self.assertIn("configmap/before", self.names())
        self.assertEqual(self.server.kubectl("get", "--raw", "/readyz").stdout, "ok", "it still serves reads")
        known = self.names()
        self.assertEqual(self.etcd.revision(), before, "nothing was written")

        self.etcd.replace("m3")
        self.etcd.ctl("alarm", "disarm")
        eventually(lambda: self.created(f"after-{secrets.token_hex(2)}"), 60, "writes go on")
        self.assertEqual({name for name in self.names() if not name.startswith("configmap/after-")}, set(known))
        self.assertIn("etcd accepts creates and updates again", (self.folder / "server.log").read_text())
        self.server.kubectl("create", "deployment", "later", "--image=i")
        replica_sets = lambda: self.server.kubectl("get", "replicasets", "-l", "app=later", "-o", "name").stdout
        eventually(replica_sets, 60, "the controllers are back")

    # API-14
    def test_writes_go_on_while_a_member_whose_data_are_lost_is_replaced(self):
        self.start_etcd()
        self.start_server()
        acknowledged = []

        def write(what):
            name = f"{what}-{len(acknowledged)}"
            self.created(name)
            acknowledged.append(f"configmap/{name}")
            return True

        write("before")
        self.etcd.kill("m1")
        eventually(lambda: write("without"), BUSY_ELECTION, "a write without the member")
        self.etcd.replace("m1")
        eventually(self.etcd.healthy, 60, "all members")
        write("with")
        for name in ("m2", "m3"):  # the new member has everything, and is asked
            self.etcd.kill(name)
            eventually(lambda: write(f"without-{name}"), BUSY_ELECTION, f"a write without {name}")
            self.etcd.start(name)
            eventually(self.etcd.healthy, 60, "all members")
        self.assertLessEqual(set(acknowledged), set(self.names()))

    def test_without_a_majority_nothing_is_written(self):
        self.start_etcd()
        self.start_server()
        for name in ("m1", "m2"):
            self.etcd.kill(name)
        # The first may wait for an answer whose outcome stays unknown longer than this client does.
        eventually(lambda: self.post("minority")["code"] == 503, 120, "the last member knows that it has no leader")
        self.assertIn("etcd is not available (", self.post("minority-again")["message"])
        self.assertEqual(self.server.kubectl("get", "--raw", "/readyz", check=False).returncode, 1)
        for name in ("m1", "m2"):
            self.etcd.start(name)
        # An attempt whose outcome is unknown may have been carried out: each has a name of its own.
        eventually(lambda: self.created(f"majority-{secrets.token_hex(2)}"), 120, "writes go on; an election among busy members takes a while")


if __name__ == "__main__":
    unittest.main()
