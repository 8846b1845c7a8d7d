"""KWOK: nodes and pods without machines, beside real ones."""

import unittest

from platform_case import PlatformCase, harness


class Kwok(PlatformCase):
    modules = ("kwok",)

    def install(self):
        files = self.module("kwok") / "files"
        self.add_image("registry.k8s.io/kwok/kwok:v0.7.0", "kwok", "kwok")
        self.install_files("-f", str(files / "kustomize/crd/bases"))  # a link in the repository puts them into the chart
        for chart in ("kwok", "stage-fast"):
            self.helm("upgrade", "--install", chart, files / "charts" / chart, "--namespace", "kube-system", "--wait", "--timeout", "120s")
        self.wait_available("kube-system", "kwok-controller")

    def test_a_made_up_node_runs_pods(self):
        node = f"kwok-{self.namespace}"
        self.kubectl("create", "-f", "-", namespaced=False, stdin=harness.as_list([{
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": node, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"type": "kwok", "kubernetes.io/os": "linux"}},
            "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "32", "memory": "256Gi", "pods": "110"}, "capacity": {"cpu": "32", "memory": "256Gi", "pods": "110"}}}]))
        self.addCleanup(lambda: self.kubectl_run("delete", "node", node, check=False))
        self.kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=60s", namespaced=False, seconds=70)
        labels = {"app": "many"}
        self.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"}, "spec": {
            "replicas": 100, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "nodeSelector": {"type": "kwok"}, "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
                "containers": [{"name": "none", "image": "none"}]}}}})
        self.wait_rolled_out("many", 90)
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods("app=many")}, {node})


if __name__ == "__main__":
    unittest.main()
