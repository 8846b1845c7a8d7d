"""Controllers, names and the node itself, as Windows pods and kubectl see them. Emulated hosts; agents under Wine."""

import json
import shutil
import unittest

from harness import PORTHOLE, ROOT, condition, control_groups, run, slow
from manifests import container, deployment, pod, service
from test_windows_node import IMAGE, WINDOWS, WindowsPodCase, web_server, windows_pod

import windows_probe  # the harness knows where

FETCH = "C:\\web\\fetch.exe"


def template(name, container=None, **fields):
    made = web_server(name)
    made["spec"]["containers"][0] |= container or {}
    return {"metadata": {"labels": {"app": name}}, "spec": made["spec"] | fields}


def workload(kind, name, version="apps/v1", **spec):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


class Controllers(WindowsPodCase):
    def ready_pods(self, selector, count, seconds=90):
        def ready():
            found = [pod for pod in self.pods(selector) if condition(pod, "Ready") == "True"]
            return found if len(found) == count else None
        return self.eventually(ready, seconds, f"{count} pods of {selector} are ready")

    # WKL-01, WKL-02
    @slow
    def test_deployment_rolls_and_goes_back(self):
        labels = {"matchLabels": {"app": "web"}}
        self.create(workload("Deployment", "web", replicas=2, selector=labels, template=template("web")))
        self.wait_rolled_out("web", 120)
        self.kubectl("set", "env", "deployment/web", "COLOUR=green")
        self.wait_rolled_out("web", 120)
        # A pod of the other version that is still ending may be the one that kubectl picks first.
        self.eventually(lambda: "COLOUR=green" in self.exec("deploy/web", "cmd", "/c", "set"), 30, "the new version answers")
        self.kubectl("rollout", "undo", "deployment/web")
        self.wait_rolled_out("web", 120)
        self.eventually(lambda: "COLOUR=green" not in self.exec("deploy/web", "cmd", "/c", "set"), 30, "the old version answers")
        self.kubectl("scale", "deployment/web", "--replicas=3")
        self.ready_pods("app=web", 3)

    def assert_followed(self, first, second):
        """The second pod was made when the first one was ready."""
        first, second = (self.get("pod", name) for name in (first, second))
        ready = next(one["lastTransitionTime"] for one in first["status"]["conditions"] if one["type"] == "Ready")
        self.assertLessEqual(ready, second["metadata"]["creationTimestamp"])

    # WKL-03
    def test_stateful_set_gives_stable_names_in_order(self):
        self.apply(service("db", {"app": "db"}, clusterIP="None", target=80),
                   workload("StatefulSet", "db", serviceName="db", replicas=2, selector={"matchLabels": {"app": "db"}}, template=template("db")))
        self.ready_pods("app=db", 2)
        self.assert_followed("db-0", "db-1")
        self.assertIn("db-1", self.answers(lambda url: self.exec("db-0", FETCH, url), f"http://db-1.db.{self.namespace}.svc.cluster.local/"))
        self.kubectl("set", "env", "statefulset/db", "COLOUR=green")
        self.kubectl("rollout", "status", "statefulset/db", "--timeout=180s", seconds=190)
        self.assert_followed("db-1", "db-0")
        self.assertIn("COLOUR=green", self.exec("db-0", "cmd", "/c", "set"))
        self.assertIn("db-0", self.answers(lambda url: self.exec("db-1", FETCH, url), f"http://db-0.db.{self.namespace}.svc.cluster.local/"))

    # WKL-05
    def test_job_counts_exit_codes(self):
        spec = windows_pod("sum", ["cmd", "/c", "exit 0"])["spec"] | {"restartPolicy": "Never"}
        self.apply(workload("Job", "sum", "batch/v1", completions=2, parallelism=2, template={"spec": spec}))
        self.eventually(lambda: self.get("job", "sum")["status"].get("succeeded") == 2, 90, "two completions")

    def job(self, name, script, restart="Never", **fields):
        """A Job whose pods run a script of cmd on an emulated host."""
        spec = windows_pod(name, ["cmd", "/c", script])["spec"] | {"restartPolicy": restart, "terminationGracePeriodSeconds": 1}
        self.apply(workload("Job", name, "batch/v1", template={"spec": spec}, **fields))

    def failure(self, name):
        """The condition of a Job that has failed."""
        self.kubectl("wait", "--for=condition=failed", f"job/{name}", "--timeout=120s", seconds=130)
        return next(one for one in self.get("job", name)["status"]["conditions"] if one["type"] == "Failed")

    def exit_codes(self, name):
        """Of the pods of a Job that have ended."""
        states = [pod["status"]["containerStatuses"][0]["state"] for pod in self.list("pods", f"job-name={name}") if "containerStatuses" in pod["status"]]
        return [state["terminated"]["exitCode"] for state in states if "terminated" in state]

    # WKL-05
    def test_job_gives_up_after_its_back_off_limit(self):
        self.job("hopeless", "exit 3", backoffLimit=1)
        self.assertEqual(self.failure("hopeless")["reason"], "BackoffLimitExceeded")
        self.assertEqual(self.get("job", "hopeless")["status"]["failed"], 2)
        self.assertEqual(self.exit_codes("hopeless"), [3, 3])

    # WKL-05, POD-15
    def test_job_decides_by_exit_codes_of_windows_what_is_final(self):
        crashed = -1073741819  # 0xC0000005, an access violation
        self.job("crashes", f"exit {crashed}", backoffLimit=5, podFailurePolicy={"rules": [
            {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [crashed]}}]})
        failure = self.failure("crashes")
        self.assertEqual(failure["reason"], "PodFailurePolicy")
        self.assertIn(f"failed with exit code {crashed} matching FailJob rule at index 0", failure["message"])
        self.assertEqual(self.exit_codes("crashes"), [crashed])

    # WKL-05
    def test_job_does_not_count_failures_that_its_policy_ignores(self):
        self.job("patient", "exit 42", backoffLimit=0, podFailurePolicy={"rules": [
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}]})
        self.eventually(lambda: self.exit_codes("patient")[:2] == [42, 42], 90, "another pod follows the first")
        status = self.get("job", "patient")["status"]
        self.assertEqual((status.get("failed", 0), [one["type"] for one in status.get("conditions", [])]), (0, []))

    # WKL-05
    def test_job_restarts_the_container_in_its_pod_until_it_succeeds(self):
        volume = {"name": "memory", "emptyDir": {}}
        spec = windows_pod("again", ["cmd", "/c", "if exist C:\\memory\\tried (exit 0) else (echo x > C:\\memory\\tried & exit 7)"], container_fields={
            "image": IMAGE, "volumeMounts": [{"name": "memory", "mountPath": "C:\\memory"}]}, volumes=[volume])["spec"]
        self.apply(workload("Job", "again", "batch/v1", backoffLimit=3, template={"spec": spec | {"restartPolicy": "OnFailure"}}))
        self.kubectl("wait", "--for=condition=complete", "job/again", "--timeout=120s", seconds=130)
        made = self.list("pods", "job-name=again")
        self.assertEqual(len(made), 1, "the pod is the same")
        status = made[0]["status"]["containerStatuses"][0]
        self.assertEqual((status["restartCount"], status["lastState"]["terminated"]["exitCode"]), (1, 7))

    # WKL-06
    @slow
    def test_cron_job_makes_windows_jobs(self):
        ticking = windows_pod("x", ["cmd", "/c", "echo tick"], container_fields={"image": IMAGE})["spec"] | {"restartPolicy": "Never"}
        self.apply({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
                    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": ticking}}}}})
        self.eventually(lambda: self.get("cronjob", "tick").get("status", {}).get("lastSuccessfulTime"), 150, "a job has run")
        job = next(one for one in self.list("jobs") if one["status"].get("succeeded"))["metadata"]
        self.assertRegex(job["name"], r"^tick-\d+$")
        made = next(pod for pod in self.list("pods") if pod["metadata"]["labels"]["job-name"] == job["name"])
        self.assertTrue(made["spec"]["nodeName"].startswith("windows-"))
        self.assertIn("tick", self.kubectl("logs", made["metadata"]["name"]))

    # WKL-07
    def test_replication_controller(self):
        self.apply({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"},
                    "spec": {"replicas": 1, "selector": {"app": "old"}, "template": template("old")}})
        self.ready_pods("app=old", 1)


    def join_late(self):
        """A third emulated host, joined by the line that the server prints, on the bridge of the others. Its node's name."""
        cluster = self.cluster
        line = cluster.porthole("token", "create", "--print-join-command").stdout.split()
        data = cluster.folder / "late"
        self.addCleanup(self.kubectl_run, "delete", "node", "late-windows-1", namespaced=False, check=False)
        leave = cluster.network.inside([PORTHOLE, "winnode", "leave", "--data", data])
        self.addCleanup(run, leave, seconds=60, env=cluster.environment(), check=False)
        run(cluster.network.inside([PORTHOLE, "winnode", "join", *line[2:], "--prefix", "late-", "--bridge", f"switch@porthole-{cluster.id}-switch", "--node-cidr",
                                    "10.89.0.0/24", "--first-host", "40", "--detach", "--data", data]), seconds=180, env=cluster.environment())

        def states():
            """By the node's own certificate, from its drive: the cluster is not one of that data directory."""
            status = run(cluster.network.inside([PORTHOLE, "status", "--data", data, "-o", "json"]), env=cluster.environment(), check=False)
            return [(node["name"], node["status"]) for node in json.loads(status.stdout)["nodes"]]
        self.eventually(lambda: states() == [("late-windows-1", "Ready")], 60, "the status of the node")
        return "late-windows-1"

    # WKL-04
    def test_daemon_set_covers_windows_nodes_and_those_that_join_later(self):
        self.kubectl("create", "-f", ROOT / "samples/daemon-set.yaml")
        placed = lambda pods: sorted(pod["spec"]["nodeName"] for pod in pods)
        self.assertEqual(placed(self.ready_pods("app=win-web-everywhere", 2)), ["windows-1", "windows-2"])
        late = self.join_late()
        self.assertEqual(placed(self.ready_pods("app=win-web-everywhere", 3, 120)), [late, "windows-1", "windows-2"])
        address = next(pod["status"]["podIP"] for pod in self.pods("app=win-web-everywhere") if pod["spec"]["nodeName"] == late)
        self.answers(self.linux_client(), f"http://{address}/")

    # WKL-09
    def test_sample_of_one_manifest_is_seen_with_its_nodes(self):
        self.kubectl("apply", "-f", ROOT / "samples/web.yaml")
        self.wait_rolled_out("win-web", 120)
        table = self.kubectl("get", "pods", "-o", "wide").splitlines()
        self.assertEqual(len(table), 3, table)
        for line in table[1:]:
            self.assertRegex(line, r"^win-web-\S+ +1/1 +Running +0 +\S+ +10\.244\.\S+ +windows-[12] ")
        self.assertRegex(self.kubectl("get", "service", "win-web"), r"win-web +ClusterIP +10\.\S+ +<none> +80/TCP")

    # WKL-10
    def test_sample_with_limits_and_node_port(self):
        self.kubectl("create", "-f", ROOT / "samples/node-port.yaml")
        self.wait_rolled_out("iis", 120)
        found = self.ready_pods("app=iis", 1)[0]
        limits = found["spec"]["containers"][0]["resources"]["limits"]
        self.assertEqual((limits["memory"], limits["cpu"]), ("128Mi", "2"))
        port = self.get("service", "iis")["spec"]["ports"][0]
        self.assertEqual((port["port"], port["targetPort"]), (80, 80))
        address = next(entry["address"] for entry in self.get("node", "linux-1", namespaced=False)["status"]["addresses"]
                       if entry["type"] == "InternalIP")
        self.assertIn("host: iis", self.answers(self.fetch_from_node, f"http://{address}:{port['nodePort']}/").lower())

    # WKL-11
    def test_bare_pod_in_json(self):
        self.kubectl("create", "-f", ROOT / "samples/pod.json")
        found = self.wait_ready("win-web-pod")
        self.assertTrue(found["spec"]["nodeName"].startswith("windows-"))

    # WKL-12, API-18
    @slow
    def test_pods_of_a_failed_node_come_back_on_windows(self):
        soon = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
                for key in ("not-ready", "unreachable")]
        self.create(workload("Deployment", "web", replicas=1, selector={"matchLabels": {"app": "web"}}, template=template("web", tolerations=soon)))
        self.apply(service("web", {"app": "web"}))
        first = self.ready_pods("app=web", 1)[0]
        lost = first["spec"]["nodeName"]
        other = {"windows-1": "windows-2", "windows-2": "windows-1"}[lost]
        self.addCleanup(self.wait_node_ready, lost)
        self.addCleanup(self.on_host, lost, "sc", "start", "kubelet")
        self.on_host(lost, "sc", "stop", "kubelet")
        taints = lambda: {taint["key"]: taint["effect"] for taint in self.get("node", lost, namespaced=False)["spec"].get("taints", [])
                          if taint["effect"] == "NoExecute"}
        self.eventually(lambda: taints() == {"node.kubernetes.io/unreachable": "NoExecute"}, 120, f"{lost} has its taint")

        def moved():
            found = [pod for pod in self.pods("app=web") if condition(pod, "Ready") == "True"]
            return found and found[0]["spec"]["nodeName"]
        self.eventually(lambda: moved() == other, 150, f"a pod on {other}")
        self.assertFalse([pod for pod in self.list("pods", "app=web") if pod["spec"].get("nodeName") == "linux-1"])
        ready = lambda: {address for one in self.list("endpointslices", "kubernetes.io/service-name=web") for endpoint in one.get("endpoints") or []
                         if endpoint["conditions"].get("ready") for address in endpoint["addresses"]}
        self.eventually(lambda: ready() and first["status"]["podIP"] not in ready(), 30, "the lost pod is no endpoint any more")

    def on_host(self, host, *command):
        """A program of the emulated host itself."""
        words = [PORTHOLE, "winhost", "exec", "--data", self.cluster.data / "nodes" / host, "--", *command]
        return run(self.cluster.network.inside(words), env=self.cluster.environment(), check=False)

    def wait_node_ready(self, name):
        self.eventually(lambda: condition(self.get("node", name, namespaced=False), "Ready") == "True", 60, f"{name} is ready again")


class Placement(WindowsPodCase):
    alone = True  # it fills nodes that other tests name in their pods

    def node(self, name):
        return self.get("node", name, namespaced=False)

    def amounts(self, name):
        """Capacity and allocatable memory of a node, in bytes."""
        status = self.node(name)["status"]
        return [memory_bytes(status[field]["memory"]) for field in ("capacity", "allocatable")]

    def bound(self, name, host, resources):
        """A pod for one node, of either system."""
        made = windows_pod(name, container_fields={"resources": resources}) if host.startswith("windows") else pod(
            name, container(resources=resources))
        made["spec"]["nodeSelector"] = {"kubernetes.io/os": host.split("-")[0], "kubernetes.io/hostname": host}
        return made

    # SCH-09
    def test_full_nodes_get_no_more_pods(self):
        for host in ("linux-1", "windows-1"):
            memory = self.amounts(host)[1]
            self.apply(self.bound("first-" + host, host, {"requests": {"memory": str(memory * 6 // 10)}}))
            self.wait_phase("first-" + host, "Running", seconds=90)
            self.apply(self.bound("second-" + host, host, {"limits": {"memory": str(memory * 5 // 10)}}))
            self.eventually(lambda: "Insufficient memory" in scheduling_message(self.get("pod", "second-" + host)), 30, "it waits")
            self.kubectl("delete", "pod", "first-" + host, "--timeout=60s")
            self.eventually(lambda: self.get("pod", "second-" + host)["spec"].get("nodeName") == host, 30, "there is room")

    # SCH-10, KBL-17
    def test_reservations_of_a_windows_node_steer_the_scheduler(self):
        capacity, allocatable = self.amounts("windows-1")
        self.assertGreaterEqual(capacity - allocatable, 2 << 30)
        self.apply(self.bound("large", "windows-1", {"requests": {"memory": str((capacity + allocatable) // 2)}}))
        self.eventually(lambda: "Insufficient memory" in scheduling_message(self.get("pod", "large")), 30, "it waits")

    # SCH-15
    def test_a_node_says_how_many_pods_it_takes(self):
        for host in ("linux-1", "windows-1"):
            status = self.node(host)["status"]
            self.assertEqual((status["capacity"]["pods"], status["allocatable"]["pods"]), ("110", "110"))
            self.assertGreaterEqual(2 ** (32 - int(self.node(host)["spec"]["podCIDR"].split("/")[1])), 110)

    # SCH-04
    def test_labels_of_the_system_stay_true(self):
        label = lambda key: self.node("windows-2")["metadata"]["labels"].get(key)
        self.kubectl("label", "node", "windows-2", "kubernetes.io/os=linux", "kubernetes.io/arch-", "--overwrite", namespaced=False)
        self.eventually(lambda: (label("kubernetes.io/os"), label("kubernetes.io/arch")) == ("windows", "amd64"), 20, "the kubelet corrects them")

    def taint_windows(self):
        for host in ("windows-1", "windows-2"):
            self.kubectl("taint", "node", host, "os=windows:NoSchedule", namespaced=False)
            self.addCleanup(self.kubectl_run, "taint", "node", host, "os-", namespaced=False, check=False)

    # SCH-11
    def test_runtime_class_bundles_system_build_and_toleration(self):
        self.taint_windows()
        self.kubectl("create", "-f", "-", namespaced=False, stdin=json.dumps({
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": self.namespace}, "handler": "runhcs-wcow-process",
            "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"},
                           "tolerations": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]}}))
        self.addCleanup(self.kubectl_run, "delete", "runtimeclass", self.namespace, namespaced=False, check=False)
        classed = web_server("classed", runtimeClassName=self.namespace)
        classed["spec"].pop("nodeSelector")
        self.apply(classed)
        self.assertTrue(self.wait_ready("classed")["spec"]["nodeName"].startswith("windows-"))

    # SCH-12
    def test_taints_keep_linux_only_charts_away(self):
        self.taint_windows()
        everywhere = deployment("agent", 1, container())
        everywhere["kind"] = "DaemonSet"
        everywhere["spec"].pop("replicas")
        self.kubectl("create", "-f", "-", stdin=json.dumps(everywhere), warnings=True)
        self.eventually(lambda: self.get("daemonset", "agent")["status"].get("numberReady") == 1, 60, "one pod")
        self.assertEqual([pod["spec"]["nodeName"] for pod in self.pods("app=agent")], ["linux-1"])

    # SCH-12
    def test_what_is_shipped_says_its_system(self):
        for sample in sorted((ROOT / "samples").glob("*.yaml")) + [ROOT / "samples/pod.json"]:
            if sample.name == "kustomization.yaml":
                continue
            made = self.kubectl("create", "--dry-run=server", "-o", "json", "-f", sample, warnings=sample.name == "hyper-v.yaml")
            for spec in pod_specs(made):
                self.assertEqual(spec["nodeSelector"]["kubernetes.io/os"], spec["os"]["name"], sample)


def pod_specs(printed):
    """Of what kubectl printed: one object after another."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(printed.rstrip()):
        made, at = decoder.raw_decode(printed, at)
        at += len(printed[at:]) - len(printed[at:].lstrip())
        for one in made.get("items", [made]):
            spec = one["spec"].get("template", {}).get("spec") or one["spec"] if "spec" in one else {}
            if "containers" in spec:
                yield spec


def scheduling_message(pod):
    return next((entry.get("message", "") for entry in pod["status"].get("conditions", []) if entry["type"] == "PodScheduled"), "")


def memory_bytes(text):
    units = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
    return int(text[:-2]) * units[text[-2:]] if text[-2:] in units else int(text)


class Names(WindowsPodCase):
    # DNS-02, DNS-03, DNS-04, DNS-05, LIM-23
    def test_full_and_bare_names_resolve_and_no_form_between(self):
        self.apply(web_server("web"), service("web", {"app": "web"}, target=80), web_server("client"))
        self.wait_ready("web")
        self.wait_ready("client")
        for name in ("web", f"web.{self.namespace}.svc.cluster.local"):
            self.answers(lambda url: self.exec("client", FETCH, url), f"http://{name}/")
        for name in (f"web.{self.namespace}", f"web.{self.namespace}.svc"):
            done = self.kubectl_run("exec", "client", "--", FETCH, f"http://{name}/", check=False)
            self.assertIn("cannot resolve", done.stderr + done.stdout, name)

    # DNS-06
    def test_linux_pods_have_the_whole_search_list(self):
        self.apply(pod("client", nodeSelector={"kubernetes.io/os": "linux"}))
        self.wait_ready("client")
        text = self.exec("client", "cat", "/etc/resolv.conf")
        self.assertIn(f"search {self.namespace}.svc.cluster.local svc.cluster.local cluster.local", text)
        self.assertIn("ndots:5", text)


class Node(WindowsPodCase):
    # KBL-22
    @slow
    def test_statistics_of_node_and_pods(self):
        self.apply(web_server("web", nodeName="windows-1"))
        self.wait_ready("web")

        def summary():
            found = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))
            ours = [entry for entry in found["pods"] if entry["podRef"]["namespace"] == self.namespace]
            main = ours[0]["containers"][0]
            complete = main["memory"]["workingSetBytes"] and {"logs", "rootfs"} <= main.keys() and "rxBytes" in ours[0]["network"]
            return (found["node"], ours[0]) if complete else None
        node, ours = self.eventually(summary, 90, "statistics of the pod")
        self.assertGreater(node["memory"]["workingSetBytes"], 0)
        self.assertGreater(node["cpu"]["usageCoreNanoSeconds"], 0)
        main = ours["containers"][0]
        self.assertGreater(main["memory"]["workingSetBytes"], 1 << 20)
        self.assertGreater(main["cpu"]["usageCoreNanoSeconds"], 0)
        for place in (node["fs"], node["runtime"]["imageFs"]):
            self.assertGreater(place["capacityBytes"], place["availableBytes"])
        # What is written, logged and sent is counted.
        self.exec("web", "cmd", "/c", "for /l %i in (1,1,9) do @type C:\\web\\web.exe >> C:\\filler")
        for _ in range(20):
            self.answers(self.fetch_from_node, f"http://{self.ip('web')}/")

        def grown():
            _, found = summary()
            now, network = found["containers"][0], found["network"]
            return (now["rootfs"]["usedBytes"] > main["rootfs"]["usedBytes"] and now["logs"]["usedBytes"] > main["logs"]["usedBytes"] and
                    network["rxBytes"] > ours["network"]["rxBytes"] and network["txBytes"] > ours["network"]["txBytes"])
        self.eventually(grown, 150, "more written, logged, received and sent")

    # KBL-19, KBL-34
    def test_statistics_show_what_is_promised_and_promisable(self):
        metrics = self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/metrics/resource", namespaced=False)
        values = {line.split()[0]: float(line.split()[1]) for line in metrics.splitlines() if line.startswith("node_memory_commit")}
        capacity = memory_bytes(self.get("node", "windows-1", namespaced=False)["status"]["capacity"]["memory"])
        self.assertGreaterEqual(values["node_memory_commit_limit_bytes"], capacity)
        self.assertTrue(0 < values["node_memory_commit_bytes"] < values["node_memory_commit_limit_bytes"])
        node = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/stats/summary", namespaced=False))["node"]
        self.assertIn("swapUsageBytes", node["swap"])

    # KBL-08, KBL-09, KBL-15
    def test_reservations_are_enforced_on_nobody(self):
        settings = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/windows-1/proxy/configz", namespaced=False))["kubeletconfig"]
        self.assertFalse(settings.get("enforceNodeAllocatable"), settings)
        self.assertFalse(settings["cgroupsPerQOS"])
        status = self.get("node", "windows-1", namespaced=False)["status"]
        told = [settings["systemReserved"].get("memory", "0"), settings["kubeReserved"].get("memory", "0"), settings["evictionHard"]["memory.available"]]
        self.assertEqual(sum(map(memory_bytes, told)), memory_bytes(status["capacity"]["memory"]) - memory_bytes(status["allocatable"]["memory"]))

    # KBL-09, LIM-35
    def test_a_program_of_the_host_may_take_more_than_is_reserved(self):
        status = self.get("node", "windows-1", namespaced=False)["status"]
        reserved = (memory_bytes(status["capacity"]["memory"]) - memory_bytes(status["allocatable"]["memory"])) >> 20
        self.assertGreaterEqual(reserved, 2048)
        host = self.cluster.data / "nodes/windows-1"
        program = windows_probe.compile_program("probe", self.cluster.folder)
        shutil.copy(program, host / "C/probe.exe")
        self.addCleanup((host / "C/probe.exe").unlink)
        words = [PORTHOLE, "winhost", "exec", "--data", host, "--", "C:\\probe.exe", "allocate", str(reserved + 256)]
        done = run(self.cluster.network.inside(words), env=self.cluster.environment(), check=False, seconds=120)
        self.assertEqual((done.returncode, done.stdout.split()[:2]), (0, [str(reserved + 256), "MB,"]), done.stdout + done.stderr)
        self.assertEqual(condition(self.get("node", "windows-1", namespaced=False), "Ready"), "True")
        guide = " ".join((ROOT / "docs/guide/windows_hosts.md").read_text().split())
        self.assertIn("They are bookkeeping: they limit neither the kubelet nor any other process of the host", guide)

    # KBL-23
    def test_linux_pods_are_bounded_by_their_control_group(self):
        self.apply(pod("bounded", container(resources={"limits": {"memory": "48Mi", "cpu": "300m"}}), nodeSelector={"kubernetes.io/os": "linux"}))
        uid = self.wait_ready("bounded")["metadata"]["uid"]
        limits = [int(file.read_text()) for folder in control_groups(f"*pod{uid}") for name in ("memory.max", "memory.limit_in_bytes")
                  if (file := folder / name).exists()]
        self.assertEqual(set(limits), {48 << 20})
        def counted():
            summary = json.loads(self.kubectl("get", "--raw", "/api/v1/nodes/linux-1/proxy/stats/summary", namespaced=False))
            ours = [entry for entry in summary["pods"] if entry["podRef"]["name"] == "bounded" and entry["podRef"]["namespace"] == self.namespace]
            return ours and ours[0]["memory"]["workingSetBytes"] > 0 and ours[0]["cpu"]["usageCoreNanoSeconds"] > 0
        self.eventually(counted, 40, "statistics of the pod")

    # KBL-24
    def test_conditions_and_what_the_node_is(self):
        for name, build in (("windows-1", "10.0.20348"), ("windows-2", "10.0.20348")):
            node = self.get("node", name, namespaced=False)
            self.assertEqual(condition(node, "MemoryPressure"), "False")
            info = node["status"]["nodeInfo"]
            self.assertEqual((info["operatingSystem"], info["architecture"]), ("windows", "amd64"))
            self.assertTrue(info["kernelVersion"].startswith(build), info)

    # VER-07
    def test_pods_ping_each_other_across_hosts(self):
        for number in (1, 2):
            self.apply(web_server(f"web-{number}", nodeName=f"windows-{number}"))
        self.wait_ready("web-1")
        self.wait_ready("web-2")
        for source, target in (("web-1", "web-2"), ("web-2", "web-1")):
            address = self.ip(target)
            self.eventually(lambda: "TTL=" in self.exec(source, "ping", "-n", "1", address), 30, f"{target} replies to {source}")

    def test_limits_are_shown_by_describe(self):
        self.apply(windows_pod("limited", container_fields={"image": IMAGE, "resources": {"limits": {"memory": "128Mi", "cpu": "1"}}}))
        self.wait_phase("limited", "Running", seconds=60)
        self.assertIn("128Mi", self.kubectl("describe", "pod", "limited"))
        self.assertEqual(self.get("pod", "limited")["spec"]["nodeSelector"], WINDOWS["nodeSelector"])


if __name__ == "__main__":
    unittest.main()
