"""Metrics of nodes and pods, and workloads that follow their load. The judges are `kubectl top` and `kubectl get hpa`."""

import json
import re
import unittest

from harness import BUILT_CLIENTS, ClusterCase, condition, needs_newest_kubectl, slow
from manifests import container, deployment, pod
from test_windows_node import WINDOWS, WindowsCase, web_server, windows_pod

# Uses a processor until somebody makes the file.
BUSY = "trap 'exit 0' TERM; while :; do [ -e /tmp/idle ] && sleep 2; done"  # starting programs costs a busy machine more, too
BUSY_WINDOWS = ["cmd", "/c", "for /l %i in (0,0,1) do @rem"]
FEW = {"requests": {"cpu": "20m"}, "limits": {"cpu": "200m"}}  # enough load to be seen, and too little to slow down other tests
SECONDS = 90  # until a new pod has two samples, on a busy machine


def autoscaler(target, most=3, metric="cpu", goal=50, **behavior):
    rules = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}], "selectPolicy": "Max"}
    source = {"name": metric, "target": {"type": "Utilization", "averageUtilization": goal}}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": target},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}, "minReplicas": 1,
                     "maxReplicas": most, "metrics": [{"type": "Resource", "resource": source}],
                     "behavior": {"scaleUp": rules, "scaleDown": {**rules, **behavior}}}}


class TopCase:
    """What `kubectl top` prints, of either client."""

    def top(self, client, *words, namespaced=True):
        place = ["--namespace", self.namespace] if namespaced else []
        done = self.cluster.kubectl(client, *place, "top", *words, check=False)
        return done.stdout if done.returncode == 0 else ""

    def wait_top(self, client, pattern, *words, **options):
        return self.eventually(lambda: re.search(pattern, self.top(client, *words, **options), re.M), SECONDS, f"top shows {pattern}")

    def wait_shown(self, pattern, *words):
        """Metrics of a pod, and what is computed of them, come and go with its node's answers."""
        def shown():
            self.assertRegex(self.kubectl(*words), pattern)
            return True
        self.eventually(shown, SECONDS, f"kubectl {' '.join(words)}")

    def replicas(self, name):
        return self.get("deployment", name)["spec"]["replicas"]

    def wait_replicas(self, name, count, seconds=240):
        self.eventually(lambda: self.replicas(name) == count, seconds, f"{name} has {count} replicas")

    def situation(self):
        parts = [super().situation()]
        for words in (["describe", "hpa"], ["top", "pod"]):
            parts.append(self.kubectl_run(*words, check=False).stdout)
        return "\n".join(parts)


class Top(TopCase, ClusterCase):
    # CLI-11
    @slow
    def test_both_clients_show_nodes_and_pods(self):
        self.apply(pod("busy", container(script=BUSY, resources=FEW), container("quiet"), labels={"load": "high"}), pod("still"))
        self.wait_ready("busy", SECONDS)
        for client in BUILT_CLIENTS:
            with self.subTest(client):
                self.wait_top(client, r"^linux-1 +\d+m +\d+% +\d+Mi +\d+%", "node", namespaced=False)
                # Each is waited for: a node that does not answer in time has no metrics for a while.
                self.wait_top(client, r"^busy +(2[1-9]|[3-9]\d|\d{3,})m +\d+Mi", "pod")
                self.wait_top(client, r"^still +\d+m +\d+Mi", "pod")
                self.wait_top(client, r"\ANAME.*\nbusy .*\nstill ", "pod", "--sort-by", "cpu")
                self.wait_top(client, r"\ANAME.*\nbusy .*\n\Z", "pod", "-l", "load=high")
                self.wait_top(client, r"^busy +quiet +\d+m", "pod", "--containers")
                self.wait_top(client, rf"^{self.namespace} +busy +\d+m", "pod", "-A", namespaced=False)

    @needs_newest_kubectl
    def test_metrics_are_a_resource_of_the_api(self):
        self.apply(pod("busy", container(script=BUSY, resources=FEW)))
        self.wait_top("new", r"^busy", "pod")
        self.wait_shown(r"NAME +CPU +MEMORY +WINDOW\nbusy +\d+[num]? +\d+\w* +[\d.]+m?s", "get", "pods.metrics.k8s.io")
        self.assertIn('Error from server (NotFound): pods "none" not found', self.kubectl_fails("get", "pods.metrics.k8s.io", "none"))
        # A node that has not answered in time has none for a while.
        node = self.eventually(lambda: self.try_get("nodes.metrics.k8s.io", "linux-1"), 60, "metrics of the node")
        self.assertEqual(node["kind"], "NodeMetrics")
        kinds = self.kubectl("api-resources", "--api-group=metrics.k8s.io", "--no-headers", namespaced=False)
        self.assertEqual([line.split()[0] for line in kinds.splitlines()], ["nodes", "pods"])


class Autoscalers(TopCase, ClusterCase):
    # WKL-08
    @slow
    def test_a_deployment_follows_its_load(self):
        self.apply(deployment("web", 1, container(script=BUSY, resources=FEW)), autoscaler("web"))
        self.wait_replicas("web", 3)
        self.wait_shown(r"web +Deployment/web +cpu: \d+%/50% +1 +3 +\d", "get", "hpa", "web")  # its status comes after the scaling
        self.wait_event("SuccessfulRescale", "New size: 3; reason: cpu resource utilization (percentage of request) above target")
        self.wait_rolled_out("web")
        for found in self.pods("app=web"):
            self.exec(found["metadata"]["name"], "touch", "/tmp/idle")
        self.wait_replicas("web", 1)
        self.wait_event("SuccessfulRescale", "New size: 1; reason: All metrics below target")
        conditions = lambda: {kind: condition(self.get("hpa", "web"), kind) for kind in ("AbleToScale", "ScalingActive")}
        self.eventually(lambda: set(conditions().values()) == {"True"}, SECONDS, "it can scale, and does")
        self.wait_shown(r"resource cpu on pods +\(as a percentage of request\): +\d+% \(\d+m?\) / 50%", "describe", "hpa", "web")

    def test_kubectl_autoscale_makes_one_in_the_first_version(self):
        self.apply(deployment("web", 1, container(resources=FEW)))
        self.kubectl("autoscale", "deployment", "web", "--min=2", "--max=4", "--cpu-percent=80", warnings=True)
        self.wait_replicas("web", 2, 60)
        self.wait_event("SuccessfulRescale", "New size: 2; reason: Current number of replicas below Spec.MinReplicas")
        first = json.loads(self.kubectl("get", "horizontalpodautoscalers.v1.autoscaling", "web", "-o", "json"))
        self.assertEqual((first["apiVersion"], first["spec"]["targetCPUUtilizationPercentage"]), ("autoscaling/v1", 80))

    @needs_newest_kubectl
    def test_what_cannot_be_computed_is_told(self):
        self.apply(deployment("web", 1), autoscaler("web"), autoscaler("none"))
        self.wait_event("FailedGetScale", 'deployments.apps "none" not found', 60)
        self.wait_event("FailedGetResourceMetric", "failed to get cpu utilization: ", 60)
        self.assertIn("ScalingActive", self.kubectl("describe", "hpa", "web"))


class WindowsAutoscalers(TopCase, WindowsCase):
    # CLI-11
    @needs_newest_kubectl
    def test_windows_nodes_and_pods_are_shown(self):
        self.apply(web_server("web"))
        self.wait_ready("web")
        for client in ("1.20", "new"):
            with self.subTest(client):
                self.wait_top(client, r"^windows-1 +\d+m +\d+% +\d+Mi +\d+%", "node", namespaced=False)
                self.wait_top(client, r"^web +\d+m +[1-9]\d*Mi", "pod")

    # WKL-08, LIM-55
    @slow
    def test_a_windows_deployment_follows_its_load(self):
        busy = windows_pod("busy", BUSY_WINDOWS, container_fields={"resources": FEW})["spec"]
        made = deployment("busy", 1)
        made["spec"]["template"]["spec"] = {**busy, **WINDOWS}
        self.apply(made, autoscaler("busy", most=2))
        self.wait_replicas("busy", 2)
        self.wait_event("SuccessfulRescale", "New size: 2; reason: cpu resource utilization (percentage of request) above target")


if __name__ == "__main__":
    unittest.main()
