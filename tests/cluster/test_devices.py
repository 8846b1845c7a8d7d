"""Devices, as far as they go without a driver on a node: what drivers publish and say is written by the test."""

import json

from harness import ClusterCase
from manifests import container, pod

GROUP = "resource.k8s.io/v1"


class DevicesTest(ClusterCase):
    def setUp(self):
        super().setUp()
        self.driver = f"{self.namespace}.example.com"
        self.resource = f"{self.driver}/gpu"
        self.addCleanup(self.kubectl_run, "delete", "deviceclass,resourceslice", self.namespace, "--ignore-not-found", namespaced=False,
                        check=False)

    def publish(self, **device):
        """One device for all nodes, and its class, which stands for an extended resource."""
        selector = {"cel": {"expression": f"device.driver == '{self.driver}'"}}
        self.apply({"apiVersion": GROUP, "kind": "DeviceClass", "metadata": {"name": self.namespace},
                    "spec": {"selectors": [selector], "extendedResourceName": self.resource}},
                   {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": {"name": self.namespace},
                    "spec": {"driver": self.driver, "allNodes": True, "devices": [{"name": "one", **device}],
                             "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1}}})

    def node_of(self, name):
        return self.get("pod", name)["spec"].get("nodeName")

    def test_a_pod_is_bound_once_its_driver_has_attached_the_device(self):
        self.publish(bindsToNode=True, bindingConditions=["attached"], bindingFailureConditions=["broken"])
        self.apply({"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": {"name": "claim"},
                    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": self.namespace}}]}}},
                   pod("slow", container(resources={"claims": [{"name": "gpu"}]}),
                       resourceClaims=[{"name": "gpu", "resourceClaimName": "claim"}]))
        self.wait_event("BindingConditionsPending")
        claim = self.get("resourceclaim", "claim")
        result, = claim["status"]["allocation"]["devices"]["results"]
        self.assertEqual(result["bindingConditions"], ["attached"])
        self.assertIn("allocationTimestamp", claim["status"]["allocation"])
        self.assertIsNone(self.node_of("slow"))
        attached = {"type": "attached", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}
        claim["status"]["devices"] = [{"driver": self.driver, "pool": "pool", "device": "one", "conditions": [attached]}]
        self.kubectl("replace", "--raw", f"/apis/{GROUP}/namespaces/{self.namespace}/resourceclaims/claim/status", "-f", "-",
                     stdin=json.dumps(claim))
        self.eventually(lambda: self.node_of("slow"), what="the pod is bound")
        self.wait_event("FailedPrepareDynamicResources", f"DRA driver {self.driver} is not registered")

    def test_an_extended_resource_is_a_device(self):
        self.publish()
        amounts = {"limits": {self.resource: "1"}}
        self.apply(pod("first", container(resources=amounts)))
        self.eventually(lambda: self.node_of("first"), what="the pod is bound")
        status = self.get("pod", "first")["status"]["extendedResourceClaimStatus"]
        self.assertEqual(status["requestMappings"], [
            {"containerName": "main", "resourceName": self.resource, "requestName": "container-0-request-0"}])
        claim, = self.list("resourceclaims")
        self.assertEqual(claim["metadata"]["name"], status["resourceClaimName"])
        self.assertEqual(claim["status"]["reservedFor"][0]["name"], "first")
        # The node may read the claim, and asks its driver.
        self.wait_event("FailedPrepareDynamicResources", f"DRA driver {self.driver} is not registered")
        self.apply(pod("second", container(resources=amounts)))
        self.wait_event("FailedScheduling", "cannot allocate all claims")
        self.kubectl("delete", "pod", "first", "--wait=false")
        self.eventually(lambda: self.node_of("second"), what="the device is free for the second pod")
        self.eventually(lambda: [one["status"]["reservedFor"][0]["name"] for one in self.list("resourceclaims")] == ["second"],
                        what="the first claim is deleted")
