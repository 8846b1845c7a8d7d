"""Pods and the controllers above them, on real containerd."""

import json
import unittest

from harness import IMAGE, IMAGE_2, PULLED_IMAGE, ClusterCase, condition, slow
from manifests import SLEEP, config_map, container, deployment, pod, secret, web_deployment


def restarts(found, name="main"):
    return next((status["restartCount"] for status in found["status"].get("containerStatuses", []) if status["name"] == name), 0)


def waiting_reason(found):
    for status in found.get("status", {}).get("containerStatuses", []):
        if "waiting" in status.get("state", {}):
            return status["state"]["waiting"].get("reason")
    return None


class Deployments(ClusterCase):
    def test_replicas_run_on_every_node(self):
        self.apply(web_deployment("web", replicas=4))
        self.wait_rolled_out("web")
        self.assertEqual({found["spec"]["nodeName"] for found in self.pods("app=web")}, {"linux-1", "linux-2"})

    def test_rolling_update_keeps_the_wanted_number_available_and_can_be_undone(self):
        self.apply(web_deployment("web", replicas=3, strategy={"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}))
        self.wait_rolled_out("web")
        self.kubectl("set", "env", "deployment/web", "COLOUR=green")
        lowest = 3
        def updated():
            nonlocal lowest
            status = self.get("deployment", "web")["status"]
            lowest = min(lowest, status.get("availableReplicas", 0))
            return status.get("updatedReplicas") == 3 == status.get("replicas") == status.get("availableReplicas")
        self.eventually(updated, 60, "all replicas are new")
        self.assertEqual(lowest, 3)
        self.assertEqual(len(self.list("replicasets", "app=web")), 2)

        self.kubectl("rollout", "undo", "deployment/web", warnings=True)
        self.wait_rolled_out("web")
        spec = self.get("deployment", "web")["spec"]["template"]["spec"]
        self.assertNotIn("env", spec["containers"][0])

    def test_paused_rollout_waits_until_resumed(self):
        self.apply(web_deployment("web"))
        self.wait_rolled_out("web")
        self.kubectl("rollout", "pause", "deployment/web")
        self.kubectl("set", "env", "deployment/web", "A=1")
        self.eventually(lambda: self.get("deployment", "web")["status"]["observedGeneration"] >= 3, 10)
        self.assertEqual(len(self.list("replicasets", "app=web")), 1)
        self.kubectl("rollout", "resume", "deployment/web")
        self.wait_rolled_out("web")
        self.assertEqual(len(self.list("replicasets", "app=web")), 2)

    def test_rollout_that_cannot_progress_says_so(self):
        self.apply(deployment("stuck", 1, container(image="porthole.test/none:1", script=SLEEP), progressDeadlineSeconds=5))
        def gave_up():
            conditions = self.get("deployment", "stuck").get("status", {}).get("conditions", [])
            return any(entry.get("reason") == "ProgressDeadlineExceeded" for entry in conditions)
        self.eventually(gave_up, 30, "ProgressDeadlineExceeded")

    def test_deleted_pod_is_replaced(self):
        self.apply(web_deployment("web"))
        self.wait_rolled_out("web")
        first = self.pods("app=web")[0]["metadata"]["name"]
        self.kubectl("delete", "pod", first, "--wait=false")
        self.eventually(lambda: [found for found in self.pods("app=web") if found["metadata"]["name"] != first
                                 and condition(found, "Ready") == "True"], 40, "a replacement is ready")

    def test_image_loaded_from_an_oci_archive_is_used_in_an_update(self):
        self.cluster.porthole("image", "load", self.cluster.images / "busybox2.oci.tar")
        self.apply(web_deployment("web"))
        self.wait_rolled_out("web")
        self.kubectl("set", "image", "deployment/web", f"main={IMAGE_2}")
        self.wait_rolled_out("web")
        name = self.pods("app=web")[0]["metadata"]["name"]
        self.assertEqual(self.exec(name, "cat", "/etc/image-version").strip(), "2")


class Cascades(ClusterCase):
    def start(self):
        self.apply(web_deployment("web", replicas=2))
        self.wait_rolled_out("web")

    def test_background_removes_all_that_was_owned(self):
        self.start()
        self.kubectl("delete", "deployment", "web")
        self.eventually(lambda: not self.list("replicasets") and not self.list("pods"), 40, "nothing is left")

    def test_foreground_returns_when_all_that_was_owned_is_gone(self):
        self.start()
        self.kubectl("delete", "deployment", "web", "--cascade=foreground", seconds=60)
        self.assertEqual(self.list("replicasets") + self.list("pods"), [])

    def test_orphan_leaves_the_replica_set_running(self):
        self.start()
        self.kubectl("delete", "deployment", "web", "--cascade=orphan")
        left = self.eventually(lambda: [found for found in self.list("replicasets") if not found["metadata"].get("ownerReferences")],
                               20, "the replica set has no owner")
        self.assertEqual(left[0]["status"]["readyReplicas"], 2)


class RestartPolicies(ClusterCase):
    def test_never_ends_as_failed_with_the_exit_code(self):
        self.apply(pod("once", container(script="exit 7"), restartPolicy="Never"))
        found = self.wait_phase("once", "Failed")
        ended = found["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["exitCode"], ended["reason"]), (7, "Error"))

    def test_on_failure_runs_again_until_it_succeeds(self):
        script = "if [ -e /state/second ]; then exit 0; fi; touch /state/second; exit 1"
        self.apply(pod("retry", container(script=script, volumeMounts=[{"name": "state", "mountPath": "/state"}]),
                       restartPolicy="OnFailure", volumes=[{"name": "state", "emptyDir": {}}]))
        self.assertEqual(restarts(self.wait_phase("retry", "Succeeded", seconds=60)), 1)

    def test_always_backs_off_after_repeated_crashes(self):
        self.apply(pod("crash", container(script="exit 1")))
        self.eventually(lambda: waiting_reason(self.get("pod", "crash")) == "CrashLoopBackOff", 40, "CrashLoopBackOff")
        self.wait_event("BackOff", "restarting failed container")

    def test_init_containers_run_in_order_before_the_others(self):
        mount = [{"name": "log", "mountPath": "/log"}]
        steps = [container(name, f"echo {name} >> /log/order", volumeMounts=mount) for name in ("first", "second")]
        self.apply(pod("steps", container(script="cat /log/order; " + SLEEP, volumeMounts=mount), initContainers=steps,
                       volumes=[{"name": "log", "emptyDir": {}}]))
        self.wait_ready("steps")
        self.eventually(lambda: self.kubectl("logs", "steps") == "first\nsecond\n", 20, "both have written, in this order")

    def test_failing_init_container_keeps_the_others_from_starting(self):
        self.apply(pod("blocked", initContainers=[container("broken", "exit 1")], restartPolicy="Never"))
        found = self.wait_phase("blocked", "Failed")
        self.assertEqual(waiting_reason(found), "PodInitializing")


class Environment(ClusterCase):
    def printed_by(self, *containers, **fields):
        self.apply(pod("show", *containers, restartPolicy="Never", **fields))
        self.wait_phase("show", "Succeeded")
        return self.kubectl("logs", "show").splitlines()

    def test_values_come_from_everywhere_and_may_refer_to_each_other(self):
        self.apply(config_map("settings", colour="green", SIZE="big"), secret("keys", password="s3cret"))
        env = [
            {"name": "PLAIN", "value": "one"},
            {"name": "COMBINED", "value": "$(PLAIN)-two $$(PLAIN) $(ABSENT)"},
            {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ]
        script = 'echo "$COMBINED"; echo "$COLOUR"; echo "$PASSWORD"; echo "$POD"; echo "$IP"; echo "$LIMIT"; echo "$SIZE"'
        lines = self.printed_by(container(script=script, env=env, envFrom=[{"configMapRef": {"name": "settings"}}],
                                          resources={"limits": {"memory": "64Mi"}}))
        self.assertEqual(lines[:4], ["one-two $(PLAIN) $(ABSENT)", "green", "s3cret", "show"])
        self.assertRegex(lines[4], r"^10\.244\.")
        self.assertEqual(lines[5:], [str(64 << 20), "big"])

    def test_services_of_the_namespace_are_announced(self):
        self.kubectl("create", "service", "clusterip", "my-db", "--tcp=5432:5432")
        ip = self.get("service", "my-db")["spec"]["clusterIP"]
        lines = self.printed_by(container(script="echo $MY_DB_SERVICE_HOST:$MY_DB_SERVICE_PORT $KUBERNETES_SERVICE_HOST"))
        self.assertEqual(lines, [f"{ip}:5432 10.96.0.1"])

    def test_missing_reference_is_told_and_starts_once_it_exists(self):
        env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "a"}}}]
        self.apply(pod("waits", container(script="echo $A; " + SLEEP, env=env)))
        self.eventually(lambda: waiting_reason(self.get("pod", "waits")) == "CreateContainerConfigError", 30)
        self.apply(config_map("later", a="now"))
        self.wait_ready("waits", 60)
        self.eventually(lambda: self.kubectl("logs", "waits") == "now\n", 20, "it has the value")


class Volumes(ClusterCase):
    def run_with(self, volume, script=SLEEP, **mount):
        self.apply(pod("holder", container(script=script, volumeMounts=[{"name": "it", "mountPath": "/it", **mount}]),
                       volumes=[{"name": "it", **volume}]))
        self.wait_ready("holder")

    @slow
    def test_config_map_changes_reach_the_running_pod(self):
        self.apply(config_map("settings", colour="green"))
        self.run_with({"configMap": {"name": "settings"}})
        self.assertEqual(self.exec("holder", "cat", "/it/colour"), "green")
        self.kubectl("patch", "configmap", "settings", "-p", json.dumps({"data": {"colour": "blue", "size": "big"}}))
        self.eventually(lambda: self.exec("holder", "cat", "/it/colour") == "blue", 90, "the file follows")
        self.assertEqual(self.exec("holder", "cat", "/it/size"), "big")

    def test_secret_has_the_wanted_mode_and_keys(self):
        self.apply(secret("keys", a="1", b="2"))
        self.run_with({"secret": {"secretName": "keys", "defaultMode": 0o400, "items": [{"key": "a", "path": "sub/file"}]}})
        self.assertEqual(self.exec("holder", "stat", "-L", "-c", "%a", "/it/sub/file").strip(), "400")
        self.assertEqual(self.exec("holder", "find", "/it/sub/", "-name", "b"), "")

    def test_empty_dir_is_shared_and_outlives_a_container(self):
        mount = [{"name": "it", "mountPath": "/it"}]
        self.apply(pod("pair", container("writer", "date >> /it/starts; sleep 1; exit 1", volumeMounts=mount),
                       container("reader", volumeMounts=mount), volumes=[{"name": "it", "emptyDir": {"medium": "Memory"}}]))
        self.eventually(lambda: int(self.exec("pair", "wc", "-l", "/it/starts", container="reader").split()[0]) >= 2, 40,
                        "the writer has started twice")

    def test_host_path_shows_the_nodes_folder(self):
        shared = self.cluster.folder / "shared"
        shared.mkdir(exist_ok=True)
        (shared / "from-node").write_text("hello")
        self.run_with({"hostPath": {"path": str(shared), "type": "Directory"}}, readOnly=True)
        self.assertEqual(self.exec("holder", "cat", "/it/from-node"), "hello")
        self.kubectl_fails("exec", "holder", "--", "touch", "/it/no")

    # API-24
    def test_service_account_token_opens_the_api(self):
        self.run_with({"projected": {"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}})
        self.assertEqual(self.exec("holder", "cat", "/it/labels").strip(), 'app="holder"')
        self.assertEqual(self.exec("holder", "cat", "/it/token").count("."), 2)
        place = "/var/run/secrets/kubernetes.io/serviceaccount/"
        self.assertEqual(self.exec("holder", "cat", place + "namespace"), self.namespace)
        self.assertIn("BEGIN CERTIFICATE", self.exec("holder", "cat", place + "ca.crt"))

    def test_missing_volume_source_is_told_as_an_event(self):
        self.apply(pod("lacks", container(volumeMounts=[{"name": "it", "mountPath": "/it"}]),
                       volumes=[{"name": "it", "configMap": {"name": "nowhere"}}]))
        self.wait_event("FailedMount", 'configmap "nowhere" not found')


class Probes(ClusterCase):
    def test_failing_liveness_restarts_the_container(self):
        probe = {"exec": {"command": ["test", "-e", "/tmp/alive"]}, "periodSeconds": 1, "failureThreshold": 2, "initialDelaySeconds": 2}
        self.apply(pod("fades", container(script="touch /tmp/alive; sleep 4; rm /tmp/alive; " + SLEEP, livenessProbe=probe)))
        self.eventually(lambda: restarts(self.get("pod", "fades")) >= 1, 60, "one restart")
        self.wait_event("Killing", "failed liveness probe")

    def test_readiness_follows_the_probe_both_ways(self):
        probe = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1, "failureThreshold": 1}
        self.apply(pod("door", container(readinessProbe=probe)))
        self.wait_phase("door", "Running")
        self.assertEqual(condition(self.get("pod", "door"), "Ready"), "False")
        self.exec("door", "touch", "/tmp/ready")
        self.wait_ready("door")
        self.exec("door", "rm", "/tmp/ready")
        self.eventually(lambda: condition(self.get("pod", "door"), "Ready") == "False", 15, "not ready again")

    def test_startup_probe_holds_back_the_liveness_probe(self):
        startup = {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 30}
        liveness = {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 1}
        self.apply(pod("slow", container(script="sleep 4; exec httpd -f -p 8080 -h /www", startupProbe=startup, livenessProbe=liveness)))
        self.assertEqual(restarts(self.wait_ready("slow")), 0)

    def test_hooks_run_after_start_and_before_stop(self):
        folder = self.cluster.folder / self.namespace
        folder.mkdir()
        lifecycle = {"postStart": {"exec": {"command": ["touch", "/out/started"]}},
                     "preStop": {"exec": {"command": ["sh", "-c", "echo bye > /out/stopped"]}}}
        self.apply(pod("polite", container(lifecycle=lifecycle, volumeMounts=[{"name": "out", "mountPath": "/out"}]),
                       volumes=[{"name": "out", "hostPath": {"path": str(folder)}}]))
        self.wait_ready("polite")
        self.assertTrue((folder / "started").exists())
        self.kubectl("delete", "pod", "polite", seconds=40)
        self.assertEqual((folder / "stopped").read_text(), "bye\n")


class Resources(ClusterCase):
    def test_memory_limit_ends_the_container_as_oom_killed(self):
        self.apply(pod("greedy", container(script="x=a; while :; do x=$x$x; done", resources={"limits": {"memory": "32Mi"}}),
                       restartPolicy="Never"))
        ended = self.wait_phase("greedy", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["reason"], ended["exitCode"]), ("OOMKilled", 137))

    def test_processor_limit_reaches_the_cgroup(self):
        self.apply(pod("modest", container(resources={"limits": {"cpu": "250m", "memory": "32Mi"}})))
        found = self.wait_ready("modest")
        self.assertEqual(found["status"]["qosClass"], "Guaranteed")
        read = "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/cpu.max"
        self.assertEqual(self.exec("modest", "sh", "-c", read).strip(), "25000")

    def test_runs_as_the_wanted_user_without_a_writable_root(self):
        context = {"runAsUser": 1000, "runAsGroup": 2000, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        self.apply(pod("bound", container(securityContext=context), securityContext={"fsGroup": 3000}))
        self.wait_ready("bound")
        self.assertIn("uid=1000 gid=2000 groups=", self.exec("bound", "id"))
        self.assertIn("3000", self.exec("bound", "id", "-G"))
        self.kubectl_fails("exec", "bound", "--", "touch", "/x")


class Images(ClusterCase):
    def test_image_is_pulled_from_a_registry(self):
        self.apply(pod("pulled", container(image=PULLED_IMAGE) | {"imagePullPolicy": "Always"}, nodeName="linux-1"))
        self.wait_ready("pulled")
        for reason in ("Pulling", "Pulled", "Created", "Started"):
            self.wait_event(reason, seconds=10)

    def test_image_that_is_nowhere_backs_off_and_says_why(self):
        self.apply(pod("absent", container(image="127.0.0.1:5000/pulled/none:1"), nodeName="linux-1"))
        self.eventually(lambda: waiting_reason(self.get("pod", "absent")) in ("ErrImagePull", "ImagePullBackOff"), 30)
        self.wait_event("Failed", "not found")
        self.eventually(lambda: waiting_reason(self.get("pod", "absent")) == "ImagePullBackOff", 30)

    def test_policy_never_does_not_pull(self):
        self.apply(pod("never", container(image="porthole.test/none:1") | {"imagePullPolicy": "Never"}))
        self.eventually(lambda: waiting_reason(self.get("pod", "never")) == "ErrImageNeverPull", 30)


class Placement(ClusterCase):
    def test_pod_that_fits_nowhere_says_why_counted_by_cause(self):
        self.apply(pod("big", container(resources={"requests": {"cpu": "1000"}})))
        self.wait_event("FailedScheduling", "0/2 nodes are available: 2 Insufficient cpu")
        self.assertEqual(self.get("pod", "big")["status"]["phase"], "Pending")

    def test_wish_for_windows_waits_while_there_is_no_such_node(self):
        self.apply(pod("win", container(resources={"limits": {"memory": "64Mi"}}), nodeSelector={"kubernetes.io/os": "windows"}))
        self.wait_event("FailedScheduling", "2 node(s) didn't match Pod's node affinity/selector")

    def test_legacy_and_stable_system_labels_both_select(self):
        self.apply(pod("stable", nodeSelector={"kubernetes.io/os": "linux"}))
        legacy = self.kubectl_run("apply", "-f", "-", stdin=json.dumps(pod("legacy", nodeSelector={"beta.kubernetes.io/os": "linux"})))
        self.assertIn('Warning: spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead', legacy.stderr)
        self.wait_ready("stable")
        self.wait_ready("legacy")

    def test_two_pods_never_share_a_host_port(self):
        serving = container(ports=[{"containerPort": 8080, "hostPort": 18999}])
        self.apply(deployment("ports", 3, serving))
        self.wait_event("FailedScheduling", "2 node(s) didn't have free ports for the requested pod ports")
        self.eventually(lambda: sum(found["status"]["phase"] == "Running" for found in self.pods("app=ports")) == 2, 30)

    def test_limits_become_requests_and_count_against_the_node(self):
        self.apply(pod("counted", container(resources={"limits": {"cpu": "100m", "memory": "10Mi"}})))
        self.wait_ready("counted")
        requests = self.get("pod", "counted")["spec"]["containers"][0]["resources"]["requests"]
        self.assertEqual(requests, {"cpu": "100m", "memory": "10Mi"})

    def test_affinity_and_anti_affinity(self):
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": "kubernetes.io/hostname"}]}}
        self.apply(deployment("apart", 2, pod_fields={"affinity": apart}))
        self.wait_rolled_out("apart")
        self.assertEqual(len({found["spec"]["nodeName"] for found in self.pods("app=apart")}), 2)


if __name__ == "__main__":
    unittest.main()
