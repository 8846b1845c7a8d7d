"""StatefulSets: names that stay, order, and their records in the cluster's DNS."""

import unittest

from harness import ClusterCase
from manifests import service, web_pod


def stateful_set(name, replicas, **fields):
    template = web_pod(name)
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"serviceName": name, "replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]}, **fields}}


class StatefulSets(ClusterCase):  # WKL-03
    def start(self, name="db", replicas=3, **fields):
        self.apply(service(name, {"app": name}, clusterIP="None"), stateful_set(name, replicas, **fields))
        self.kubectl("rollout", "status", f"statefulset/{name}", "--timeout=90s", seconds=100)

    def names(self, name="db"):
        return sorted(found["metadata"]["name"] for found in self.pods(f"app={name}"))

    def test_pods_come_in_order_and_are_called_by_name(self):
        self.start()
        pods = {found["metadata"]["name"]: found for found in self.pods("app=db")}
        self.assertEqual(sorted(pods), ["db-0", "db-1", "db-2"])
        started = [pods[f"db-{index}"]["metadata"]["creationTimestamp"] for index in range(3)]
        self.assertEqual(started, sorted(started))
        self.assertEqual(pods["db-1"]["metadata"]["labels"]["apps.kubernetes.io/pod-index"], "1")
        self.eventually(lambda: self.fetch_from_pod("db-0", "http://db-1.db:8080/") == "db-1", 20, "db-1 answers by its name")

    def test_lost_pod_comes_back_under_its_name(self):
        self.start(replicas=2)
        before = self.get("pod", "db-1")["metadata"]["uid"]
        self.kubectl("delete", "pod", "db-1", "--wait=false")
        self.eventually(lambda: (self.try_get("pod", "db-1") or {"metadata": {"uid": before}})["metadata"]["uid"] != before, 30, "another db-1")
        self.wait_ready("db-1")
        self.assertEqual(self.names(), ["db-0", "db-1"])

    def test_scales_down_from_the_end(self):
        self.start()
        self.kubectl("scale", "statefulset/db", "--replicas=1")
        self.eventually(lambda: self.names() == ["db-0"], 60, "only the first is left")

    def test_partition_keeps_the_first_pods_as_they_are(self):
        self.start(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
        self.kubectl("set", "env", "statefulset/db", "COLOUR=green")
        def colours():
            return [any(entry["name"] == "COLOUR" for entry in self.get("pod", f"db-{index}")["spec"]["containers"][0].get("env", []))
                    for index in range(3)]
        self.eventually(lambda: colours() == [False, False, True], 60, "only the last is new")
        status = self.get("statefulset", "db")["status"]
        self.assertNotEqual(status["currentRevision"], status["updateRevision"])

    def test_all_at_once_does_not_wait_for_the_one_before(self):
        broken = stateful_set("eager", 2, podManagementPolicy="Parallel")
        broken["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["false"]}}
        self.apply(broken)
        self.eventually(lambda: self.names("eager") == ["eager-0", "eager-1"], 20, "both are there although neither is ready")


if __name__ == "__main__":
    unittest.main()
