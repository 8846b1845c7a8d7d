"""ConfigMaps, Secrets and tokens in containers on a Windows node. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import json
import unittest

from harness import slow
from manifests import config_map, secret, service
from test_windows_node import IMAGE, WindowsPodCase, web_server, windows_pod
from windows_probe_case import ENDLESS, FETCH


class Configuration(WindowsPodCase):
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


if __name__ == "__main__":
    unittest.main()
