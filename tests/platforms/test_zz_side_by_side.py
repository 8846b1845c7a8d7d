"""All platforms in one cluster at once, and what Porthole itself needs for that."""

import pathlib
import re
import unittest

import test_cert_manager
import test_coredns
import test_gatekeeper
import test_keda
import test_kwok
import test_metrics_server
import test_prometheus_operator
import test_traefik
from platform_case import PlatformCase

ALL = (test_cert_manager.CertManager, test_coredns.CoreDns, test_gatekeeper.Gatekeeper, test_keda.Keda, test_kwok.Kwok,
       test_metrics_server.MetricsServer, test_prometheus_operator.PrometheusOperator, test_traefik.Traefik)
MEMORY = 400e6  # bytes, of the server and both nodes' agents together


def resident(pid):
    """Bytes of RSS."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024


class SideBySide(PlatformCase):
    alone = True
    modules = tuple(module for platform in ALL for module in platform.modules)

    def install(self):
        for platform in ALL:
            name = platform.__name__
            if name not in self.cluster.installed:
                platform.install(self)
                self.cluster.installed[name] = None

    def test_every_platform_is_available_within_the_memory(self):
        deployments = self.kubectl("get", "deployments", "-A", "--no-headers", namespaced=False)
        ready = dict(re.findall(r"^\S+\s+(\S+)\s+(\d+/\d+)", deployments, re.MULTILINE))
        for name in ("cert-manager", "coredns", "gatekeeper-audit", "keda-operator", "kwok-controller", "metrics-server", "prometheus-operator", "traefik"):
            self.assertRegex(ready.get(name, "absent"), r"^([1-9]\d*)/\1$", name)
        services = self.kubectl("get", "apiservices", "--no-headers", namespaced=False)
        self.assertNotRegex(services, r"\sFalse\s")
        ours = {name: resident(pid) for name, pid in self.cluster.processes().items() if "containerd" not in name}
        self.assertLess(sum(ours.values()), MEMORY, ours)


if __name__ == "__main__":
    unittest.main()
