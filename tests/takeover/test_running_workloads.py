"""Pods run on while their control plane, upstream's, is replaced by `porthole server` on the same etcd, and while that is replaced by upstream's."""

import json
import os
import pathlib
import unittest

from kubeadm_cluster import DOMAIN, READY, KubeadmCluster  # first: it completes the path
from comparison import added, objects, resources, unexpected
from control_plane import VERSIONS
from harness import eventually, run

WORKLOADS = pathlib.Path(__file__).with_name("workloads.yaml")
LEADERS = ("kube-controller-manager", "kube-scheduler")
STARTED = 180  # seconds for all pods; their images are unpacked
# What is expected to differ in a cluster that works, in addition to KNOWN of comparison.py.
EXPECTED = {
    r"/leases/": "renewed all the time",
    r"/nodes//[^:]*(status|managedFields|resourceVersion)": "heartbeats",
    r"/(endpoints|endpointslices)/default/kubernetes\.metadata\.(generation|managedFields|resourceVersion)": "the server that ends leaves, the other enters",
    r"configmaps/kube-public/cluster-info\.(data\.(cluster(Cidr|Dns|Domain)|podNetworkBackend|serviceCidr)|metadata)": "ours publishes the network there",
    r"configmaps/kube-system/extension-apiserver-authentication\.(data\.requestheader-uid-headers|metadata)": "ours forwards users' uids, too",
    r': (null|\[\]|"") became (null|\[\]|"")$': "nothing, in different words",
}
# What each side adds by itself.
ADDED = {
    r"/(clusterroles|clusterrolebindings|roles|rolebindings|serviceaccounts/kube-system)/": "of its components",
    r"/(events|leases)/": "what its components do",
    r"/(flowschemas//(endpoint-controller|workload-leader-election)|apiservices//v1beta1\.storagemigration\.k8s\.io)$": "defaults of ours",
    r"/storage\.k8s\.io/v1/(storageclasses//local|csidrivers//local\.porthole\.io|csistoragecapacities/kube-system/local-\w+)$": "local volumes of our nodes",
}


@unittest.skipUnless(os.geteuid() == 0, "a cluster on this machine needs root")
@unittest.skipUnless(VERSIONS["1.36"].exists(), "upstream's control plane is not built: ./run test takeover")
class RunningWorkloads(unittest.TestCase):
    def setUp(self):
        self.cluster = KubeadmCluster()
        self.addCleanup(self.cluster.stop)
        self.cluster.start()
        self.cluster.join_node()

    # --- what a person would look at

    def kubectl(self, *words, **options):
        return self.cluster.kubectl("-n", "shop", *words, **options).stdout

    def pods(self, app=""):
        words = ["-l", f"app={app}"] if app else []
        return [pod for pod in self.cluster.get("pods", "-n", "shop", *words)["items"] if "deletionTimestamp" not in pod["metadata"]]

    def containers(self, *apps):
        """Container ids of the pods that run, by pod; a restart would change them."""
        found = {}
        for pod in [pod for app in apps or [""] for pod in self.pods(app)]:
            if pod["status"]["phase"] == "Running":
                status = pod["status"]["containerStatuses"][0]
                found[pod["metadata"]["name"]] = status["containerID"]
                self.assertEqual(status["restartCount"], 0, pod["metadata"]["name"])
        return found

    def running_on_the_node(self):
        """Ids of the tasks that containerd runs, whatever the API says."""
        return set(run(self.cluster.node.ctr("tasks", "list", "--quiet")).stdout.split())

    def eventually(self, attempt, seconds, what):
        try:
            return eventually(attempt, seconds, what, interval=0.5)
        except AssertionError as error:
            events = self.cluster.kubectl("get", "pods,events", "-A", "-o", "wide", check=False).stdout
            raise AssertionError(f"{error}\n{events}\n{self.cluster.node.log_end()}\n{self.cluster.log_tails()}") from None

    # --- steps

    def create_workloads(self):
        self.kubectl("apply", "-f", WORKLOADS)
        self.roll_out_is_done("deployment/web", "statefulset/db", "daemonset/collector")
        self.eventually(lambda: len(self.containers()) == 7, STARTED, "web 2, db 2, collector, report and reader run")

    def roll_out_is_done(self, *workloads):
        for workload in workloads:
            self.eventually(lambda: "successfully" in (done := self.kubectl("rollout", "status", workload, "--timeout=10s", check=False)) or
                            "complete" in done, STARTED, f"{workload} is rolled out")

    def settled(self):
        """Every object, with the controllers stopped: nothing is written meanwhile but what a node writes."""
        return objects(self.cluster, self.paths)

    def roll_web(self, version):
        """A rolling update, which replaces the pods of web and no others."""
        before = self.containers("web")
        self.kubectl("set", "env", "deployment/web", f"VERSION={version}")
        self.roll_out_is_done("deployment/web")
        self.eventually(lambda: len(self.containers("web")) == 2, STARTED, "two pods of web")
        after = self.containers("web")
        self.assertFalse(set(before.values()) & set(after.values()))
        name = next(iter(after))
        self.assertEqual(self.kubectl("exec", name, "--", "sh", "-c", "echo $WORD $VERSION").split(), ["open-sesame", version])

    def scale_db(self, replicas):
        self.kubectl("scale", "statefulset/db", f"--replicas={replicas}")
        names = {f"db-{number}" for number in range(replicas)}
        self.eventually(lambda: set(self.containers("db")) == names, STARTED, f"{replicas} pods of db")

    def finish_report(self, succeeded):
        """The pod of the Job that runs ends, and is counted once."""
        name = next(iter(self.containers("report")))
        self.kubectl("exec", name, "--", "touch", "/tmp/done")
        self.eventually(lambda: self.cluster.get("job", "report", "-n", "shop")["status"].get("succeeded") == succeeded, READY,
                        f"{succeeded} of the Job's pods succeeded")

    def check_pods_are_reached(self):
        """exec, logs, the service by its name, and a token that a pod was given under the control plane before."""
        fetch = lambda: self.kubectl("exec", "reader", "--", "timeout", "15", "wget", "-qO-", f"http://web.shop.svc.{DOMAIN}/")
        self.eventually(lambda: fetch().startswith("web-"), READY, "the service answers")
        collector = next(iter(self.containers("collector")))
        self.assertIn("UTC", self.kubectl("logs", collector, "--tail=1"))
        token = self.kubectl("exec", "reader", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
        who = json.loads(self.kubectl("auth", "whoami", "-o", "json", f"--token={token}", "--kubeconfig", self.without_user()))
        self.assertEqual(who["status"]["userInfo"]["username"], "system:serviceaccount:shop:reader")

    def without_user(self):
        path = self.cluster.folder / "token.kubeconfig"
        view = json.loads(self.cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)
        view["users"] = [{"name": user["name"], "user": {}} for user in view["users"]]
        path.write_text(json.dumps(view))
        return path

    def check_same(self, before):
        after = self.settled()
        lines = unexpected(before, after, EXPECTED) + [f"{name} is new" for name in added(before, after, ADDED)]
        self.assertFalse(lines, "\n".join(lines))

    def change_hands(self, controllers, server, begin):
        """Ends one control plane and begins the other, which nothing that runs notices. What runs, by pod."""
        self.cluster.end(*controllers)
        objects_before, running, tasks = self.settled(), self.containers(), self.running_on_the_node()
        leaders = {name: self.cluster.leader(name) for name in LEADERS}
        self.cluster.end(server)
        begin()
        self.cluster.wait_for_node()
        for name, before in leaders.items():
            self.eventually(lambda: self.cluster.leader(name) not in ("", before), READY, f"{name} has another leader")
        self.check_pods_are_reached()
        self.check_same(objects_before)
        self.assertEqual(self.containers(), running)
        self.assertEqual(self.running_on_the_node(), tasks)
        return running

    def check_untouched(self, running, *apps):
        now = self.containers(*apps)
        self.assertEqual(now, {name: running[name] for name in now})

    # API-14
    def test_containers_go_on_there_and_back(self):
        self.create_workloads()
        self.check_pods_are_reached()
        self.paths = resources(self.cluster)

        running = self.change_hands(LEADERS, "kube-apiserver", self.cluster.start_ours)
        self.roll_web("ours")
        self.scale_db(3)
        self.finish_report(1)
        self.eventually(lambda: len(self.containers("report")) == 1, STARTED, "the Job's second pod runs")
        self.check_untouched(running, "collector", "reader")

        running = self.change_hands((), "porthole", self.cluster.start_upstream)
        self.roll_web("upstream")
        self.scale_db(1)
        self.finish_report(2)
        self.eventually(lambda: self.kubectl("wait", "--for=condition=complete", "job/report", "--timeout=5s", check=False), READY, "the Job is complete")
        self.check_untouched(running, "collector", "reader", "db")


if __name__ == "__main__":
    unittest.main()
