"""What a pod on a Windows node can and cannot do. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from harness import PORTHOLE, PULLED_IMAGE, REGISTRY, TOOLS, run, slow
from manifests import PROBE_SECONDS, config_map, container, deployment, pod, secret, service, web_pod
from test_streams import Screen
from test_windows_node import IMAGE, WindowsCase, web_server, windows_pod

import make  # the harness knows where
import windows_probe

import image_archive  # windows_probe knows where

FETCH = "C:\\web\\fetch.exe"
PROBE = "C:\\app\\probe.exe"
CONTROL = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")  # of a terminal
ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]


class ProbeCase(WindowsCase):
    """Pods whose program is the tests' own: src/winhost/cri/test/probe.c says what it can do."""

    loaded = None  # the cluster that has the image

    def setUp(self):
        super().setUp()
        if ProbeCase.loaded is not self.cluster:
            archive = self.cluster.folder / "windows-probe.tar"
            windows_probe.make(archive)
            self.cluster.porthole("image", "load", archive)
            ProbeCase.loaded = self.cluster

    def probe(self, name, *words, memory=None, container_fields=None, **fields):
        bounds = {"resources": {"limits": {"memory": memory}}} if memory else {}
        return windows_pod(name, [PROBE, *words], container_fields={"image": windows_probe.NAME, **bounds, **(container_fields or {})}, **fields)

    def status_of(self, name, container="main"):
        statuses = self.get("pod", name)["status"].get("containerStatuses", [])
        return next((status for status in statuses if status["name"] == container), {})

    def last_end(self, name, seconds=60):
        return self.eventually(lambda: self.status_of(name).get("lastState", {}).get("terminated"), seconds, f"{name} was restarted")


class Placement(WindowsCase):
    # SCH-01
    def test_nodes_carry_stable_and_legacy_labels(self):
        for node in json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]:
            labels, system = node["metadata"]["labels"], node["metadata"]["name"].split("-")[0]
            for key, value in (("os", system), ("arch", "amd64")):
                self.assertEqual((labels["kubernetes.io/" + key], labels["beta.kubernetes.io/" + key]), (value, value))
            self.assertEqual(labels["kubernetes.io/hostname"], node["metadata"]["name"])

    # SCH-02, SCH-03
    def test_selectors_of_either_key_choose_the_system(self):
        legacy = web_server("legacy")
        legacy["spec"]["nodeSelector"] = {"beta.kubernetes.io/os": "windows"}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(legacy), warnings=True)
        self.apply(pod("linux", nodeSelector={"kubernetes.io/os": "linux"}))
        self.assertTrue(self.wait_ready("legacy")["spec"]["nodeName"].startswith("windows-"))
        self.assertEqual(self.wait_ready("linux")["spec"]["nodeName"], "linux-1")

    # SCH-08
    def test_pods_on_the_wrong_system_are_refused_with_the_reason(self):
        by_field, by_label = "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch"
        for system, node in (("windows", "linux-1"), ("linux", "windows-1")):
            field, label = f"{system}-field", f"{system}-label"
            wrong = [pod(field, nodeName=node, os={"name": system}), pod(label, nodeName=node, nodeSelector={"kubernetes.io/os": system})]
            for one in wrong:
                self.kubectl("apply", "-f", "-", stdin=json.dumps(one), warnings=True)
            for name, reason, words in ((field, by_field, "the OS field doesn't match node OS"), (label, by_label, "doesn't match node label")):
                status = self.wait_phase(name, "Failed")["status"]
                self.assertEqual(status["reason"], reason)
                self.assertIn(words, status["message"])

    # SCH-13, LIM-59
    def test_host_port_is_given_once_a_node(self):
        for number in (1, 2, 3):
            found = web_server(f"web-{number}")
            found["spec"]["containers"][0]["ports"][0]["hostPort"] = 4455
            self.apply(found)
        self.wait_event("FailedScheduling", "didn't have free ports for the requested pod ports")

    # SCH-14
    def test_pending_says_how_many_nodes_failed_and_why(self):
        nowhere = windows_pod("nowhere", nodeSelector={"kubernetes.io/os": "plan9"})
        nowhere["spec"].pop("os")
        self.apply(nowhere)
        self.wait_event("FailedScheduling", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector")

    # SCH-14
    def test_pending_says_the_remedy_that_the_windows_table_knows(self):
        self.apply(windows_pod("former", nodeSelector={"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.14393"}))
        self.wait_event("FailedScheduling", "spec.nodeSelector[node.kubernetes.io/windows-build]: asks for a build of Windows that no node has; ")
        condition = next(one for one in self.get("pod", "former")["status"]["conditions"] if one["type"] == "PodScheduled")
        self.assertIn("asks for a build of Windows that no node has; write one that kubectl get nodes", condition["message"])

    # SCH-16
    def test_linux_and_windows_parts_of_an_application_talk_by_name(self):
        self.apply(web_server("back"), service("back", {"app": "back"}, target=80),
                   web_pod("front", nodeSelector={"kubernetes.io/os": "linux"}), service("front", {"app": "front"}))
        self.wait_ready("back")
        self.wait_ready("front")
        self.assertIn("back", self.answers(lambda url: self.fetch_from_pod("front", url), "http://back/").lower())
        self.assertIn("front", self.answers(lambda url: self.exec("back", FETCH, url), "http://front/"))


class Containers(WindowsCase):
    def container(self, name, **fields):
        return {"name": name, "image": IMAGE, "resources": {"limits": {"memory": "128Mi"}}, **fields}

    # POD-01, POD-03, POD-11, LIM-53
    def test_containers_share_address_and_volumes_but_not_their_files(self):
        scratch = {"name": "scratch", "mountPath": "C:/scratch"}
        both = web_server("both", volumes=[{"name": "scratch", "emptyDir": {}}])
        both["spec"]["containers"][0]["volumeMounts"] = [scratch]
        both["spec"]["containers"].append(self.container("side", command=ENDLESS, volumeMounts=[scratch]))
        self.apply(both)
        self.wait_ready("both")
        self.assertIn("both", self.exec("both", FETCH, "http://127.0.0.1/", container="side").lower())
        self.exec("both", "cmd", "/c", "echo shared> C:\\scratch\\file.txt& echo own> C:\\own.txt", container="side")
        self.assertIn("shared", self.exec("both", "cmd", "/c", "type C:\\scratch\\file.txt", container="main"))
        alone = self.kubectl_run("exec", "both", "-c", "main", "--", "cmd", "/c", "if exist C:\\own.txt (exit 7) else (exit 3)", check=False)
        self.assertEqual(alone.returncode, 3)

    # POD-04
    def test_a_pod_of_many_containers_has_one_endpoint(self):
        def endpoints():
            """The documents; those of pods of earlier tests may go meanwhile."""
            texts = []
            for path in (self.cluster.data / "nodes/windows-1/hns/endpoints").iterdir():
                with contextlib.suppress(OSError):
                    texts.append(path.read_text())
            return texts

        web = web_server("web", nodeName="windows-1")
        for number in (1, 2):
            web["spec"]["containers"].append(self.container(f"side-{number}", command=ENDLESS))
        self.apply(web)
        address = self.wait_ready("web")["status"]["podIP"]
        having = [text for text in endpoints() if f'"{address}"' in text]
        self.assertEqual(len(having), 1)
        known = json.loads(having[0])["document"]["HostComputeNamespace"]
        sharing = [text for text in endpoints() if known in text]
        self.assertEqual(len(sharing), 1)

    # POD-05
    def test_status_is_complete(self):
        self.apply(web_server("web"))
        status = self.wait_ready("web")["status"]
        self.assertEqual((status["phase"], status["qosClass"]), ("Running", "Burstable"))
        self.assertEqual(status["podIPs"], [{"ip": status["podIP"]}])
        self.assertTrue(status["hostIP"] and status["startTime"])
        main = status["containerStatuses"][0]
        self.assertTrue(main["state"]["running"]["startedAt"] and main["imageID"] and main["containerID"])
        self.assertEqual((main["restartCount"], main["ready"]), (0, True))

    # POD-06
    def test_probes_by_tcp_and_exec(self):
        web = web_server("web")
        web["spec"]["containers"][0] |= {
            "startupProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 1, "failureThreshold": 30},
            "readinessProbe": {"exec": {"command": ["cmd", "/c", "if exist C:\\ready (exit 0) else (exit 1)"]}, "periodSeconds": 1,
                               "timeoutSeconds": PROBE_SECONDS}}
        self.apply(web)
        self.wait_phase("web", "Running", seconds=60)
        self.wait_event("Unhealthy", "Readiness probe failed", 60)
        self.exec("web", "cmd", "/c", "echo x> C:\\ready")
        self.wait_ready("web")

    # POD-06
    def test_liveness_probe_restarts_what_hangs(self):
        web = web_server("web")
        web["spec"]["containers"][0]["livenessProbe"] = {
            "exec": {"command": ["cmd", "/c", "if exist C:\\sick (exit 1) else (exit 0)"]}, "periodSeconds": 1, "failureThreshold": 2,
            "timeoutSeconds": PROBE_SECONDS}
        self.apply(web)
        self.wait_ready("web")
        self.exec("web", "cmd", "/c", "echo x> C:\\sick")
        self.eventually(lambda: self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"] >= 1, 60, "a restart")

    # POD-06
    def test_liveness_probe_by_http_restarts_what_is_not_found(self):
        web = web_server("web")
        web["spec"]["containers"][0]["livenessProbe"] = {
            "httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "failureThreshold": 2, "timeoutSeconds": PROBE_SECONDS}
        sick = web_server("sick")
        sick["spec"]["containers"][0]["livenessProbe"] = web["spec"]["containers"][0]["livenessProbe"] | {"httpGet": {"path": "/", "port": 81}}
        # A server that is still starting is not sick.
        web["spec"]["containers"][0]["startupProbe"] = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "failureThreshold": 90}
        self.apply(web, sick)
        self.wait_ready("web")
        self.eventually(lambda: self.get("pod", "sick")["status"]["containerStatuses"][0]["restartCount"] >= 1, 60, "a restart")
        self.wait_event("Unhealthy", "Liveness probe failed")
        self.assertEqual(self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"], 0)

    # POD-07
    def test_hooks_run(self):
        web = web_server("web")
        web["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["cmd", "/c", "echo hooked> C:\\hook.txt"]}}}
        self.apply(web)
        self.wait_ready("web")
        self.assertIn("hooked", self.exec("web", "cmd", "/c", "type C:\\hook.txt"))

    # POD-07
    def test_hooks_by_http_and_tcp_run_within_the_grace_period(self):
        self.apply(web_server("told"))
        address = self.wait_ready("told")["status"]["podIP"]
        web = web_server("web", terminationGracePeriodSeconds=20)
        web["spec"]["containers"][0]["lifecycle"] = {
            "postStart": {"httpGet": {"host": address, "port": 80, "path": "/started"}},
            "preStop": {"exec": {"command": ["cmd", "/c", f"{FETCH} http://{address}/stopping"]}}}
        self.apply(web)
        self.wait_ready("web")
        self.eventually(lambda: "/started" in self.kubectl("logs", "told"), 20, "the hook after the start is heard")
        self.kubectl("delete", "pod", "web", "--wait=false")
        self.eventually(lambda: "/stopping" in self.kubectl("logs", "told"), 20, "the hook before the end is heard")
        self.eventually(lambda: not self.try_get("pod", "web"), 20, "the pod is gone")

    # POD-07
    def test_hooks_that_fail_are_told(self):
        starts, stops = web_server("starts"), web_server("stops")
        starts["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["cmd", "/c", "exit 3"]}}}
        stops["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["cmd", "/c", "exit 4"]}}}
        self.apply(starts, stops)
        self.wait_event("FailedPostStartHook", seconds=60)
        self.wait_ready("stops")
        self.kubectl("delete", "pod", "stops", "--wait=false")
        self.wait_event("FailedPreStopHook", seconds=30)
        self.eventually(lambda: not self.try_get("pod", "stops"), 30, "the pod is gone")

    # POD-08, LIM-51
    def test_environment_comes_from_configuration_and_secrets(self):
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"COLOUR": "blue"}},
                    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"word": "sesame"}})
        self.apply(windows_pod("says", ["cmd", "/c", "echo %COLOUR% %WORD%"], restartPolicy="Never", container_fields={
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "env": [{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "word"}}}]}))
        self.wait_phase("says", "Succeeded", seconds=60)
        self.assertIn("blue sesame", self.kubectl("logs", "says"))

    # POD-10
    def test_service_account_is_at_its_usual_place(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        listed = self.exec("web", "cmd", "/c", "dir /b C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount")
        for name in ("token", "ca.crt", "namespace"):
            self.assertIn(name, listed)
        self.assertEqual(self.exec("web", "cmd", "/c", "type C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount\\namespace"), self.namespace)

    # POD-14
    def test_restarted_container_keeps_the_address(self):
        self.apply(windows_pod("ends", ["cmd", "/c", "ping -n 4 127.0.0.1 >nul & exit 1"]))
        self.wait_phase("ends", "Running", seconds=60)
        before = self.eventually(lambda: self.get("pod", "ends")["status"].get("podIP"), 30, "an address")
        self.eventually(lambda: self.get("pod", "ends")["status"]["containerStatuses"][0]["restartCount"] >= 1, 60, "a restart")
        self.assertEqual(self.get("pod", "ends")["status"]["podIP"], before)

    # POD-20, POD-21
    def test_working_directory_and_arguments_arrive_unchanged(self):
        self.apply(windows_pod("says", ["cmd", "/c", "cd & echo [/a/b] [two words]"], restartPolicy="Never",
                               container_fields={"workingDir": "C:/web"}))
        self.wait_phase("says", "Succeeded", seconds=60)
        text = self.kubectl("logs", "says")
        self.assertIn("C:\\web", text)
        self.assertIn("[/a/b] [two words]", text)

    # POD-15
    def test_exit_codes_are_the_programs_own(self):
        codes = {"good": 0, "bad": 1, "large": 0x7FFFFFFF, "crash": -1073741819, "stopped": -1073741510}
        self.apply(*[windows_pod(name, ["cmd", "/c", f"exit {code}"], restartPolicy="Never") for name, code in codes.items()])
        for name, code in codes.items():
            self.wait_phase(name, "Failed" if code else "Succeeded", seconds=90)
            self.assertEqual(self.get("pod", name)["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], code, name)

    # API-16
    def test_a_program_that_is_not_there_fails_a_pod_that_never_restarts(self):
        self.apply(windows_pod("windows", ["C:\\absent.exe"], restartPolicy="Never"),
                   pod("linux", container() | {"command": ["/absent"]}, restartPolicy="Never", os={"name": "linux"},
                       nodeSelector={"kubernetes.io/os": "linux"}))
        for name, words in ("windows", "cannot find the file"), ("linux", "no such file"):
            self.wait_phase(name, "Failed", seconds=60)
            ended = self.get("pod", name)["status"]["containerStatuses"][0]["state"]["terminated"]
            self.assertEqual((ended["reason"], ended["exitCode"]), ("StartError", 128))
            self.assertIn(words, ended["message"])
            events = lambda: [event for event in self.list("events") if event["involvedObject"]["name"] == name and event["type"] == "Warning"]
            told = self.eventually(lambda: [event for event in events() if words in event.get("message", "")], 20, f"an event of {name} says why")
            self.assertEqual(told[0]["reason"], "Failed")
            self.assertIn(words, self.kubectl("describe", "pod", name))

    # API-16
    def test_an_image_that_cannot_be_had_is_told_by_event_and_status_on_either_system(self):
        missing = "127.0.0.1:9/none/none:1"
        self.apply(windows_pod("windows", container_fields={"image": missing}),
                   pod("linux", container(image=missing), nodeSelector={"kubernetes.io/os": "linux"}))
        for name in ("windows", "linux"):
            with self.subTest(name):
                waiting = lambda: self.get("pod", name)["status"].get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
                self.eventually(lambda: waiting().get("reason") in ("ErrImagePull", "ImagePullBackOff"), 60, f"{name} waits with the reason")
                self.assertIn(missing, waiting()["message"])
                failed = lambda: [event for event in self.list("events") if event["involvedObject"]["name"] == name and event["reason"] == "Failed"
                                  and missing in event["message"]]
                self.assertEqual(self.eventually(failed, 20, f"an event of {name} names the image")[0]["type"], "Warning")

    # POD-23
    def test_last_words_reach_the_status(self):
        self.apply(windows_pod("last", ["cmd", "/c", "echo the reason & exit 3"], restartPolicy="Never",
                               container_fields={"terminationMessagePolicy": "FallbackToLogsOnError"}))
        self.wait_phase("last", "Failed", seconds=60)
        ended = self.get("pod", "last")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(ended["exitCode"], 3)
        self.assertIn("the reason", ended["message"])

    # CLI-04
    def test_files_are_copied_in_and_out(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "in/deep").mkdir(parents=True)
            long_name = "n" * 120 + ".txt"
            (folder / "in/page.txt").write_text("copied into the pod")
            (folder / "in/deep" / long_name).write_bytes(bytes(range(256)) * 1000)
            self.kubectl("cp", folder / "in", "web:/site/copied")
            fetched = self.answers(self.linux_client(), f"http://{self.ip('web')}/copied/page.txt")
            self.assertIn("copied into the pod", fetched)
            self.kubectl("cp", "web:/site/copied", folder / "out")
            self.assertEqual((folder / "out/page.txt").read_text(), "copied into the pod")
            self.assertEqual((folder / "out/deep" / long_name).read_bytes(), bytes(range(256)) * 1000)
            self.exec("web", "cmd", "/c", "echo one> C:\\site\\one.txt")
            self.kubectl("cp", "web:/site/one.txt", folder / "one.txt")
            self.assertEqual((folder / "one.txt").read_text().strip(), "one")

    # POD-23, LIM-38, RUN-06: a mount of a single file
    def test_the_file_of_last_words_reaches_the_status(self):
        self.apply(windows_pod("default", ["cmd", "/c", "echo not said& exit 3"], restartPolicy="Never"),
                   windows_pod("own", ["cmd", "/c", "echo the last words> C:\\app\\last.txt& exit 4"], restartPolicy="Never",
                               container_fields={"terminationMessagePath": "C:\\app\\last.txt"}),
                   windows_pod("unix", ["cmd", "/c", "echo by the usual path> C:\\dev\\termination-log& exit 5"], restartPolicy="Never"))
        for name, code, words in (("default", 3, None), ("own", 4, "the last words"), ("unix", 5, "by the usual path")):
            self.wait_phase(name, "Failed", seconds=60)
            ended = self.get("pod", name)["status"]["containerStatuses"][0]["state"]["terminated"]
            self.assertEqual((ended["exitCode"], ended.get("message", "").strip() or None), (code, words), name)

    # RUN-06, STO-10, LIM-24
    def test_a_single_file_is_mounted(self):
        web = web_server("web", volumes=[{"name": "ini", "hostPath": {"path": "C:\\k\\single-file.txt", "type": "FileOrCreate"}}])
        web["spec"]["containers"][0]["volumeMounts"] = [{"name": "ini", "mountPath": "C:\\etc\\single.txt"}]
        self.apply(web)
        self.wait_ready("web")
        self.exec("web", "cmd", "/c", "echo through the mount> C:\\etc\\single.txt")
        node = self.get("pod", "web")["spec"]["nodeName"]
        host = self.cluster.data / "nodes" / node
        shown = run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", "--data", host, "--", "cmd", "/c", "type", "C:\\k\\single-file.txt"]),
                    env=self.cluster.environment()).stdout
        self.assertIn("through the mount", shown)

    # POD-33
    def test_policy_never_does_not_pull(self):
        self.apply(windows_pod("absent", container_fields={"image": "registry.porthole.internal/absent:1", "imagePullPolicy": "Never"}))
        self.wait_event("ErrImageNeverPull", seconds=60)


class Refusals(WindowsCase):
    def refused(self, text, **fields):
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(windows_pod("refused", **fields)))
        self.assertIn(text, error)

    # POD-25, POD-26, LIM-39
    def test_host_and_shared_namespaces_of_processes(self):
        self.refused("spec.hostPID", hostPID=True)
        self.refused("spec.hostIPC", hostIPC=True)
        self.refused("spec.shareProcessNamespace", shareProcessNamespace=True)

    # POD-28, LIM-02, SEC-10
    def test_privileged_containers(self):
        self.refused("securityContext.privileged", container_fields={"securityContext": {"privileged": True}})

    # API-15, STO-03, STO-11, LIM-28, LIM-30
    def test_volumes_in_memory_and_sub_paths(self):
        mount = {"name": "v", "mountPath": "C:\\v"}
        memory = windows_pod("memory", volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}], container_fields={"volumeMounts": [mount]})
        part = windows_pod("part", volumes=[{"name": "v", "emptyDir": {}}],
                           container_fields={"volumeMounts": [mount | {"subPath": "x"}]})
        told = self.kubectl_run("create", "-f", "-",
                                stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [memory, part]})).stderr
        self.assertIn("Warning: spec.volumes[0].emptyDir.medium: memory-backed emptyDir is not supported on Windows; remove it", told)
        self.assertIn("Warning: spec.containers[0].volumeMounts[0].subPath: sub-paths are not supported on Windows", told)
        self.wait_event("FailedMount", "memory-backed emptyDir is not supported on Windows")
        def waiting():
            statuses = self.get("pod", "part")["status"].get("containerStatuses", [])
            return statuses[0]["state"].get("waiting", {}) if statuses else {}
        self.eventually(lambda: waiting().get("reason") == "CreateContainerConfigError", 60, "the container's refusal")
        self.assertIn("sub-paths are not supported on Windows", waiting()["message"])

    # POD-27, LIM-06
    def test_huge_pages_fit_nowhere(self):
        huge = windows_pod("huge", container_fields={"resources": {"limits": {"hugepages-2Mi": "4Mi", "memory": "64Mi"}}})
        told = self.kubectl_run("create", "-f", "-", stdin=json.dumps(huge)).stderr
        self.assertIn("Warning: spec.containers[0].resources: Windows nodes have no huge pages", told)
        self.wait_event("FailedScheduling", "Insufficient hugepages-2Mi")
        self.wait_event("FailedScheduling", "Windows nodes have no huge pages; remove hugepages- from requests and limits")


    def accepted_and_refused_by_the_node(self, name, **fields):
        undeclared = windows_pod(name, **fields)
        undeclared["spec"].pop("os")
        self.assertIn("Warning: spec.", self.kubectl_run("create", "-f", "-", stdin=json.dumps(undeclared)).stderr)
        return self.wait_phase(name, "Failed")["status"]["reason"]

    # POD-25, POD-26, LIM-39
    def test_nodes_refuse_what_the_api_could_not_know(self):
        self.assertEqual(self.accepted_and_refused_by_the_node("pid", hostPID=True), "HostPIDUnsupported")
        self.assertEqual(self.accepted_and_refused_by_the_node("ipc", hostIPC=True), "HostIPCUnsupported")
        self.assertEqual(self.accepted_and_refused_by_the_node("shared", shareProcessNamespace=True), "ShareProcessNamespaceUnsupported")

    # CLI-12
    def test_debugging_a_node_says_what_is_not_possible(self):
        done = self.kubectl_run("debug", "node/windows-1", f"--image={IMAGE}", "--", "cmd", "/c", "echo debugged", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        name = re.search(r"node-debugger-windows-1-\w+", done.stdout + done.stderr)[0]
        status = self.wait_phase(name, "Failed")["status"]
        self.assertEqual(status["reason"], "HostPIDUnsupported")
        self.assertIn("spec.hostPID: processes of a Windows host cannot be shared with pods", status["message"])

    # POD-28, LIM-02, SEC-10
    def test_privileged_containers_of_undeclared_pods_wait_with_the_reason(self):
        strong = windows_pod("strong", container_fields={"securityContext": {"privileged": True}})
        strong["spec"].pop("os")
        self.kubectl("create", "-f", "-", stdin=json.dumps(strong), warnings=True)
        def waiting():
            statuses = self.get("pod", "strong")["status"].get("containerStatuses") or [{}]
            return statuses[0].get("state", {}).get("waiting", {}).get("message") == "privileged containers are not supported on Windows"
        self.eventually(waiting, 60, "the reason")


class Warnings(WindowsCase):
    def told(self, *objects):
        """What kubectl prints beside the names of what it made."""
        return self.kubectl_run("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})).stderr

    # SCH-05
    def test_pods_that_may_land_on_either_system(self):
        for made in (pod("either"), deployment("either", 0), {**deployment("all", 0), "kind": "DaemonSet"}):
            if made["kind"] == "DaemonSet":
                del made["spec"]["replicas"]
            printed = self.told(made)
            self.assertRegex(printed, r"Warning: spec\.(template\.spec\.)?os: ", made["kind"])
            self.assertIn("spec.os.name", printed)
            self.assertIn('nodeSelector["kubernetes.io/os"]', printed)
        self.assertEqual(self.told(pod("linux", nodeSelector={"kubernetes.io/os": "linux"})), "")

    # SCH-07
    def test_a_name_without_a_selector(self):
        named = windows_pod("named")
        named["spec"].pop("nodeSelector")
        self.assertIn("Warning: spec.os.name: does not choose the node", self.told(named))

    # POD-24, LIM-08
    def test_host_network_gives_an_address_of_the_pod_network(self):
        web = web_server("web", hostNetwork=True)
        self.assertIn("Warning: spec.hostNetwork: ", self.told(web))
        self.wait_event("HostNetworkUnsupported", "spec.hostNetwork: ")
        status = self.wait_ready("web")["status"]
        self.assertTrue(status["podIP"].startswith("10.244."), status["podIP"])
        self.assertNotEqual(status["podIP"], status["hostIP"])
        self.assertIn("web", self.answers(self.linux_client(), f"http://{status['podIP']}/").lower())

    # POD-29, DNS-09, LIM-22
    def test_cluster_dns_on_the_hosts_network_is_cluster_dns(self):
        web = web_server("web", dnsPolicy="ClusterFirstWithHostNet")
        self.assertIn("Warning: spec.dnsPolicy: ", self.told(web, service("web", {"app": "web"}, target=80)))
        self.wait_event("UnsupportedDNSPolicy", "ClusterFirst")
        self.wait_ready("web")
        self.answers(lambda url: self.exec("web", FETCH, url), "http://web/")

    # DNS-09
    def test_own_dns_settings_with_the_first_suffix_only(self):
        self.apply(web_server("web"), service("web", {"app": "web"}, target=80))
        address = json.loads(self.kubectl("get", "service", "kube-dns", "-n", "kube-system", "-o", "json", namespaced=False))["spec"]["clusterIP"]
        mine, other = f"{self.namespace}.svc.cluster.local", "svc.cluster.local"
        printed = self.told(web_server("own", dnsPolicy="None", dnsConfig={"nameservers": [address], "searches": [mine, other]}))
        self.assertIn("Warning: spec.dnsConfig.searches: ", printed)
        self.wait_event("DNSConfigForming", "first DNS suffix")
        self.wait_ready("web")
        self.wait_ready("own")
        self.answers(lambda url: self.exec("own", FETCH, url), "http://web/")
        second = self.kubectl_run("exec", "own", "--", FETCH, f"http://web.{self.namespace}/", check=False)
        self.assertIn("cannot resolve", second.stdout + second.stderr)

    # POS-28, STO-09, STO-15, LIM-26, LIM-27
    def test_ignored_fields_are_named_in_one_event(self):
        web = web_server("web", securityContext={"runAsUser": 1000, "fsGroup": 2000})
        web["spec"].pop("os")
        web["spec"]["containers"][0]["securityContext"] = {"readOnlyRootFilesystem": True}
        self.told(web)
        event = self.wait_event("WindowsFieldIgnored")
        for field in ("securityContext.runAsUser", "securityContext.fsGroup", "containers[0].securityContext.readOnlyRootFilesystem"):
            self.assertIn("spec." + field, event["message"])
        self.wait_ready("web")

    # KBL-16, KBL-35
    def test_memory_that_cannot_be_guaranteed(self):
        differing = windows_pod("differing", container_fields={"resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}})
        self.assertIn("Warning: spec.containers[0].resources.requests[memory]: differs from the limit", self.told(differing))
        self.assertIn("Warning: spec.containers[0].resources: without requests or limits",
                      self.told(windows_pod("unbounded", container_fields={"resources": {}})))

    # POD-22
    def test_names_of_the_environment_with_a_colon(self):
        printed = self.told(windows_pod("colon", ["cmd", "/c", "set"], restartPolicy="Never", container_fields={
            "env": [{"name": "Logging:Level", "value": "Debug"}]}))
        self.assertIn("Warning: spec.containers[0].env: has a name with ':'", printed)
        self.assertIn("write '__' for ':'", printed)
        self.wait_event("EnvironmentNameWithColon", "'__'")
        self.wait_phase("colon", "Succeeded", seconds=60)
        self.assertIn("Logging:Level=Debug", self.kubectl("logs", "colon"))

    # POD-22
    def test_names_of_the_environment_that_no_system_can_have(self):
        for name in ("a=b", "", "\u00e9"):
            with self.subTest(name):
                refused = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(windows_pod("bad", container_fields={
                    "image": IMAGE, "env": [{"name": name, "value": "x"}]})))
                self.assertIn("spec.containers[0].env[0].name", refused)

    # SVC-14
    def test_affinity_timeout_of_a_service(self):
        sticky = lambda name, seconds: service(name, {"app": "web"}, sessionAffinity="ClientIP",
                                               sessionAffinityConfig={"clientIP": {"timeoutSeconds": seconds}})
        self.assertIn("Warning: spec.sessionAffinityConfig.clientIP.timeoutSeconds: has no effect on Windows", self.told(sticky("short", 60)))
        self.assertEqual(self.told(sticky("usual", 10800)), "")


class Pulls(ProbeCase):
    def add_windows_image(self, repository):
        """A list with nothing but an image for Windows, in the tests' registry."""
        config = image_archive.to_json({"architecture": "amd64", "os": "windows", "os.version": "10.0.20348.1", "config": {"Cmd": ["cmd"]},
                                        "rootfs": {"type": "layers", "diff_ids": []}})
        manifest = image_archive.to_json({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [],
            "config": image_archive.descriptor_of("application/vnd.oci.image.config.v1+json", config)})
        platform = {"architecture": "amd64", "os": "windows", "os.version": "10.0.20348.1"}
        index = image_archive.to_json({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [image_archive.descriptor_of("application/vnd.oci.image.manifest.v1+json", manifest) | {"platform": platform}]})
        root = self.cluster.images / "registry/docker/registry/v2"
        make.add_to_registry(root, repository, "1", [config], manifest)
        make.add_to_registry(root, repository, "1", [], index)

    def serve_on(self, node):
        """The tests' registry, where only programs of that node see it."""
        settings = self.cluster.folder / f"registry-{node}.yml"
        settings.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.cluster.images}/registry}}}}\nhttp: {{addr: '{REGISTRY}'}}\n")
        command = ["nsenter", f"--net=/run/netns/porthole-{self.cluster.id}-{node}", str(TOOLS / "docker-registry"), "serve", str(settings)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.terminate)

    # POD-02
    def test_an_image_of_the_other_system_does_not_start_and_both_are_named(self):
        self.add_windows_image("windows/only")
        self.serve_on("windows-1")
        self.apply(windows_pod("linux-image", nodeName="windows-1", container_fields={"image": PULLED_IMAGE}),
                   pod("windows-image", container(image=REGISTRY + "/windows/only:1"), nodeName="linux-1"))

        def waiting(name):
            state = self.status_of(name).get("state", {}).get("waiting", {})
            return state if state.get("reason") in ("ErrImagePull", "ImagePullBackOff") else None
        def refused(name, *words):
            """Once the registry, which starts meanwhile, has answered."""
            told = waiting(name)["message"]
            for word in words:
                self.assertIn(word, told)
            return True
        self.eventually(lambda: refused("linux-image", "linux/amd64", "this host is windows/amd64 10.0.20348"), 90, "the one for Linux is refused")
        self.eventually(lambda: refused("windows-image", "no match for platform in manifest"), 60, "the one for Windows is refused")

    # POD-33
    def test_policies_decide_on_an_image_that_is_there(self):
        present = self.probe("present", "wait", container_fields={"image": windows_probe.NAME, "imagePullPolicy": "IfNotPresent"})
        always = self.probe("always", "wait", container_fields={"image": windows_probe.NAME, "imagePullPolicy": "Always"})
        self.apply(present, always)
        self.wait_ready("present")
        self.wait_event("Pulled", f'Container image "{windows_probe.NAME}" already present on machine', 60)
        self.wait_event("Failed", f'Failed to pull image "{windows_probe.NAME}"', 60)
        self.eventually(lambda: self.status_of("always")["state"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff"), 30, "its state")


class Ends(ProbeCase):
    # POD-15
    def test_a_missing_dll_is_named_in_the_message(self):
        self.apply(windows_pod("lonely", ["C:\\app\\lonely.exe"], container_fields={"image": windows_probe.NAME}, restartPolicy="Never"))
        self.wait_phase("lonely", "Failed", seconds=90)
        ended = self.status_of("lonely")["state"]["terminated"]
        self.assertEqual(ended["exitCode"] & 0xFFFFFFFF, 0xC0000135)
        self.assertIn("0xC0000135 (STATUS_DLL_NOT_FOUND): a DLL that the program needs was not found (nowhere.dll); ", ended["message"])
        self.assertIn("lonely.exe: the DLL nowhere.dll was not found", self.kubectl("logs", "lonely"))


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

    # SEC-11
    def test_a_host_process_container_of_an_unknown_account_ends_its_pod(self):
        options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "nobody-of-this-host"}}
        self.apply(windows_pod("host", hostNetwork=True, restartPolicy="Never", securityContext=options))
        self.wait_phase("host", "Failed", seconds=60)
        self.assertEqual(self.status_of("host")["state"]["terminated"]["reason"], "StartError")


def processes_with(mark):
    """Process ids of this machine whose program was given `mark`."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            if mark in words and "probe.exe" in words and "kubectl" not in words and "launch.exe" not in words:
                found.append(int(entry.name))
    return found


class Stopping(ProbeCase):
    # POD-16
    def test_the_program_hears_of_its_end_and_ends_by_itself(self):
        ending = self.probe("ending", "wait", terminationGracePeriodSeconds=40, container_fields={
            "livenessProbe": {"exec": {"command": ["cmd", "/c", "if exist C:\\sick (exit 1) else (exit 0)"]}, "periodSeconds": 1,
                              "failureThreshold": 2, "timeoutSeconds": PROBE_SECONDS}})
        self.apply(ending)
        self.wait_phase("ending", "Running", seconds=60)
        self.eventually(lambda: "waiting" in self.kubectl("logs", "ending"), 30, "it listens")
        self.exec("ending", "cmd", "/c", "echo x> C:\\sick")
        self.assertEqual(self.last_end("ending")["exitCode"], 5)
        self.assertIn("event 6", self.kubectl("logs", "ending", "--previous"))  # CTRL_SHUTDOWN_EVENT

    # POD-17, LIM-07
    def test_the_grace_period_is_given_and_not_exceeded(self):
        self.apply(self.probe("stays", "stubborn", terminationGracePeriodSeconds=8),
                   self.probe("goes", "wait", terminationGracePeriodSeconds=600))
        for name in ("stays", "goes"):
            self.wait_phase(name, "Running", seconds=60)
            self.eventually(lambda: self.kubectl("logs", name), 30, "it listens")
        self.assertGreaterEqual(self.time_to_delete("stays"), 8)  # it would stay for ever, and kubectl waits until it has gone
        self.assertLess(self.time_to_delete("goes"), 300)

    def time_to_delete(self, name):
        began = time.monotonic()
        self.kubectl("delete", "pod", name, "--timeout=90s", seconds=100)
        return time.monotonic() - began


class Terminals(ProbeCase):
    @contextlib.contextmanager
    def terminal(self, rows, columns, *words):
        """kubectl at a terminal of its own, whose size can change."""
        own, theirs = pty.openpty()
        resize(own, rows, columns)
        command = self.cluster.kubectl_command(self.client, "-n", self.namespace, *words)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, env={**self.cluster.environment(), "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs,
                                   preexec_fn=take_terminal)
        os.close(theirs)
        try:
            yield Screen(own), own, process
        finally:
            process.kill()
            process.wait(120)
            os.close(own)

    def shows(self, screen, text, seconds=30, keys=""):
        """Waits for `text`; types `keys` while it is not there."""
        def shown():
            screen.read()
            if text in CONTROL.sub("", screen.text):
                return True
            screen.write(keys)
            time.sleep(0.5)
            raise AssertionError(repr(screen.text))
        self.eventually(shown, seconds, repr(text))

    # POD-19
    def test_exec_at_a_terminal_follows_its_size(self):
        self.apply(self.probe("box", "wait"))
        self.wait_ready("box")
        with self.terminal(33, 111, "exec", "-it", "box", "--", PROBE, "console") as (screen, file, _):
            self.shows(screen, "console=111x33")
            resize(file, 30, 90)
            self.shows(screen, "console=90x30")

    # POD-19
    def test_exec_of_a_shell_at_a_terminal(self):
        self.apply(self.probe("box", "wait"))
        self.wait_ready("box")
        with self.terminal(25, 80, "exec", "-it", "box", "--", "cmd") as (screen, _, process):
            self.shows(screen, "C:\\")
            screen.write("echo system=%OS%\r")
            self.shows(screen, "system=Windows_NT")
            screen.write("exit 3\r")
            self.eventually(lambda: screen.read() and process.poll() is not None, 20, "the shell ended")
            self.assertEqual(process.returncode, 3)

    # POD-19
    def test_attach_to_an_interactive_container(self):
        self.apply(windows_pod("shell", ["cmd"], container_fields={"stdin": True, "tty": True}))
        self.wait_ready("shell")
        with self.terminal(25, 80, "attach", "-it", "shell") as (screen, _, process):
            self.shows(screen, ">", keys="\r")
            screen.write("echo attached=%OS%\r")
            self.shows(screen, "attached=Windows_NT")


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Configuration(WindowsCase):
    # POD-09
    @slow
    def test_mounted_configuration_and_secrets_follow_the_api(self):
        self.create(config_map("site", colour="blue"), secret("key", word="sesame"))
        mounted = web_server("web", volumes=[{"name": "site", "configMap": {"name": "site"}}, {"name": "key", "secret": {"secretName": "key"}}])
        mounted["spec"]["containers"][0]["volumeMounts"] = [{"name": "site", "mountPath": "C:\\site"}, {"name": "key", "mountPath": "C:/key"}]
        self.apply(mounted)
        self.wait_ready("web")
        read = lambda path: self.exec("web", "cmd", "/c", "type " + path)
        self.assertEqual((read("C:\\site\\colour"), read("C:\\key\\word")), ("blue", "sesame"))
        self.kubectl("patch", "configmap", "site", "-p", '{"data":{"colour":"green","more":"leaves"}}')
        self.kubectl("patch", "secret", "key", "-p", '{"stringData":{"word":"open"}}')
        self.eventually(lambda: (read("C:\\site\\colour"), read("C:\\key\\word")) == ("green", "open"), 150, "new contents")
        self.assertEqual(read("C:\\site\\more"), "leaves")

    # SEC-01, LIM-42
    def test_only_the_container_and_administrators_read_secrets_on_the_nodes_drive(self):
        self.create(config_map("site", colour="blue"), secret("key", word="sesame"))
        fields = {"volumeMounts": [{"name": "site", "mountPath": "C:\\site"}, {"name": "key", "mountPath": "C:\\key"}]}
        volumes = [{"name": "site", "configMap": {"name": "site"}}, {"name": "key", "secret": {"secretName": "key"}}]
        for user in ("ContainerAdministrator", "ContainerUser"):
            name = user.lower()
            self.apply(windows_pod(name, ENDLESS, volumes=volumes, container_fields={
                **fields, "securityContext": {"windowsOptions": {"runAsUserName": user}}}))
            self.wait_ready(name)
            self.assertEqual(self.exec(name, "cmd", "/c", "type C:\\key\\word"), "sesame", user)
            self.assertTrue(self.exec(name, "cmd", "/c", "type C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount\\token"), user)
            pod_folder = self.folder_on_the_drive(name)
            others = {path.parent.name: path.stat().st_mode & 0o007 for path in pod_folder.glob("volumes/kubernetes.io~*/*")}
            self.assertEqual((others["kubernetes.io~secret"], others["kubernetes.io~projected"]), (0, 0), user)
            self.assertNotEqual(others["kubernetes.io~configmap"], 0, "what nobody closes is open, so the numbers mean something")

    def folder_on_the_drive(self, name):
        found = self.get("pod", name)
        drive = self.cluster.data / "nodes" / found["spec"]["nodeName"] / "C"
        return drive / "var/lib/kubelet/pods" / found["metadata"]["uid"]

    # POD-30
    def test_init_containers_and_the_downward_api(self):
        says = windows_pod("says", ["cmd", "/c", "type C:\\info\\labels & echo. & type C:\\scratch\\first & echo %NODE% %LIMIT%"],
                           labels={"app": "says", "tier": "test"}, restartPolicy="Never", container_fields={
                               "resources": {"limits": {"memory": "96Mi"}},
                               "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                                       {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}],
                               "volumeMounts": [{"name": "info", "mountPath": "C:\\info"}, {"name": "scratch", "mountPath": "C:\\scratch"}]},
                           volumes=[{"name": "scratch", "emptyDir": {}}, {"name": "info", "downwardAPI": {
                               "items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}])
        says["spec"]["initContainers"] = [{"name": "first", "image": IMAGE, "resources": {"limits": {"memory": "96Mi"}},
                                           "command": ["cmd", "/c", "echo written first> C:\\scratch\\first"],
                                           "volumeMounts": [{"name": "scratch", "mountPath": "C:/scratch"}]}]
        self.apply(says)
        node = self.wait_phase("says", "Succeeded", seconds=90)["spec"]["nodeName"]
        printed = self.kubectl("logs", "says")
        for text in ('tier="test"', "written first", f"{node} 96"):
            self.assertIn(text, printed)

    # POD-30
    def test_ephemeral_containers_join_a_running_pod(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        debugger = {"name": "debugger", "image": IMAGE, "command": [FETCH, "http://127.0.0.1/from-the-debugger"]}
        path = f"/api/v1/namespaces/{self.namespace}/pods/web/ephemeralcontainers"
        found = self.get("pod", "web")
        found["spec"]["ephemeralContainers"] = [debugger]
        del found["metadata"]["resourceVersion"]  # the kubelet may write the status meanwhile
        self.kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(found), namespaced=False)
        ended = lambda: [status for status in self.get("pod", "web")["status"].get("ephemeralContainerStatuses", []) if "terminated" in status["state"]]
        self.assertEqual(self.eventually(ended, 60, "the debugger ends")[0]["state"]["terminated"]["exitCode"], 0)
        self.eventually(lambda: "/from-the-debugger" in self.kubectl("logs", "web", "-c", "main"), 20, "the server has told of the request")

    # POD-35
    def test_names_and_services_are_in_the_environment(self):
        self.apply(service("back-end", {"app": "nobody"}, target=80))
        self.apply(web_server("a-pod-with-a-long-name"))
        self.wait_ready("a-pod-with-a-long-name")
        lines = self.exec("a-pod-with-a-long-name", "cmd", "/c", "set").splitlines()
        values = {name.upper(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
        self.assertEqual(values["COMPUTERNAME"].lower(), "a-pod-with-a-long-name"[:15])
        self.assertEqual(values["KUBERNETES_SERVICE_HOST"], "10.96.0.1")
        self.assertEqual(values["BACK_END_SERVICE_HOST"], self.get("service", "back-end")["spec"]["clusterIP"])
        self.assertEqual(values["BACK_END_SERVICE_PORT"], "80")
        self.assertIn("host: a-pod-with-a-long-name", self.exec("a-pod-with-a-long-name", FETCH, "http://127.0.0.1/").lower())


class Removal(WindowsCase):
    # POD-34
    def test_deleted_pod_leaves_nothing_on_its_host(self):
        self.apply(web_server("web", nodeName="windows-1"))
        address = self.wait_ready("web")["status"]["podIP"]
        host = self.cluster.data / "nodes/windows-1"
        documents = lambda: run(["grep", "-rlsF", address, host / "hns"], check=False).stdout.split()  # files may go meanwhile
        self.assertTrue(documents())
        self.kubectl("delete", "pod", "web", "--timeout=60s")
        self.eventually(lambda: not documents(), 30, "the endpoint is gone")


if __name__ == "__main__":
    unittest.main()
