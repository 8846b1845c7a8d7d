"""Which pods for Windows nodes are refused or warned of, and in which words. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import json
import re
import unittest

from manifests import deployment, pod, service
from test_windows_node import IMAGE, WindowsCase, web_server, windows_pod
from windows_probe_case import FETCH


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

    # POS-28, SEC-06, SEC-07, SEC-08, SEC-09, STO-09, STO-15, LIM-26, LIM-27, LIM-37
    def test_ignored_fields_are_named_in_one_event(self):
        of_pod = {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000, "seLinuxOptions": {"level": "s0"}, "seccompProfile": {"type": "RuntimeDefault"}}
        of_container = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "procMount": "Default",
                        "appArmorProfile": {"type": "RuntimeDefault"}}
        web = web_server("web", securityContext=of_pod)
        web["spec"].pop("os")
        web["spec"]["containers"][0]["securityContext"] = of_container
        told = self.told(web)
        event = self.wait_event("WindowsFieldIgnored")
        for field in (*(f"spec.securityContext.{one}" for one in of_pod), *(f"spec.containers[0].securityContext.{one}" for one in of_container)):
            self.assertIn(field, event["message"])
            self.assertIn(f"Warning: {field}: ", told)
        self.assertIn("runAsUserName", told)
        self.wait_ready("web")
        self.assertEqual(len([one for one in self.list("events") if one["reason"] == "WindowsFieldIgnored"]), 1)

    # SEC-19
    def test_a_restricted_namespace_takes_pods_for_windows_without_what_only_linux_has(self):
        self.kubectl("label", "namespace", self.namespace, "pod-security.kubernetes.io/enforce=restricted", namespaced=False)
        hardened = {"runAsNonRoot": True, "windowsOptions": {"runAsUserName": "ContainerUser"}}
        self.apply(web_server("web", securityContext=hardened))
        self.wait_ready("web")
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(windows_pod("root")))
        self.assertIn("runAsNonRoot != true", error)
        self.assertNotIn("seccompProfile", error)
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(pod("linux", securityContext={"runAsNonRoot": True})))
        for control in ("allowPrivilegeEscalation != false", "unrestricted capabilities", "seccompProfile"):
            self.assertIn(control, error)

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


if __name__ == "__main__":
    unittest.main()
