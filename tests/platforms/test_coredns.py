"""CoreDNS answers for the cluster's names, beside the DNS server that is built in."""

import unittest

from platform_case import PlatformCase, harness

NAMESPACE = "coredns"
COREFILE = """.:1053 {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
    }
    reload
}
"""
NAMED = {"name": "coredns", "namespace": NAMESPACE}


def manifests():
    """What upstream's deployment for Kubernetes consists of."""
    labels = {"k8s-app": "coredns"}
    rules = [{"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
             {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": NAMED},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "coredns"}, "rules": rules},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "coredns"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "coredns"},
         "subjects": [{"kind": "ServiceAccount", **NAMED}]},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": NAMED, "data": {"Corefile": COREFILE}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": NAMED, "spec": {
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "serviceAccountName": "coredns", "containers": [{
                    "name": "coredns", "image": "docker.io/coredns/coredns:1.15.0", "args": ["-conf", "/etc/coredns/Corefile"],
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}},
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}]}],
                "volumes": [{"name": "config", "configMap": {"name": "coredns"}}]}}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": NAMED, "spec": {
            "selector": labels, "ports": [{"name": "dns", "port": 53, "targetPort": 1053, "protocol": "UDP"}]}}]


class CoreDns(PlatformCase):
    modules = ("coredns",)

    def install(self):
        self.add_image("docker.io/coredns/coredns:1.15.0", "coredns", "coredns")
        self.install_files("-f", "-", stdin=harness.as_list(manifests()))
        self.wait_available(NAMESPACE, "coredns")

    def look_up(self, name):
        address = self.kubectl("-n", NAMESPACE, "get", "service", "coredns", "-o", "jsonpath={.spec.clusterIP}", namespaced=False)
        words = ["timeout", "3", str(harness.TOOLS / "busybox"), "nslookup", name, address]
        return harness.run(self.cluster.network.inside(words), check=False).stdout

    def test_it_knows_a_service_as_soon_as_it_exists(self):
        self.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
        address = self.get("service", "web")["spec"]["clusterIP"]
        self.eventually(lambda: address in self.look_up(f"web.{self.namespace}.svc.cluster.local"), 20, "CoreDNS answers with the service's address")


if __name__ == "__main__":
    unittest.main()
