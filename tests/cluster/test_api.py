"""What the API offers, seen without a client that knows it: kinds, encodings, patches, watches, credentials and rights."""

import json
import pathlib
import subprocess
import sys
import unittest

from harness import NEWEST_CLIENT, ClusterCase, eventually, run
from manifests import config_map, pod

PROTOBUF = "application/vnd.kubernetes.protobuf"
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": "porthole.test/none:1"}]}}
SELECTOR = {"matchLabels": {"app": "x"}}
JOB = {"suspend": True, "template": {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}}
WORKLOAD = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}, "storageClassName": "none"}

SEEN = {"type": "porthole.test/Seen", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "Seen", "message": "by a test"}

# (group and version, kind, what is sent beside the name, whether it is in a namespace, a part of the status where there is one)
KINDS = [
    ("v1", "Pod", {"spec": TEMPLATE["spec"] | {"schedulingGates": [{"name": "porthole.test/never"}]}}, True, {"message": "seen"}),
    ("v1", "Node", {"spec": {"unschedulable": True}}, False, {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}),
    ("v1", "Service", {"spec": {"ports": [{"port": 80}]}}, True, {"conditions": [SEEN]}),
    ("v1", "Endpoints", {"subsets": [{"addresses": [{"ip": "192.0.2.9"}], "ports": [{"port": 80}]}]}, True, None),
    ("discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.9"]}]}, True, None),
    ("v1", "ConfigMap", {"data": {"a": "1"}}, True, None),
    ("v1", "Secret", {"stringData": {"a": "1"}}, True, None),
    ("v1", "ServiceAccount", {}, True, None),
    ("v1", "PersistentVolume", {"spec": VOLUME}, False, {"message": "seen"}),
    ("v1", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                                              "resources": {"requests": {"storage": "1Gi"}}}}, True, {"capacity": {"storage": "2Gi"}}),
    ("storage.k8s.io/v1", "StorageClass", {"provisioner": "porthole.test/none"}, False, None),
    ("storage.k8s.io/v1", "VolumeAttachment", {"spec": {"attacher": "porthole.test", "nodeName": "none", "source": {"persistentVolumeName": "none"}}},
     False, {"attached": True}),
    ("storage.k8s.io/v1", "CSIDriver", {"spec": {}}, False, None),
    ("storage.k8s.io/v1", "CSINode", {"spec": {"drivers": []}}, False, None),
    ("v1", "ReplicationController", {"spec": WORKLOAD | {"selector": {"app": "x"}}}, True, {"observedGeneration": 99, "replicas": 0}),
    ("apps/v1", "ReplicaSet", {"spec": WORKLOAD}, True, {"observedGeneration": 99, "replicas": 0}),
    ("apps/v1", "Deployment", {"spec": WORKLOAD | {"paused": True}}, True, {"collisionCount": 7}),
    ("apps/v1", "StatefulSet", {"spec": WORKLOAD | {"serviceName": "none"}}, True, {"collisionCount": 7, "replicas": 0}),
    ("apps/v1", "DaemonSet", {"spec": {"selector": SELECTOR, "template": {
        "metadata": TEMPLATE["metadata"], "spec": TEMPLATE["spec"] | {"nodeSelector": {"no": "node"}}}}}, True,
     {"collisionCount": 7, "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}),
    ("batch/v1", "Job", {"spec": JOB}, True, {"ready": 0}),
    ("batch/v1", "CronJob", {"spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": JOB}}}, True,
     {"lastScheduleTime": "2020-01-01T00:00:00Z"}),
    ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "none",
                                                                                                  "apiVersion": "apps/v1"}}}, True,
     {"currentMetrics": [], "desiredReplicas": 3}),
    ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}, True, None),
    ("node.k8s.io/v1", "RuntimeClass", {"handler": "none"}, False, None),
    ("coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "me"}}, True, None),
    ("v1", "Event", {"reason": "Seen", "involvedObject": {"kind": "Pod", "name": "x", "namespace": "NAMESPACE"}}, True, None),
    ("rbac.authorization.k8s.io/v1", "Role", {"rules": []}, True, None),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"}}, True, None),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": []}, False, None),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"}},
     False, None),
    ("apiregistration.k8s.io/v1", "APIService", {"spec": {"group": "surface.porthole.test", "version": "v1", "groupPriorityMinimum": 1,
                                                          "versionPriority": 1, "service": {"name": "none", "namespace": "default"}}},
     False, None),
    ("v1", "Namespace", {}, False, None),
]
NAMES = {"APIService": "v1.surface.porthole.test"}


class Surface(ClusterCase):
    def setUp(self):
        super().setUp()
        script = pathlib.Path(__file__).with_name("raw_session.py")
        command = self.cluster.network.inside([sys.executable, str(script), str(self.cluster.kubeconfig)])
        self.session = self.enterContext(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def text(self, method, path, body="", token=None, **headers):
        """The answer's bytes as latin-1, as is what is sent."""
        names = {"accept": "Accept", "content": "Content-Type"}
        self.session.stdin.write(json.dumps([method, path, {names[name]: value for name, value in headers.items()}, body, token]) + "\n")
        self.session.stdin.flush()
        return json.loads(self.session.stdout.readline())[1]

    def raw(self, method, path, body=None, **options):
        sent = json.dumps(body) if body is not None else ""
        return json.loads(self.text(method, path, sent, **{"content": "application/json", "accept": "application/json", **options}))

    def patch(self, path, body, kind="merge-patch"):
        return self.raw("PATCH", path, body, content=f"application/{kind}+json")

    def collection(self, version, kind, namespaced):
        root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        served = self.raw("GET", root)["resources"]
        resource = next(entry for entry in served if entry["kind"] == kind and "/" not in entry["name"])
        self.assertEqual(resource["namespaced"], namespaced, kind)
        self.assertLessEqual({"create", "delete", "get", "list", "patch", "update", "watch"}, set(resource["verbs"]), kind)
        return root + (f"/namespaces/{self.namespace}" if namespaced else "") + "/" + resource["name"]

    # API-04
    def test_every_kind_of_workloads_is_created_read_changed_watched_and_deleted(self):
        for version, kind, fields, namespaced, status in KINDS:
            with self.subTest(kind):
                self.live(version, kind, fields, namespaced, status)

    def live(self, version, kind, fields, namespaced, status):
        place = self.collection(version, kind, namespaced)
        name = NAMES.get(kind, f"surface-{self.namespace}")
        before = self.raw("GET", place)["metadata"]["resourceVersion"]
        fields = json.loads(json.dumps(fields).replace("NAMESPACE", self.namespace))
        made = self.raw("POST", place, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})
        self.assertEqual(made.get("metadata", {}).get("name"), name, made)
        path = f"{place}/{name}"
        self.addCleanup(self.raw, "DELETE", path)
        found = self.raw("GET", path)
        self.assertEqual((found["kind"], found["metadata"]["uid"]), (kind, made["metadata"]["uid"]))

        def update():
            changed = self.raw("GET", path)
            changed["metadata"].setdefault("labels", {})["surface"] = self.namespace
            return "metadata" in self.raw("PUT", path, changed) and self.raw("GET", path)["metadata"].get("labels", {}).get("surface")
        eventually(update, 10, f"{kind} is updated")  # a controller may write in between
        self.assertIn(name, [entry["metadata"]["name"] for entry in self.raw("GET", f"{place}?labelSelector=surface%3D{self.namespace}")["items"]])
        if status is not None:
            answer = self.patch(path + "/status", {"status": status})  # a controller may write its own next
            self.assertEqual(answer["kind"], kind, answer)
            shown = answer["status"]
            self.assertEqual({key: shown.get(key) for key in status}, status)
        deleted = self.raw("DELETE", path)
        self.assertNotEqual(deleted.get("status"), "Failure", deleted)
        seen = self.watched(f"{place}?watch=1&resourceVersion={before}&timeoutSeconds=2&fieldSelector=metadata.name%3D{name}")
        self.assertEqual([event["type"] for event in seen][:2], ["ADDED", "MODIFIED"])
        if kind not in ("Pod", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Job"):  # which finalizers and grace may keep
            self.assertEqual(seen[-1]["type"], "DELETED")
            self.assertEqual(self.raw("GET", path)["reason"], "NotFound")

    def watched(self, path):
        """The events of a watch until it ends by itself."""
        answer = self.text("GET", path)
        return [json.loads(line) for line in answer.splitlines() if line.strip()]

    # API-20
    def test_no_kind_or_group_is_of_windows_alone(self):
        groups = [group["name"] for group in self.raw("GET", "/apis")["groups"]]
        self.assertEqual([name for name in groups if "windows" in name.lower() or "porthole" in name.lower()], [])
        versions = ["/api/v1"] + [f"/apis/{version['groupVersion']}" for group in self.raw("GET", "/apis")["groups"] for version in group["versions"]]
        kinds = {resource["kind"] for version in versions for resource in self.raw("GET", version).get("resources", [])}
        self.assertGreater(len(kinds), 60)
        self.assertEqual([kind for kind in kinds if "windows" in kind.lower()], [])

    # API-02
    def test_discovery_and_both_openapi_documents_tell_the_same_kinds(self):
        aggregated = self.raw("GET", "/apis", accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        apps = next(group for group in aggregated["items"] if group["metadata"]["name"] == "apps")
        discovered = {resource["responseKind"]["kind"] for resource in apps["versions"][0]["resources"]}
        self.assertLessEqual({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, discovered)
        index = self.raw("GET", "/openapi/v3")["paths"]
        schemas = self.raw("GET", index["apis/apps/v1"]["serverRelativeURL"])["components"]["schemas"]
        definitions = self.raw("GET", "/openapi/v2")["definitions"]
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
            self.assertIn(f"io.k8s.api.apps.v1.{kind}", schemas)
            self.assertIn(f"io.k8s.api.apps.v1.{kind}", definitions)
        self.assertEqual(self.raw("GET", "/version")["major"], "1")

    # API-02
    def test_bodies_in_json_yaml_and_protobuf_and_every_patch(self):
        place = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self.raw("POST", place, config_map("json", a="1"))
        self.text("POST", place, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: '1'}\n", content="application/yaml")
        binary = self.text("GET", f"{place}/json", accept=PROTOBUF)
        self.assertTrue(binary.startswith("k8s\0"), binary[:20])
        again = self.text("PUT", f"{place}/json", binary, content=PROTOBUF, accept="application/json")
        self.assertEqual(json.loads(again)["data"], {"a": "1"})
        self.assertIn("kind: ConfigMap", self.text("GET", f"{place}/yaml", accept="application/yaml"))

        self.patch(f"{place}/yaml", {"data": {"b": "2"}})
        self.patch(f"{place}/yaml", {"metadata": {"finalizers": ["porthole.test/a"]}}, "strategic-merge-patch")
        self.patch(f"{place}/yaml", {"metadata": {"finalizers": ["porthole.test/b"]}}, "strategic-merge-patch")
        self.patch(f"{place}/yaml", [{"op": "remove", "path": "/data/a"}], "json-patch")
        found = self.raw("GET", f"{place}/yaml")
        self.assertEqual((found["data"], sorted(found["metadata"]["finalizers"])), ({"b": "2"}, ["porthole.test/a", "porthole.test/b"]))
        self.patch(f"{place}/yaml", {"metadata": {"finalizers": None}})
        applied = self.text("PATCH", f"{place}/yaml?fieldManager=surface&force=true", json.dumps(config_map("yaml", c="3")),
                            content="application/apply-patch+yaml")
        self.assertEqual(json.loads(applied)["data"], {"b": "2", "c": "3"})
        managers = {entry["manager"]: entry["operation"] for entry in json.loads(applied)["metadata"]["managedFields"]}
        self.assertEqual(managers["surface"], "Apply")

    # API-02
    def test_lists_watches_selectors_tables_and_subresources(self):
        place = f"/api/v1/namespaces/{self.namespace}"
        for name in ("one", "two"):
            self.raw("POST", f"{place}/pods", pod(name, labels={"app": name}, schedulingGates=[{"name": "porthole.test/never"}]))
        names = lambda query: [item["metadata"]["name"] for item in self.raw("GET", f"{place}/pods?{query}")["items"]]
        self.assertEqual(names("labelSelector=app%20in%20(two,three)"), ["two"])
        self.assertEqual(names("fieldSelector=metadata.name%3Done"), ["one"])
        version = self.raw("GET", f"{place}/pods")["metadata"]["resourceVersion"]
        self.raw("POST", f"{place}/configmaps", config_map("later", a="1"))
        self.patch(f"{place}/pods/one", {"metadata": {"labels": {"x": "y"}}})
        events = self.watched(f"{place}/pods?watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=3")
        self.assertEqual((events[0]["type"], events[0]["object"]["metadata"]["name"]), ("MODIFIED", "one"))
        self.assertEqual(events[-1]["type"], "BOOKMARK")
        self.assertGreater(int(events[-1]["object"]["metadata"]["resourceVersion"]), int(version))
        table = self.raw("GET", f"{place}/pods", accept="application/json;as=Table;g=meta.k8s.io;v=v1")
        self.assertEqual(table["kind"], "Table")
        self.assertEqual([column["name"] for column in table["columnDefinitions"]][:4], ["Name", "Ready", "Status", "Restarts"])
        self.assertEqual(sorted(row["cells"][0] for row in table["rows"]), ["one", "two"])
        served = {resource["name"] for resource in self.raw("GET", "/api/v1")["resources"]}
        self.assertLessEqual({"pods/log", "pods/exec", "pods/attach", "pods/portforward", "pods/eviction", "pods/binding", "pods/status",
                              "pods/ephemeralcontainers", "serviceaccounts/token", "replicationcontrollers/scale"}, served)

    # API-11
    def test_certificates_account_tokens_and_bootstrap_tokens_say_who_one_is(self):
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        who = lambda token=None: self.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, token=token)["status"]["userInfo"]
        self.assertIn("system:masters", who()["groups"])
        token = self.raw("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default/token",
                         body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
        self.assertEqual(who(token)["username"], f"system:serviceaccount:{self.namespace}:default")
        bootstrap = self.cluster.porthole("token", "create").stdout.split()[0]
        joining = who(bootstrap)
        self.assertEqual(joining["username"], "system:bootstrap:" + bootstrap.split(".")[0])
        self.assertIn("system:bootstrappers", joining["groups"])
        wrong = bootstrap[:-1] + ("a" if bootstrap[-1] != "a" else "b")
        self.assertEqual(self.raw("GET", "/api/v1/pods", token=wrong)["code"], 401)

    # API-11
    def test_nothing_is_served_without_tls(self):
        script = ("import http.client, sys\n"
                  "connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=10)\n"
                  "try:\n"
                  "    connection.request('GET', '/version'); print(connection.getresponse().status)\n"
                  "except (http.client.HTTPException, OSError):\n"
                  "    print('refused')\n")
        address = self.kubectl("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}", namespaced=False)
        host, port = address.removeprefix("https://").rsplit(":", 1)
        told = run(self.cluster.network.inside([sys.executable, "-c", script, host, port])).stdout.strip()
        self.assertIn(told, ("refused", "400"))

    # API-12
    def test_rights_come_from_roles_and_a_node_has_those_of_its_pods_alone(self):
        roles = {role["metadata"]["name"] for role in self.raw("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]}
        self.assertLessEqual({"cluster-admin", "admin", "edit", "view", "system:node", "system:kube-scheduler", "system:discovery",
                              "system:basic-user", "system:node-bootstrapper"}, roles)
        self.raw("POST", f"/api/v1/namespaces/{self.namespace}/secrets",
                 body={"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}, "stringData": {"a": "1"}})
        robot = f"--as=system:serviceaccount:{self.namespace}:default"
        may = lambda *words: self.kubectl_run("auth", "can-i", *words, check=False).stdout.strip() == "yes"
        self.assertFalse(may("get", "pods", robot))
        self.kubectl("create", "rolebinding", "reads", "--clusterrole=view", f"--serviceaccount={self.namespace}:default")
        eventually(lambda: may("get", "pods", robot), 10, "the binding counts")
        self.assertFalse(may("get", "secrets", robot), "view shows no secrets")

        node = self.cluster.data / "nodes/linux-2/kubeconfig"
        own = lambda *words: run(self.cluster.kubectl_command(NEWEST_CLIENT, "--kubeconfig", node, *words), env=self.cluster.environment(), check=False)
        self.assertIn("linux-2", own("get", "node", "linux-2").stdout)
        secret = own("get", "secret", "hidden", "-n", self.namespace).stderr
        self.assertIn("no relationship found between node 'linux-2' and this object", secret)
        labelled = own("label", "node", "linux-1", "mine=yes").stderr
        self.assertIn("is not allowed to modify node", labelled)
        self.assertIn("cannot create resource", own("create", "configmap", "x", "-n", self.namespace).stderr)


if __name__ == "__main__":
    unittest.main()
