"""Attacks on nodes and by nodes, typed as an attacker would: each is refused, and the next request is served."""

import contextlib
import json
import os
import pathlib
import re
import secrets
import shutil
import sys

from harness import DISTURBED, PORTHOLE, ClusterCase, condition, eventually, list_names, needs_newest_kubectl, run, slow
from manifests import container, pod
from test_windows_node import WindowsCase, windows_pod

NODE = "linux-1"
AS_NODE = [f"--as=system:node:{NODE}", "--as-group=system:nodes"]
DNS_PORT = 10053
# An address as source, another and a name: asks for its A record and prints the answer's code.
ASK = """
import socket, struct, sys
source, server, name = sys.argv[1:]
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.settimeout(20)
asked.bind((source, 0))
labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
asked.sendto(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1", (server, %d))
print(asked.recv(4096)[3] & 15)
""" % DNS_PORT
NO_ERROR, REFUSED = "0", "5"
STRANGER = "192.0.2.77"


def on_node(name, *containers, **fields):
    return pod(name, *containers, nodeName=NODE, **fields)


class OnNodes(ClusterCase):
    """By someone who may make pods in a namespace."""

    def test_a_pipe_as_termination_log_stops_no_agent(self):
        volume = {"name": "v", "mountPath": "/v"}
        self.apply(on_node("fifo", container(script="exit 0", terminationMessagePath="/log", volumeMounts=[{"name": "v", "mountPath": "/log", "subPath": "f"}]),
                           initContainers=[container("make", "mkfifo /v/f", volumeMounts=[volume])], volumes=[{"name": "v", "emptyDir": {}}], restartPolicy="Never"))
        self.wait_phase("fifo", "Succeeded", "Failed")
        self.assertEqual(self.fetch_from_node("http://127.0.0.1:10248/healthz"), "ok")
        self.apply(on_node("next"))
        self.wait_ready("next")

    def test_labels_make_no_pod_pass_for_another(self):
        self.apply(on_node("victim"))
        victim = self.wait_ready("victim")
        attacker = on_node("attacker")
        attacker["metadata"]["labels"] = {"io.kubernetes.pod.uid": victim["metadata"]["uid"], "io.kubernetes.pod.name": "victim"}
        self.apply(attacker)
        self.wait_ready("attacker")
        self.exec("attacker", "sh", "-c", "for i in $(seq 25); do sleep 0.2; done")  # some rounds of the node's agent
        now = self.get("pod", "victim")["status"]
        self.assertEqual((now["podIP"], now["containerStatuses"]), (victim["status"]["podIP"], victim["status"]["containerStatuses"]))
        self.assertNotEqual(self.get("pod", "attacker")["status"]["podIP"], now["podIP"])

    def test_a_link_in_a_volume_makes_no_folder_on_the_node(self):
        trace = pathlib.Path("/etc") / f"porthole-attack-{secrets.token_hex(4)}"
        mounts = [{"name": "v", "mountPath": "/v"}]
        self.apply(on_node("linked", container(volumeMounts=[{"name": "v", "mountPath": "/x", "subPath": f"a/{trace.name}"}]),
                           initContainers=[container("make", "ln -s /etc /v/a", volumeMounts=mounts)], volumes=[{"name": "v", "emptyDir": {}}]))
        self.eventually(lambda: self.try_get("pod", "linked")["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CreateContainerConfigError",
                        120, "the container is refused")
        self.assertFalse(trace.exists())

    def test_seccomp_profiles_of_elsewhere_are_refused(self):
        profile = {"seccompProfile": {"type": "Localhost", "localhostProfile": "../pods/any.json"}}
        said = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(pod("profiled", securityContext=profile)))
        self.assertIn("localhostProfile", said)

    def test_a_pod_without_its_user_namespace_does_not_run(self):
        self.apply(on_node("users", hostUsers=False))
        self.assertIn("hostUsers", self.wait_phase("users", "Failed")["status"]["message"])

    def test_a_pod_without_its_apparmor_profile_does_not_run(self):
        if pathlib.Path("/sys/kernel/security/apparmor").exists():
            self.skipTest("this kernel has AppArmor; tests/machine shows what it does")
        self.apply(on_node("confined", securityContext={"appArmorProfile": {"type": "RuntimeDefault"}}))
        self.assertEqual(self.wait_phase("confined", "Failed")["status"]["reason"], "AppArmor")


class ByNodes(ClusterCase):
    """By someone who has taken over a node."""

    @needs_newest_kubectl
    def test_a_mirror_pod_opens_no_secret(self):
        self.kubectl("create", "secret", "generic", "target", "--from-literal=key=value")
        mirror = on_node("mirror", container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "target", "key": "key"}}}]))
        uid = self.get("node", NODE, namespaced=False)["metadata"]["uid"]
        mirror["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "x"},
                               "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": uid, "controller": True}]}
        self.assertIn("orbidden", self.kubectl_fails(*AS_NODE, "create", "-f", "-", stdin=json.dumps(mirror)))
        del mirror["spec"]["containers"][0]["env"]
        self.kubectl(*AS_NODE, "create", "-f", "-", stdin=json.dumps(mirror))
        no_mirror = json.dumps({"metadata": {"annotations": {"kubernetes.io/config.mirror": None}}})
        self.kubectl_fails(*AS_NODE, "patch", "pod", "mirror", "--subresource=status", "--type=merge", "-p", no_mirror)
        self.assertIn("orbidden", self.kubectl_fails(*AS_NODE, "get", "secret", "target"))


    @needs_newest_kubectl
    def test_volumes_and_claims_of_others_are_not_the_nodes(self):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "others"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": self.namespace},
                  "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "other", "capacity": {"storage": "1Gi"},
                           "nfs": {"server": "192.0.2.1", "path": "/"}}}
        self.apply(claim, volume)
        self.addCleanup(lambda: self.kubectl("delete", "persistentvolume", self.namespace, namespaced=False))
        grown = json.dumps({"status": {"capacity": {"storage": "9Gi"}}})
        for words in (["patch", "persistentvolumeclaim", "others", "--subresource=status", "--type=merge", "-p", grown],
                      ["get", "persistentvolumeclaim", "others"], ["get", "persistentvolume", self.namespace], ["get", "volumeattachments"],
                      ["get", "--raw", f"/apis/resource.k8s.io/v1/namespaces/{self.namespace}/resourceclaims/others"],
                      ["delete", "--raw", "/apis/resource.k8s.io/v1/resourceslices"]):
            self.assertIn("orbidden", self.kubectl_fails(*AS_NODE, *words), words)

    def test_an_eviction_of_another_nodes_pod_uses_up_no_budget(self):
        guarded = pod("guarded", nodeName="linux-2")
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget"},
                  "spec": {"maxUnavailable": 1, "selector": {"matchLabels": guarded["metadata"]["labels"]}}}
        replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "guarded"},
                    "spec": {"replicas": 1, "selector": {"matchLabels": guarded["metadata"]["labels"]},
                             "template": {"metadata": {"labels": guarded["metadata"]["labels"]}, "spec": guarded["spec"]}}}
        self.apply(budget, replicas)
        allowed = lambda: self.get("poddisruptionbudget", "budget")["status"].get("disruptionsAllowed")
        self.eventually(lambda: allowed() == 1, 120, "one may go")
        name = self.list("pods")[0]["metadata"]["name"]
        eviction = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/eviction"
        for _ in range(2):
            self.assertIn("orbidden", self.kubectl_fails(*AS_NODE, "create", "--raw", path, "-f", "-", stdin=eviction))
        self.assertEqual(allowed(), 1)
        self.assertNotIn("disruptedPods", self.get("poddisruptionbudget", "budget")["status"])


class ByCommandLines(ClusterCase):
    """By someone who reads the command lines of others."""

    def test_a_token_need_not_be_on_the_command_line(self):
        join = [PORTHOLE, "join", "https://127.0.0.1:9", "--ca-cert-hash", "sha256:" + "0" * 64]
        self.assertIn("a token is needed", run(join, check=False).stderr)
        self.assertIn("the token must look like", run([*join, "--token-file", "-"], stdin="short\n", check=False).stderr)
        self.assertIn("excludes", run([*join, "--token", "abcdef.0123456789abcdef", "--token-file", "-"], check=False).stderr)


class FromOutside(ClusterCase):
    """By someone who reaches a node's ports."""

    shared = DISTURBED
    alone = True  # gives a node another address

    def test_strangers_hear_nothing_from_a_nodes_dns(self):
        node = next(one["address"] for one in self.get("node", NODE, namespaced=False)["status"]["addresses"] if one["type"] == "InternalIP")
        # A machine beyond the node: another node's namespace with an address that is nobody's.
        beyond = next(name for name in list_names("/run/netns") if self.cluster.id in name and name.endswith("linux-2"))
        from_beyond = lambda *words: run(["nsenter", f"--net=/run/netns/{beyond}", *words])
        other = next(one["address"] for one in self.get("node", "linux-2", namespaced=False)["status"]["addresses"] if one["type"] == "InternalIP")
        link = next(one["ifname"] for one in json.loads(from_beyond("ip", "-json", "address").stdout)
                    if any(address.get("local") == other for address in one["addr_info"]))
        stranger, route = [STRANGER + "/32", "dev", link], [STRANGER, "via", other]
        from_beyond("ip", "address", "add", *stranger)
        self.addCleanup(lambda: from_beyond("ip", "address", "delete", *stranger))
        run(self.cluster.network.inside(["ip", "route", "add", *route]))
        self.addCleanup(lambda: run(self.cluster.network.inside(["ip", "route", "delete", *route])))
        ask = lambda source, name: from_beyond(sys.executable, "-c", ASK, source, node, name).stdout.strip()
        for name in ("kubernetes.default.svc.cluster.local", "example.com"):
            self.assertEqual(ask(STRANGER, name), REFUSED, name)
        self.assertEqual(ask(other, "kubernetes.default.svc.cluster.local"), NO_ERROR)


class OnEmulatedHosts(WindowsCase):
    """By someone who has a pod with a hostPath volume of C:\\, whose programs make system calls of Linux."""

    node = "windows-1"

    def host(self):
        return self.cluster.data / "nodes" / self.node

    def drive(self):
        return self.host() / "C"

    def test_the_tokens_of_joins_are_gone(self):
        tokens = self.kubectl("get", "secrets", "--namespace", "kube-system", "--field-selector", "type=bootstrap.kubernetes.io/token", "-o", "name", namespaced=False)
        self.assertEqual(tokens, "")
        # Other clusters of this machine may just be starting: their joins end by themselves.
        eventually(lambda: not self.joins_with_tokens(), 120, "no process has a token of a join")

    @staticmethod
    def joins_with_tokens():
        shown = []
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                shown += re.findall(rb"kubeadm.* [a-z0-9]{6}\.[a-z0-9]{16}", process.read_bytes().replace(b"\0", b" "))
        return shown

    def test_links_on_the_drive_lead_root_nowhere(self):
        machine = self.cluster.folder / "machine"
        machine.mkdir()
        (machine / "file").write_text("the machine's")
        own = self.drive() / "ProgramData/Porthole"
        for name in ("token", "emulator.json"):
            (own / name).unlink()
            (own / name).symlink_to(machine / "file")
        (self.drive() / "k/hns-list.exe.porthole-new").symlink_to(machine / "file")
        run(self.cluster.network.inside([PORTHOLE, "winhost", "reboot", "--data", self.host()]), seconds=240, env=self.cluster.environment())
        self.assertEqual((machine / "file").read_text(), "the machine's")
        self.assertEqual(os.listdir(machine), ["file"])
        self.assertFalse((own / "token").is_symlink())
        self.eventually(lambda: condition(self.get("node", self.node, namespaced=False), "Ready") == "True", 120, "the node is ready again")

    @slow
    def test_a_host_path_that_leaves_the_drive_is_not_mounted(self):
        (self.drive() / "attack").symlink_to("/etc")
        self.addCleanup((self.drive() / "attack").unlink)
        self.apply(windows_pod("attack", nodeName=self.node, container_fields={"volumeMounts": [{"name": "v", "mountPath": "C:\\v"}]},
                               volumes=[{"name": "v", "hostPath": {"path": "C:\\attack"}}]))
        self.eventually(lambda: [event for event in self.list("events") if "leads out of the drive" in event.get("message", "")], 60, "the mount is refused")

    def test_programs_have_no_power_over_the_machine(self):
        self.apply(windows_pod("plain", nodeName=self.node))
        self.wait_ready("plain")
        looked_at = 0
        for state in [self.host() / "h/runc/host/state.json", *(self.host() / "r/runc").glob("*/state.json")]:
            try:
                first = json.loads(state.read_text())["init_process_pid"]
                status = pathlib.Path(f"/proc/{first}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # of a pod of the test before
            said = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            looked_at += 1
            with self.subTest(state):
                self.assertEqual((said["Seccomp"], said["NoNewPrivs"]), ("2", "1"))
                self.assertEqual(int(said["CapBnd"], 16) & ~(1 << 10 | 1 << 13), 0, "more than CAP_NET_BIND_SERVICE and CAP_NET_RAW")
                for kind in ("Uid", "Gid"):
                    self.assertNotIn(0, map(int, said[kind].split()), "root of the machine")
                ranges = pathlib.Path(f"/proc/{first}/uid_map").read_text().split()
                self.assertEqual((ranges[0], ranges[2:], int(ranges[1]) >= 1_900_544_000), ("0", ["65536"], True))
        self.assertGreater(looked_at, 2)

    def test_files_of_the_machines_root_are_not_theirs_even_where_they_are_mounted(self):
        handed = self.drive() / "handed"
        handed.mkdir()
        self.addCleanup(lambda: shutil.rmtree(handed))
        (handed / "seen").write_text("root's")
        (handed / "secret").write_text("root's")
        (handed / "secret").chmod(0o600)
        self.apply(windows_pod("handed", nodeName=self.node, container_fields={"volumeMounts": [{"name": "v", "mountPath": "C:\\v"}]},
                               volumes=[{"name": "v", "hostPath": {"path": "C:\\handed"}}]))
        self.wait_ready("handed")
        inside = lambda words: self.kubectl_run("exec", "handed", "--", "cmd", "/c", words, check=False).stdout
        self.assertEqual(inside("type C:\\v\\seen"), "root's")
        self.assertNotIn("root's", inside("type C:\\v\\secret"))
        for words in ("echo changed>C:\\v\\seen", "del C:\\v\\seen", "echo new>C:\\v\\new"):
            inside(words)
        self.assertEqual((sorted(os.listdir(handed)), (handed / "seen").read_text()), (["secret", "seen"], "root's"))
