"""The Prometheus operator: runs Prometheus and Alertmanager, finds what they watch by ServiceMonitors, and an alert arrives."""

import json
import unittest

from platform_case import PlatformCase, harness
from manifests import service, web_deployment  # noqa: E402

OPERATOR_TAG, PROMETHEUS_TAG, ALERTMANAGER_TAG = "v0.85.0", "v3.15.1", "v0.28.1"
PAGE = "mkdir -p /tmp/www && echo 'shop_orders_waiting 7' > /tmp/www/metrics && exec httpd -f -p 8080 -h /tmp/www"


class PrometheusOperator(PlatformCase):
    modules = ("prometheus-operator", "prometheus", "alertmanager")

    def install(self):
        self.add_image(f"quay.io/prometheus-operator/prometheus-operator:{OPERATOR_TAG}", "prometheus-operator", "operator")
        self.add_image(f"quay.io/prometheus-operator/prometheus-config-reloader:{OPERATOR_TAG}", "prometheus-operator", "prometheus-config-reloader")
        self.add_image(f"quay.io/prometheus/prometheus:{PROMETHEUS_TAG}", "prometheus", "prometheus")
        self.add_image(f"quay.io/prometheus/alertmanager:{ALERTMANAGER_TAG}", "alertmanager", "alertmanager")
        self.install_files("-f", str(self.module("prometheus-operator") / "files/bundle.yaml"))
        self.wait_available("default", "prometheus-operator")

    def manifests(self):
        monitoring = lambda kind, name, spec: {"apiVersion": "monitoring.coreos.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        shop = web_deployment("shop")
        shop["spec"]["template"]["spec"]["containers"][0] |= {"command": ["sh", "-c", PAGE],
                                                              "readinessProbe": {"httpGet": {"path": "/metrics", "port": 8080}}}
        rules = [{"apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"]},
                 {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}]
        endpoint = {"targetPort": 8080, "interval": "2s"}
        alert = {"alert": "OrdersWait", "expr": "shop_orders_waiting > 5", "for": "2s", "labels": {"severity": "page"}}
        return [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "prometheus"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "prometheus"}, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "prometheus"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "prometheus"},
             "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": self.namespace}]},
            shop, {**service("shop", {"app": "shop"}), "metadata": {"name": "shop", "labels": {"app": "shop"}}},
            monitoring("Alertmanager", "main", {"replicas": 1, "version": ALERTMANAGER_TAG}),
            monitoring("Prometheus", "main", {
                "replicas": 1, "version": PROMETHEUS_TAG, "serviceAccountName": "prometheus", "evaluationInterval": "2s",
                "serviceMonitorSelector": {}, "ruleSelector": {}, "serviceDiscoveryRole": "EndpointSlice",
                "alerting": {"alertmanagers": [{"namespace": self.namespace, "name": "alertmanager-operated", "port": "web"}]}}),
            monitoring("ServiceMonitor", "shop", {"selector": {"matchLabels": {"app": "shop"}}, "endpoints": [endpoint],
                                                "fallbackScrapeProtocol": "PrometheusText0.0.4"}),
            monitoring("PrometheusRule", "shop", {"groups": [{"name": "shop", "rules": [alert]}]})]

    def alerts(self):
        path = f"/api/v1/namespaces/{self.namespace}/services/alertmanager-operated:web/proxy/api/v2/alerts"
        done = self.kubectl_run("get", "--raw", path, check=False, namespaced=False)
        return [entry["labels"]["alertname"] for entry in json.loads(done.stdout)] if done.returncode == 0 else []

    def test_an_alert_about_a_monitored_service_reaches_the_alertmanager(self):
        self.apply(*self.manifests())
        for name in ("alertmanager-main", "prometheus-main"):
            self.eventually(lambda: self.try_get("statefulset", name), 60, f"the operator makes {name}")
            self.wait_available(self.namespace, name, kind="statefulset")
        self.eventually(lambda: "OrdersWait" in self.alerts(), 120, "the alert is at the Alertmanager")


if __name__ == "__main__":
    unittest.main()
