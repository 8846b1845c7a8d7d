"""What a pod on a Windows node can and cannot do. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import json
import unittest

from harness import ClusterCase, condition
from manifests import pod, service, web_pod
from test_windows_node import IMAGE, WindowsCase, web_server, windows_pod

FETCH = "C:\\web\\fetch.exe"
ENDLESS = ["cmd", "/c", "ping -n 600 127.0.0.1 >nul"]


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

    # SCH-08, POD-02
    def test_pods_on_the_wrong_system_are_refused_with_the_reason(self):
        wrong = windows_pod("wrong", nodeName="linux-1")
        wrong["spec"].pop("nodeSelector")
        self.kubectl("apply", "-f", "-", stdin=json.dumps(wrong), warnings=True)
        self.assertEqual(self.wait_phase("wrong", "Failed")["status"]["reason"], "PodOSNotSupported")

    # SCH-13
    def test_host_port_is_given_once_a_node(self):
        for number in (1, 2, 3):
            found = web_server(f"web-{number}")
            found["spec"]["containers"][0]["ports"][0]["hostPort"] = 4455
            self.apply(found)
        self.wait_event("FailedScheduling", "didn't have free ports for the requested pod ports")

    # SCH-14
    def test_pending_says_how_many_nodes_failed_and_why(self):
        self.apply(windows_pod("nowhere", nodeName="", nodeSelector={"kubernetes.io/os": "plan9"}, os={"name": "windows"}))
        self.wait_event("FailedScheduling", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector")

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
        return {"name": name, "image": IMAGE, **fields}

    # POD-01, POD-03, POD-11
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

    # POD-05
    def test_status_is_complete(self):
        self.apply(web_server("web"))
        status = self.wait_ready("web")["status"]
        self.assertEqual((status["phase"], status["qosClass"]), ("Running", "BestEffort"))
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
            "readinessProbe": {"exec": {"command": ["cmd", "/c", "if exist C:\\ready (exit 0) else (exit 1)"]}, "periodSeconds": 1}}
        self.apply(web)
        self.wait_phase("web", "Running", seconds=60)
        self.wait_event("Unhealthy", "Readiness probe failed", 60)
        self.exec("web", "cmd", "/c", "echo x> C:\\ready")
        self.wait_ready("web")

    # POD-06
    def test_liveness_probe_restarts_what_hangs(self):
        web = web_server("web")
        web["spec"]["containers"][0]["livenessProbe"] = {
            "exec": {"command": ["cmd", "/c", "if exist C:\\sick (exit 1) else (exit 0)"]}, "periodSeconds": 1, "failureThreshold": 2}
        self.apply(web)
        self.wait_ready("web")
        self.exec("web", "cmd", "/c", "echo x> C:\\sick")
        self.eventually(lambda: self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"] >= 1, 60, "a restart")

    # POD-07
    def test_hooks_run(self):
        web = web_server("web")
        web["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["cmd", "/c", "echo hooked> C:\\hook.txt"]}}}
        self.apply(web)
        self.wait_ready("web")
        self.assertIn("hooked", self.exec("web", "cmd", "/c", "type C:\\hook.txt"))

    # POD-08
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

    # POD-23
    def test_last_words_reach_the_status(self):
        self.apply(windows_pod("last", ["cmd", "/c", "echo the reason & exit 3"], restartPolicy="Never",
                               container_fields={"terminationMessagePolicy": "FallbackToLogsOnError"}))
        self.wait_phase("last", "Failed", seconds=60)
        ended = self.get("pod", "last")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(ended["exitCode"], 3)
        self.assertIn("the reason", ended["message"])

    # POD-33
    def test_policy_never_does_not_pull(self):
        self.apply(windows_pod("absent", container_fields={"image": "registry.porthole.internal/absent:1", "imagePullPolicy": "Never"}))
        self.wait_event("ErrImageNeverPull", seconds=60)


class Refusals(WindowsCase):
    def refused(self, text, **fields):
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(windows_pod("refused", **fields)))
        self.assertIn(text, error)

    # POD-25, POD-26
    def test_host_and_shared_namespaces_of_processes(self):
        self.refused("spec.hostPID", hostPID=True)
        self.refused("spec.hostIPC", hostIPC=True)
        self.refused("spec.shareProcessNamespace", shareProcessNamespace=True)

    # POD-28
    def test_privileged_containers(self):
        self.refused("securityContext.privileged", container_fields={"securityContext": {"privileged": True}})

    # POD-27
    def test_huge_pages_fit_nowhere(self):
        self.apply(windows_pod("huge", container_fields={"resources": {"limits": {"hugepages-2Mi": "4Mi", "memory": "64Mi"}}}))
        self.wait_event("FailedScheduling", "Insufficient hugepages-2Mi")


class Removal(WindowsCase):
    # POD-34
    def test_deleted_pod_leaves_nothing_on_its_host(self):
        self.apply(web_server("web", nodeName="windows-1"))
        address = self.wait_ready("web")["status"]["podIP"]
        host = self.cluster.data / "nodes/windows-1"
        documents = lambda: [path for path in (host / "hns").rglob("*") if path.is_file() and address in path.read_text(errors="replace")]
        self.assertTrue(documents())
        self.kubectl("delete", "pod", "web", "--timeout=60s")
        self.eventually(lambda: not documents(), 30, "the endpoint is gone")


if __name__ == "__main__":
    unittest.main()
