"""Traefik as the ingress controller: pages by host name and path, from services of the cluster."""

import unittest

from platform_case import PlatformCase, harness
from manifests import service, web_deployment  # noqa: E402

NAMESPACE = "traefik"
ACCOUNT = "traefik-ingress-controller"  # of upstream's manifest of rights
LABELS = {"app": "traefik"}


def manifests():
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "traefik"},
         "spec": {"controller": "traefik.io/ingress-controller"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "traefik", "namespace": NAMESPACE}, "spec": {
            "selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": {
                "serviceAccountName": ACCOUNT, "containers": [{
                    "name": "traefik", "image": "docker.io/library/traefik:v3.6.6",
                    "args": ["--entrypoints.web.address=:8000", "--providers.kubernetesingress", "--providers.kubernetescrd", "--ping",
                             "--global.checknewversion=false", "--global.sendanonymoususage=false"],
                    "readinessProbe": {"httpGet": {"path": "/ping", "port": 8080}}}]}}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "traefik", "namespace": NAMESPACE},
         "spec": {"selector": LABELS, "ports": [{"port": 80, "targetPort": 8000}]}}]


class Traefik(PlatformCase):
    modules = ("traefik",)

    def install(self):
        self.add_image("docker.io/library/traefik:v3.6.6", "traefik", "traefik")
        files = self.module("traefik") / "files/docs/content/reference/dynamic-configuration"
        self.kubectl("create", "namespace", NAMESPACE, namespaced=False)
        self.install_files("-f", str(files / "kubernetes-crd-definition-v1.yml"))
        rights = (files / "kubernetes-crd-rbac.yml").read_text().replace("namespace: default", f"namespace: {NAMESPACE}")
        self.install_files("-f", "-", stdin=rights)
        self.install_files("-f", "-", stdin=harness.as_list(manifests()))
        self.wait_available(NAMESPACE, "traefik")

    def page(self, host, path="/"):
        address = self.kubectl("-n", NAMESPACE, "get", "service", "traefik", "-o", "jsonpath={.spec.clusterIP}", namespaced=False)
        words = ["curl", "--silent", "--max-time", "3", "--write-out", " %{http_code}", "--header", f"Host: {host}", f"http://{address}{path}"]
        return harness.run(self.cluster.network.inside(words), check=False).stdout

    def test_an_ingress_gives_each_host_its_service(self):
        self.apply(web_deployment("red"), service("red", {"app": "red"}), web_deployment("blue"), service("blue", {"app": "blue"}))
        rule = lambda name: {"host": f"{name}.{self.namespace}.test", "http": {"paths": [{
            "path": "/", "pathType": "Prefix", "backend": {"service": {"name": name, "port": {"number": 80}}}}]}}
        self.apply({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
                    "spec": {"ingressClassName": "traefik", "rules": [rule("red"), rule("blue")]}})
        for name in ("red", "blue"):
            self.eventually(lambda: self.page(f"{name}.{self.namespace}.test").startswith(f"{name}-"), 60, f"the page of {name}")
        self.assertTrue(self.page(f"green.{self.namespace}.test").endswith("404"))

    def test_its_own_kind_of_route_leads_to_a_service(self):
        self.apply(web_deployment("red"), service("red", {"app": "red"}), {
            "apiVersion": "traefik.io/v1alpha1", "kind": "IngressRoute", "metadata": {"name": "red"}, "spec": {
                "entryPoints": ["web"], "routes": [{"kind": "Rule", "match": f"Host(`route.{self.namespace}.test`)",
                                                    "services": [{"name": "red", "port": 80}]}]}})
        self.eventually(lambda: self.page(f"route.{self.namespace}.test").startswith("red-"), 60, "the page of the route")


if __name__ == "__main__":
    unittest.main()
