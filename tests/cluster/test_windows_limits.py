"""What limits a container on a Windows node. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import datetime
import json
import os
import pathlib
import unittest

from harness import PORTHOLE, run
from manifests import pod
from test_windows_node import windows_pod
from windows_probe_case import ENDLESS, PROBE, ProbeCase, processes_with


class Bounds(ProbeCase):
    # POD-13, KBL-13, KBL-19, KBL-21, LIM-04
    def test_memory_beyond_the_limit_is_refused_and_nobody_is_killed(self):
        self.apply(self.probe("greedy", "allocate", memory="128Mi", restartPolicy="Never"))
        self.wait_phase("greedy", "Failed", seconds=90)
        ended = self.status_of("greedy")["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (55, "Error"))
        megabytes = int(self.kubectl("logs", "greedy").split()[0])
        self.assertTrue(64 <= megabytes <= 144, megabytes)  # 128 MB and what Wine itself takes of a process

    # KBL-19, LIM-05
    def test_no_program_is_promised_more_than_the_node_has(self):
        metrics = self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/metrics/resource", namespaced=False)
        limit = next(float(line.split()[1]) for line in metrics.splitlines() if line.startswith("node_memory_commit_limit_bytes"))
        part = str(int(limit * 0.6) >> 20)  # Linux would promise each of two such blocks, as none is touched
        one = self.probe("one", "promise", part, "1", restartPolicy="Never", nodeName="windows-1")
        two = self.probe("two", "promise", part, "2", restartPolicy="Never", nodeName="windows-1")
        requests = {"requests": {"memory": "1Mi"}}
        two["spec"]["containers"][0]["resources"] = requests  # which guarantee nothing
        one["spec"]["containers"][0]["resources"] = requests
        self.apply(one, two)
        self.wait_phase("one", "Succeeded", seconds=90)
        self.wait_phase("two", "Failed", seconds=90)
        ended = self.status_of("two")["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (55, "Error"), self.kubectl("logs", "two"))
        self.assertTrue(self.kubectl("logs", "two").startswith("1 of 2, error "), self.kubectl("logs", "two"))

    # POD-13, KBL-20
    def test_processor_time_is_bounded(self):
        self.apply(windows_pod("busy", ["cmd", "/c", "for /l %i in (0,0,1) do @rem"], container_fields={
            "resources": {"limits": {"cpu": "250m"}}}, nodeName="windows-1"))
        self.wait_phase("busy", "Running", seconds=60)

        def nano_cores():
            summary = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))
            ours = [entry for entry in summary["pods"] if entry["podRef"]["namespace"] == self.namespace]
            return ours[0]["containers"][0]["cpu"] if ours and ours[0]["containers"] else None
        first = self.eventually(nano_cores, 40, "statistics")
        taken_at = lambda sample: datetime.datetime.fromisoformat(sample["time"])

        def later():
            sample = nano_cores()
            return sample if taken_at(sample) - taken_at(first) >= datetime.timedelta(seconds=8) else None
        # Measured over real time, as the limit is the kernel's, between the moments that the samples name.
        last = self.eventually(later, 60, "statistics of eight seconds later")
        used = last["usageCoreNanoSeconds"] - first["usageCoreNanoSeconds"]
        cores = used / 1e9 / (taken_at(last) - taken_at(first)).total_seconds()
        self.assertTrue(0.02 < cores < 0.4, cores)

    # POD-31
    def test_stop_removes_every_process_of_the_container(self):
        mark = f"family-{self.namespace}"
        self.apply(self.probe("family", "family", mark))
        self.wait_phase("family", "Running", seconds=60)
        self.eventually(lambda: self.kubectl("logs", "family").count("child") == 2, 30, "two children")
        self.eventually(lambda: len(processes_with(mark)) == 3, 10, "their processes")
        self.kubectl("delete", "pod", "family", "--timeout=60s")
        self.assertEqual(processes_with(mark), [])

    # SEC-18
    def test_a_program_has_no_rights_over_the_host(self):
        mark = f"kept-{self.namespace}"
        self.apply(self.probe("kept", "stubborn", mark, nodeName="windows-1"), self.probe("other", "wait", nodeName="windows-1"))
        self.wait_ready("kept")
        self.wait_ready("other")
        first = json.loads((self.cluster.data / "nodes/windows-1/h/runc/host/state.json").read_text())["init_process_pid"]
        space = lambda pid, kind: os.readlink(f"/proc/{pid}/ns/{kind}")
        for pid in self.eventually(lambda: processes_with(mark), 20, "the program runs"):
            rights = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
            # Ports below 1024 and pings, and no way to more.
            self.assertEqual({int(rights[name], 16) & ~(1 << 10 | 1 << 13) for name in ("CapEff", "CapPrm", "CapBnd")}, {0})
            self.assertEqual((rights["NoNewPrivs"], rights["Seccomp"]), ("1", "2"))
            for kind in ("pid", "mnt", "ipc", "net"):
                self.assertNotIn(space(pid, kind), (space(first, kind), space("self", kind)), kind)
        # What it changes of the machine's settings is its own.
        key = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\kept"
        self.exec("kept", "reg", "add", key, "/f")
        self.assertNotEqual(self.kubectl_run("exec", "other", "--", "reg", "query", key, check=False).returncode, 0)
        self.assertNotEqual(self.on_host("windows-1", "reg", "query", key).returncode, 0)

    # POD-31
    def test_limits_are_each_containers_own(self):
        both = self.probe("both", "allocate", memory="128Mi")
        both["spec"]["containers"].append({**both["spec"]["containers"][0], "name": "side", "command": [PROBE, "wait"]})
        self.apply(both)
        self.assertEqual(self.last_end("both")["exitCode"], 55)
        self.assertEqual(self.status_of("both", "side")["restartCount"], 0)

    # POD-32, LIM-03
    def test_accounts_of_a_container_are_its_own(self):
        both = self.probe("both", "wait", memory="128Mi", nodeName="windows-1")
        both["spec"]["containers"].append({**both["spec"]["containers"][0], "name": "side"})
        self.apply(both)
        self.wait_ready("both")
        account = "HKLM\\SAM\\SAM\\Domains\\Account\\Users\\Names\\jane"
        self.exec("both", "reg", "add", account, "/f", container="main")
        self.exec("both", "reg", "query", account, container="main")
        elsewhere = self.kubectl_run("exec", "both", "-c", "side", "--", "reg", "query", account, check=False)
        self.assertNotEqual(elsewhere.returncode, 0)
        self.assertNotEqual(self.on_host("windows-1", "reg", "query", account).returncode, 0)

    def on_host(self, host, *command):
        """A program of the emulated host itself."""
        words = [PORTHOLE, "winhost", "exec", "--data", self.cluster.data / "nodes" / host, "--", *command]
        return run(self.cluster.network.inside(words), env=self.cluster.environment(), check=False)

    # POD-32
    def test_accounts_of_the_host_mean_nothing_inside(self):
        self.apply(windows_pod("hosts", container_fields={"securityContext": {"windowsOptions": {"runAsUserName": "HOST\\operator"}}}))
        self.wait_event("Failed", "does not exist in the container", 60)

    # SEC-04, SEC-05
    def test_programs_run_as_the_account_that_is_named_and_as_no_administrator_where_the_pod_says_so(self):
        account = lambda name: {"windowsOptions": {"runAsUserName": name}}
        other = {"name": "other", "securityContext": account("ContainerAdministrator")}
        both = windows_pod("both", ENDLESS, securityContext=account("ContainerUser"))
        both["spec"]["containers"].append(both["spec"]["containers"][0] | other)
        strict = windows_pod("strict", ENDLESS, securityContext=account("ContainerUser") | {"runAsNonRoot": True})
        strict["spec"]["containers"].append(strict["spec"]["containers"][0] | other)
        self.apply(both, strict, pod("linux", securityContext={"runAsNonRoot": True}, nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("both")
        who = lambda name, container: self.exec(name, "whoami", container=container).strip().lower().rpartition("\\")[2]
        self.assertEqual((who("both", "main"), who("both", "other")), ("containeruser", "containeradministrator"))
        for name, container, why in (("strict", "other", "containeradministrator"), ("linux", "main", "image will run as root")):
            refused = lambda: self.status_of(name, container)["state"]["waiting"]
            self.eventually(lambda: refused()["reason"] == "CreateContainerConfigError", 60, f"{name} is refused")
            self.assertIn(why, refused()["message"].lower())
        self.eventually(lambda: "running" in self.status_of("strict")["state"], 60, "the other container runs")
        self.assertEqual(who("strict", "main"), "containeruser")

    # SEC-11
    def test_a_host_process_container_of_an_unknown_account_ends_its_pod(self):
        options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "nobody-of-this-host"}}
        self.apply(windows_pod("host", hostNetwork=True, restartPolicy="Never", securityContext=options))
        self.wait_phase("host", "Failed", seconds=60)
        self.assertEqual(self.status_of("host")["state"]["terminated"]["reason"], "StartError")


if __name__ == "__main__":
    unittest.main()
