"""What a cluster's owner may demand of its users: budgets, quotas, rights, and identities."""

import base64
import json
import unittest

from harness import ClusterCase, needs_newest_kubectl
from manifests import container, pod, web_deployment


class Budgets(ClusterCase):
    def budget(self, name, app, **fields):
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
                "spec": {"selector": {"matchLabels": {"app": app}}, **fields}}

    def evict(self, name):
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self.namespace}}
        return self.kubectl_run("create", "--raw", f"/api/v1/namespaces/{self.namespace}/pods/{name}/eviction", "-f", "-",
                                stdin=json.dumps(body), check=False)

    def test_status_counts_and_evictions_keep_to_it(self):
        self.apply(web_deployment("web", replicas=2), self.budget("web", "web", minAvailable=1))
        self.wait_rolled_out("web")
        def counted():
            status = self.get("poddisruptionbudget", "web").get("status", {})
            return status if status.get("disruptionsAllowed") == 1 else None
        status = self.eventually(counted, 20, "one disruption is allowed")
        self.assertEqual((status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]), (2, 1, 2))

        self.kubectl("patch", "pdb", "web", "--type=merge", "-p", '{"spec":{"minAvailable":2}}')
        self.eventually(lambda: self.get("pdb", "web")["status"]["disruptionsAllowed"] == 0, 20, "none is allowed")
        name = self.pods("app=web")[0]["metadata"]["name"]
        refused = self.evict(name)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Cannot evict pod as it would violate the pod's disruption budget", refused.stderr)
        self.assertIn(name, [found["metadata"]["name"] for found in self.pods("app=web")])

        self.kubectl("patch", "pdb", "web", "--type=merge", "-p", '{"spec":{"minAvailable":1}}')
        self.eventually(lambda: self.get("pdb", "web")["status"]["disruptionsAllowed"] == 1, 20, "one is allowed again")
        self.assertEqual(self.evict(name).returncode, 0)
        self.eventually(lambda: name not in [found["metadata"]["name"] for found in self.pods("app=web")], 20, "it goes")


class Quotas(ClusterCase):
    def test_counts_what_there_is_and_refuses_what_is_too_much(self):
        self.kubectl("create", "quota", "small", "--hard=pods=2,requests.cpu=150m,configmaps=3")
        self.eventually(lambda: "pods" in self.get("quota", "small").get("status", {}).get("used", {}), 20, "it is counted")
        measured = container(resources={"requests": {"cpu": "100m"}})
        self.create(pod("first", measured))
        self.eventually(lambda: self.get("quota", "small")["status"]["used"]["requests.cpu"] == "100m", 20, "the pod is counted")

        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(pod("second", measured)))
        self.assertIn("exceeded quota: small, requested: requests.cpu=100m, used: requests.cpu=100m, limited: requests.cpu=150m", error)
        self.assertIn("must specify requests.cpu", self.kubectl_fails("create", "-f", "-", stdin=json.dumps(pod("second"))))
        self.assertIsNone(self.try_get("pod", "second"))

        self.kubectl("delete", "pod", "first", "--grace-period=1")
        self.eventually(lambda: self.get("quota", "small")["status"]["used"]["requests.cpu"] == "0", 30, "it is counted out again")
        self.create(pod("second", measured))

    def test_controllers_are_told_why_their_pods_are_missing(self):
        self.kubectl("create", "quota", "one", "--hard=pods=1")
        self.eventually(lambda: "pods" in self.get("quota", "one").get("status", {}).get("used", {}), 20, "it is counted")
        self.apply(web_deployment("web", replicas=3))
        self.wait_event("FailedCreate", "exceeded quota: one")
        self.eventually(lambda: self.get("quota", "one")["status"]["used"]["pods"] == "1", 20, "one is used")
        self.assertEqual(len(self.pods("app=web")), 1)


class PodSecurity(ClusterCase):
    def label(self, **modes):
        words = [f"pod-security.kubernetes.io/{mode}={level}" for mode, level in modes.items()]
        return self.kubectl_run("label", "--overwrite", "namespace", self.namespace, *words, namespaced=False).stderr

    def test_namespace_refuses_pods_below_its_standard(self):
        self.label(enforce="baseline")
        error = self.kubectl_fails("create", "-f", "-", stdin=json.dumps(pod("p", container(securityContext={"privileged": True}))))
        self.assertIn('pods "p" is forbidden: violates PodSecurity "baseline:latest": privileged '
                      '(container "main" must not set securityContext.privileged=true)', error)
        self.create(pod("p"))

    def test_workloads_are_warned_of_and_told_by_events(self):
        self.label(enforce="restricted", warn="restricted")
        done = self.kubectl_run("create", "-f", "-", stdin=json.dumps(web_deployment("web")))
        self.assertIn('Warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false', done.stderr)
        self.wait_event("FailedCreate", 'violates PodSecurity "restricted:latest"')

    def test_tightening_tells_of_the_pods_that_are_there(self):
        self.create(pod("old"))
        said = self.label(enforce="restricted")
        self.assertIn(f'existing pods in namespace "{self.namespace}" violate the new PodSecurity enforce level "restricted:latest"', said)
        self.assertIn("old: ", said)


class Rights(ClusterCase):
    def can(self, user, verb, what):
        return self.kubectl_run("auth", "can-i", verb, what, f"--as={user}", check=False).stdout.strip() == "yes"

    def test_edit_and_view_hold_what_was_aggregated_to_them(self):
        name = self.namespace + "-capacities"
        self.kubectl("create", "-f", "-", namespaced=False, stdin=json.dumps(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
             "metadata": {"name": name, "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
             "rules": [{"apiGroups": ["storage.k8s.io"], "resources": ["csistoragecapacities"], "verbs": ["create"]}]}))
        self.addCleanup(self.kubectl_run, "delete", "clusterrole", name, "--wait=false", namespaced=False, check=False)
        for role in ("admin", "edit", "view"):
            self.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}-user")
        capacities = "csistoragecapacities.storage.k8s.io"
        self.eventually(lambda: self.can("edit-user", "create", capacities), 20, "edit has the new rule")
        self.eventually(lambda: self.can("admin-user", "create", capacities), 20, "admin holds edit, which is aggregated first")
        self.assertFalse(self.can("view-user", "create", capacities))
        self.assertTrue(self.can("view-user", "list", "pods"))
        self.assertFalse(self.can("view-user", "get", "secrets"))
        self.assertTrue(self.can("edit-user", "delete", "deployments.apps"))
        self.assertFalse(self.can("edit-user", "create", "rolebindings.rbac.authorization.k8s.io"))
        self.assertTrue(self.can("admin-user", "create", "rolebindings.rbac.authorization.k8s.io"))

    def test_nobody_gives_away_what_they_may_not_do(self):
        self.kubectl("create", "rolebinding", "admin", "--clusterrole=admin", "--user=some-admin")
        error = self.kubectl_fails("create", "clusterrolebinding", self.namespace, "--clusterrole=cluster-admin", "--user=x", "--as=some-admin")
        self.assertIn("forbidden", error)
        error = self.kubectl_fails("create", "rolebinding", "more", "--clusterrole=cluster-admin", "--user=x", "--as=some-admin")
        self.assertIn("attempting to grant RBAC permissions not currently held", error)

    @needs_newest_kubectl
    def test_acting_as_another_is_a_right_of_its_own(self):
        self.kubectl("create", "rolebinding", "view", "--clusterrole=view", "--user=reader")
        self.assertIn("No resources found", self.kubectl_run("get", "pods", "--as=reader").stderr)
        error = self.kubectl_fails("get", "secrets", "--as=reader")
        self.assertIn('User "reader" cannot list resource "secrets"', error)
        who = json.loads(self.kubectl("auth", "whoami", "-o", "json", "--as=reader", "--as-group=readers", namespaced=False))["status"]["userInfo"]
        self.assertEqual((who["username"], "readers" in who["groups"]), ("reader", True))
        token = self.kubectl("create", "token", "default").strip()
        status = self.raw_as(token, "GET", f"/api/v1/namespaces/{self.namespace}/pods", ("Impersonate-User", "reader"))
        self.assertEqual(status["code"], 403)
        self.assertIn('cannot impersonate resource "users"', status["message"])

    def raw_as(self, token, method, path, header=None):
        more = ["--header", f"{header[0]}: {header[1]}"] if header else []
        return self.cluster.raw(method, path, "--token", token, *more)

    def test_token_secret_is_filled_works_and_goes_with_its_account(self):
        self.kubectl("create", "serviceaccount", "robot")
        self.kubectl("create", "rolebinding", "robot", "--clusterrole=view", f"--serviceaccount={self.namespace}:robot")
        self.create({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                     "metadata": {"name": "robot-token", "annotations": {"kubernetes.io/service-account.name": "robot"}}})
        data = self.eventually(lambda: (self.get("secret", "robot-token").get("data") or {}) if "token" in (self.get("secret", "robot-token").get("data") or {}) else None,
                               20, "the token is there")
        self.assertEqual(base64.b64decode(data["namespace"]).decode(), self.namespace)
        self.assertIn("BEGIN CERTIFICATE", base64.b64decode(data["ca.crt"]).decode())
        token = base64.b64decode(data["token"]).decode()
        self.assertEqual(self.raw_as(token, "GET", f"/api/v1/namespaces/{self.namespace}/pods")["kind"], "PodList")
        self.kubectl("delete", "serviceaccount", "robot")
        self.eventually(lambda: self.try_get("secret", "robot-token") is None, 30, "the secret is gone")
        self.assertEqual(self.raw_as(token, "GET", f"/api/v1/namespaces/{self.namespace}/pods")["code"], 401)


if __name__ == "__main__":
    unittest.main()
