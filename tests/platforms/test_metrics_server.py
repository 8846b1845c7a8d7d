"""metrics-server takes the place of the metrics API that is built in."""

import unittest

from platform_case import PlatformCase

IMAGE = "gcr.io/k8s-staging-metrics-server/metrics-server:master"  # of the manifests in the module


class MetricsServer(PlatformCase):
    modules = ("metrics-server",)

    def install(self):
        self.add_image(IMAGE, "metrics-server", "metrics-server")
        self.install_files("-f", "-", stdin=self.kustomize(self.module("metrics-server") / "files/manifests/base"))
        # Kubelets have certificates of an authority of their own, which the manual wants to be named.
        self.kubectl("-n", "kube-system", "create", "configmap", "kubelet-ca",
                     f"--from-file=ca.crt={self.cluster.data}/pki/kubelet-serving-ca.crt", namespaced=False)
        self.kubectl("-n", "kube-system", "patch", "deployment", "metrics-server", "--type=json", "--patch", """[
            {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--kubelet-certificate-authority=/ca/ca.crt"},
            {"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "ca", "configMap": {"name": "kubelet-ca"}}},
            {"op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-", "value": {"name": "ca", "mountPath": "/ca"}}]""",
                     namespaced=False)
        self.wait_available("kube-system", "metrics-server")

    def test_kubectl_top_shows_what_it_measured(self):
        self.kubectl("wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=60s", namespaced=False, seconds=70)
        self.assertEqual(self.get("apiservice", "v1beta1.metrics.k8s.io", namespaced=False)["spec"]["service"]["name"], "metrics-server")
        shown = self.eventually(lambda: self.kubectl_run("top", "node", check=False, namespaced=False).stdout, 60, "kubectl top node")
        self.assertRegex(shown, r"linux-1\s+\d+m\s+\d+%\s+\d+Mi")
        pods = self.eventually(lambda: self.kubectl_run("top", "pod", "-n", "kube-system", check=False, namespaced=False).stdout, 60, "kubectl top pod")
        self.assertRegex(pods, r"metrics-server-\S+\s+\d+m\s+\d+Mi")


if __name__ == "__main__":
    unittest.main()
