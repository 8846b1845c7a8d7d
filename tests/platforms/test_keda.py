"""KEDA scales a Deployment to zero and back, through its own external metrics API."""

import unittest

from platform_case import PlatformCase, harness
from manifests import deployment  # noqa: E402


class Keda(PlatformCase):
    modules = ("keda",)

    def install(self):
        for image, program, place in (("keda", "operator", "keda"), ("keda-metrics-apiserver", "adapter", "keda-adapter"),
                                      ("keda-admission-webhooks", "webhooks", "keda-admission-webhooks")):
            self.add_image(f"ghcr.io/kedacore/{image}:main", "keda", program, place)
        self.install_files("-f", "-", stdin=self.kustomize(self.module("keda") / "files/config/default"))
        self.wait_available("keda", "keda-operator", "keda-metrics-apiserver", "keda-admission")

    def test_a_deployment_follows_the_number_of_pods_that_it_serves(self):
        self.apply(deployment("workers", replicas=1), deployment("work", replicas=0), {
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "workers"}, "spec": {
                "scaleTargetRef": {"name": "workers"}, "pollingInterval": 2, "cooldownPeriod": 5, "minReplicaCount": 0, "maxReplicaCount": 3,
                "triggers": [{"type": "kubernetes-workload", "metadata": {"podSelector": "app=work", "value": "1"}}]}})
        replicas = lambda: self.get("deployment", "workers")["spec"]["replicas"]
        self.eventually(lambda: replicas() == 0, 120, "nothing to do: no workers")
        self.kubectl("scale", "deployment/work", "--replicas=2")
        self.eventually(lambda: replicas() == 2, 300, "two workers for two pods")
        self.kubectl("scale", "deployment/work", "--replicas=0")
        self.eventually(lambda: replicas() == 0, 400, "no workers again")


if __name__ == "__main__":
    unittest.main()
