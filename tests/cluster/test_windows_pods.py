"""What a container on a Windows node finds and can do. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import contextlib
import json
import pathlib
import tempfile
import unittest

from harness import PORTHOLE, run
from manifests import PROBE_SECONDS, container, pod, service, web_pod
from test_windows_node import IMAGE, WindowsPodCase, web_server, windows_pod
from windows_probe_case import ENDLESS, FETCH


class Placement(WindowsPodCase):
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


class Containers(WindowsPodCase):
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
        web = self.wait_ready("web")
        status = web["status"]
        self.assertEqual((status["phase"], status["qosClass"]), ("Running", "Burstable"))
        self.assertEqual(status["podIPs"], [{"ip": status["podIP"]}])
        self.assertTrue(status["hostIP"] and status["startTime"])
        main = status["containerStatuses"][0]
        self.assertTrue(main["state"]["running"]["startedAt"] and main["imageID"] and main["containerID"])
        self.assertEqual(main["image"], web["spec"]["containers"][0]["image"])
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

    # POD-14, PAU-01
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

    def test_the_registry_names_the_machines_time_zone(self):
        key = "HKLM\\System\\CurrentControlSet\\Control\\TimeZoneInformation"
        self.apply(windows_pod("asks", ["reg", "query", key, "/v", "TimeZoneKeyName"], restartPolicy="Never"))
        self.wait_phase("asks", "Succeeded", seconds=60)
        self.assertRegex(self.kubectl("logs", "asks"), r"TimeZoneKeyName\s+REG_SZ\s+\w+")

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


class Removal(WindowsPodCase):
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
