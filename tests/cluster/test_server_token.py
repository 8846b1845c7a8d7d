"""Several servers that share one etcd and, sealed with a token, their authorities and keys: real processes in a network namespace."""

import concurrent.futures
import json
import os
import secrets
import shutil
import subprocess
import time
import unittest

from control_plane_case import ControlPlane, NetworkCase
from harness import PORTHOLE, eventually, needs_newest_kubectl, run, slow
from test_etcd_store import Etcd

ROTATION_FOLLOWED = 75  # seconds; others look every 10, and the first one waits for 20


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
@needs_newest_kubectl
class ServerToken(NetworkCase):
    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self.network, self.folder)
        self.addCleanup(self.etcd.stop)
        self.token = self.token_file("token", secrets.token_hex(32))
        self.first, self.second = self.server("first"), self.server("second")
        eventually(self.etcd.healthy, 30, "etcd is healthy")

    def token_file(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return path

    def server(self, name):
        (self.folder / name).mkdir()
        server = ControlPlane(self.network, self.folder / name)
        self.addCleanup(server.stop)
        return server

    def start(self, server, port, *options):
        server.start("--port", port, "--etcd-servers", self.etcd.urls(), "--server-token-file", self.token, *options)

    def start_both_at_once(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            starts = [pool.submit(self.start, self.first, 6443), pool.submit(self.start, self.second, 7443)]
        for start in starts:
            start.result()
        for server in (self.first, self.second):
            eventually(lambda: server.kubectl("get", "serviceaccount", "default", check=False).returncode == 0, 60, "the namespace default")

    def pki(self, server, name):
        return (server.folder / "data/pki" / name).read_text()

    def whoami(self, server, token):
        """Whom a server takes the bearer of a token for; "" for no one."""
        done = server.kubectl("--kubeconfig", server.write_token_kubeconfig(), f"--token={token}", "auth", "whoami", "-o", "json", check=False)
        return json.loads(done.stdout)["status"]["userInfo"]["username"] if done.returncode == 0 else ""

    def refusal(self, name, *options):
        """The line with which a server ends that must not start; it has written nothing."""
        data = self.folder / name
        had = data.exists()
        done = run(self.network.inside([str(PORTHOLE), "server", "--data", str(data), "--port", "8443", "--etcd-servers", self.etcd.urls(),
                                        *map(str, options)]), check=False, seconds=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(data.exists(), had)
        return done.stderr.strip().splitlines()[-1]

    def test_two_servers_are_one_cluster(self):
        self.start_both_at_once()
        for name in ("ca.crt", "ca.key", "kubelet-serving-ca.key", "front-proxy-ca.key", "sa.key"):
            self.assertEqual(self.pki(self.first, name), self.pki(self.second, name), name)
            self.assertEqual((self.second.folder / "data/pki" / name).stat().st_mode & 0o777, 0o644 if name.endswith(".crt") else 0o600, name)
        self.assertNotEqual(self.pki(self.first, "apiserver.key"), self.pki(self.second, "apiserver.key"))
        sealed = self.etcd.ctl("get", "/registry/_porthole/shared-secrets", "-w", "json").stdout
        self.assertNotIn("PRIVATE KEY", sealed)

        # One's administrator is the other's, and either verifies what the other has signed and encrypted.
        at_second = ("--server", "https://127.0.0.1:7443")
        self.assertIn("namespace/default", self.first.kubectl(*at_second, "get", "namespaces", "-o", "name").stdout)
        for signer, verifier in ((self.first, self.second), (self.second, self.first)):
            token = signer.kubectl("create", "token", "default").stdout.strip()
            self.assertEqual(self.whoami(verifier, token), "system:serviceaccount:default:default")
        self.first.kubectl("create", "secret", "generic", "hidden", "--from-literal=password=plain-text")
        read = lambda: self.second.kubectl("get", "secret", "hidden", "-o", "jsonpath={.data.password}", check=False).stdout
        eventually(lambda: read() == "cGxhaW4tdGV4dA==", 20, "the second server reads the first one's secret")

        said = self.refusal("wrong", "--server-token-file", self.token_file("other", secrets.token_hex(32)))
        self.assertIn("is not the one with which the servers of this cluster share their secrets", said)
        self.assertIn("start this one with their --server-token-file", self.refusal("missing"))
        self.assertIn("at least 16 characters", self.refusal("short", "--server-token-file", self.token_file("short-token", "short")))
        said = self.refusal("cidr", "--server-token-file", self.token, "--service-cidr", "10.0.0.0/16", "--cluster-dns", "10.0.0.10")
        self.assertIn("--service-cidr is 10.0.0.0/16 here and 10.96.0.0/12 on the cluster's other servers", said)

    @slow
    def test_another_token_is_taken_from_the_file(self):
        self.start_both_at_once()
        sealed = lambda: json.loads(self.etcd.ctl("get", "/registry/_porthole/shared-secrets", "-w", "json").stdout)["kvs"][0]["value"]
        before = sealed()
        old = self.token_file("old", self.token.read_text().strip())
        self.token_file("token", secrets.token_hex(32))
        eventually(lambda: sealed() != before, 30, "a server has seen it")
        self.assertIn("is not the one with which the servers of this cluster", self.refusal("late", "--server-token-file", old))
        self.second.stop()
        self.start(self.second, 7443)
        token = self.first.kubectl("create", "token", "default").stdout.strip()
        self.assertEqual(self.whoami(self.second, token), "system:serviceaccount:default:default")

    def test_new_keys_are_not_made_for_a_cluster_that_has_run_without_a_token(self):
        self.first.start("--port", 6443, "--etcd-servers", self.etcd.urls())
        self.first.kubectl("create", "secret", "generic", "hidden", "--from-literal=password=plain-text")
        said = self.refusal("early", "--server-token-file", self.token)
        self.assertIn("start the server that has them with --server-token-file first", said)
        self.assertIn("has none of its keys", self.refusal("another"))
        self.second.start("--port", 7443)
        self.second.stop()
        shutil.rmtree(self.second.folder / "data/store")
        self.assertIn("etcd has another cluster: its authority is sha256:", self.refusal("second/data"))
        shutil.rmtree(self.second.folder / "data")
        self.first.stop()
        self.start(self.first, 6443)
        self.start(self.second, 7443)
        read = lambda: self.second.kubectl("get", "secret", "hidden", "-o", "jsonpath={.data.password}", check=False).stdout
        eventually(lambda: read() == "cGxhaW4tdGV4dA==", 20, "the second server reads the first one's secret")

    def test_a_data_directory_of_another_cluster_is_refused(self):
        alone = self.server("alone")
        alone.start("--port", 6443)
        alone.stop()
        authority = self.pki(alone, "ca.crt")
        self.token.chmod(0o644)
        self.start(self.second, 7443)
        self.assertIn("others than its owner have access to the server token", (self.second.folder / "server.log").read_text())
        self.assertIn("not in an etcd: leave the --etcd flags out", self.refusal("alone/data", "--server-token-file", self.token))
        shutil.rmtree(alone.folder / "data/store")
        said = self.refusal("alone/data", "--server-token-file", self.token)
        self.assertIn("has the authorities of another cluster than etcd below /registry", said)
        self.assertEqual(self.pki(alone, "ca.crt"), authority)

    @slow
    def test_a_rotated_key_is_accepted_by_both_at_every_moment(self):
        self.start_both_at_once()
        before = self.pki(self.first, "sa.key")
        certs = lambda server, *words, **options: run([str(PORTHOLE), "certs", *words, "--data", str(server.folder / "data")], **options)
        first_token = self.first.kubectl("create", "token", "default").stdout.strip()
        certs(self.second, "rotate", "service-account-key", "--start")
        key_of = lambda token: token.split(".")[0]
        end = time.monotonic() + ROTATION_FOLLOWED
        signed_by = {key_of(first_token)}
        while len(signed_by) < 2 and time.monotonic() < end:
            token = self.second.kubectl("create", "token", "default").stdout.strip()
            signed_by.add(key_of(token))
            self.assertEqual(self.whoami(self.first, token), "system:serviceaccount:default:default")
            time.sleep(1)
        self.assertEqual(len(signed_by), 2, "the new key signs")
        self.assertNotEqual(self.pki(self.first, "sa.key"), before)
        self.assertEqual(self.whoami(self.second, first_token), "system:serviceaccount:default:default")
        self.assertIn("shared with the cluster's other servers", certs(self.first, "list").stdout)

        certs(self.first, "rotate", "ca", "--start")
        said = certs(self.first, "rotate", "ca", "--finish", check=False)
        self.assertIn("several servers share this authority", said.stderr)
        # The last file that a server writes of a rotation that another has started.
        same = lambda: self.pki(self.second, "ca.crt") == self.pki(self.first, "ca.crt")
        eventually(same, ROTATION_FOLLOWED, "the second server has both authorities")
        self.assertTrue((self.second.folder / "data/pki/ca-rotation-started").exists())

    @slow
    def test_secrets_can_be_read_from_both_at_every_moment_of_a_rotation_of_their_key(self):
        self.start_both_at_once()
        keys = lambda server: (server.folder / "data/encryption.yaml").read_text()
        before = keys(self.first)
        self.first.kubectl("create", "secret", "generic", "before", "--from-literal=a=b")
        rotation = subprocess.Popen(self.network.inside([str(PORTHOLE), "secrets", "rotate", "--data", str(self.second.folder / "data")]),
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(rotation.kill)
        count = 0
        while rotation.poll() is None:
            count += 1
            writer, reader = (self.first, self.second) if count % 2 else (self.second, self.first)
            writer.kubectl("create", "secret", "generic", f"meanwhile-{count}", "--from-literal=a=b")
            for name in ("before", f"meanwhile-{count}"):
                eventually(lambda: reader.kubectl("get", "secret", name, "-o", "jsonpath={.data.a}").stdout == "Yg==", 10, f"{name} can be read")
        said = rotation.stdout.read()
        self.assertIn("the old key has been removed", said)
        self.assertGreater(count, 20)
        eventually(lambda: keys(self.first) == keys(self.second) != before, ROTATION_FOLLOWED, "both have the new key only")
        self.assertEqual(keys(self.first).count("secret:"), 1)
        for server in (self.first, self.second):
            self.assertNotIn("cannot be decrypted", (server.folder / "server.log").read_text())
        self.first.stop()
        self.start(self.first, 6443)
        for name in ("before", "meanwhile-1", f"meanwhile-{count}"):
            self.assertEqual(self.first.kubectl("get", "secret", name, "-o", "jsonpath={.data.a}").stdout, "Yg==", name)


if __name__ == "__main__":
    unittest.main()
