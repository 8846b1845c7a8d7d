"""What dies comes back: containers, agents, the server, the supervisor, everything at once."""

import json
import os
import pathlib
import signal
import unittest

from harness import DISTURBED, ClusterCase, condition
from manifests import SLEEP, config_map, pod, service, web_deployment, web_pod
from test_local_volumes import claim, user


def container_of(found):
    return found["status"]["containerStatuses"][0]


class Recovery(ClusterCase):
    shared = DISTURBED
    alone = True

    def api_answers(self):
        self.eventually(lambda: self.kubectl_run("get", "--raw", "/readyz", namespaced=False, check=False).stdout == "ok", 60, "the API is ready")

    def nodes_ready(self):
        def ready():
            nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
            return len(nodes) == 2 and all(condition(node, "Ready") == "True" for node in nodes)
        self.eventually(ready, 60, "both nodes are ready")

    def replaced(self, name, old_pid, seconds=30):
        return self.eventually(lambda: self.cluster.processes().get(name, old_pid) != old_pid, seconds, f"{name} has a new process")

    def test_killed_container_comes_back_with_the_same_address(self):
        self.apply(web_pod("web"))
        before = self.wait_ready("web")["status"]
        # From inside, the first process ignores all but its own signals: a child of the sandbox kills it from the node.
        pid = self.first_process("web")
        os.kill(pid, signal.SIGKILL)
        self.eventually(lambda: container_of(self.get("pod", "web"))["restartCount"] == 1, 30, "one restart")
        after = self.wait_ready("web")["status"]
        self.assertEqual(after["podIP"], before["podIP"])
        self.assertEqual(container_of({"status": after})["lastState"]["terminated"]["exitCode"], 137)

    def first_process(self, pod_name):
        """The pid, on the machine, of a container's first process: its cgroup is named for the container."""
        container = container_of(self.get("pod", pod_name))["containerID"].split("//")[1]
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if container in entry.joinpath("cgroup").read_text():
                        return int(entry.name)
                except OSError:
                    continue
        self.fail(f"no process of container {container}")

    def test_agent_that_dies_leaves_containers_running_and_adopts_them(self):
        self.apply(web_pod("web", nodeName="linux-1"))
        before = container_of(self.wait_ready("web"))
        old = self.cluster.processes()["linux-1/agent"]
        self.cluster.kill("linux-1/agent")
        self.replaced("linux-1/agent", old)
        self.nodes_ready()
        self.apply(pod("afterwards", nodeName="linux-1"))
        self.wait_ready("afterwards")
        after = container_of(self.get("pod", "web"))
        self.assertEqual((after["containerID"], after["restartCount"]), (before["containerID"], 0))

    def test_containerd_that_dies_leaves_containers_running(self):
        self.apply(web_pod("web", nodeName="linux-2"))
        before = container_of(self.wait_ready("web"))
        old = self.cluster.processes()["linux-2/containerd"]
        self.cluster.kill("linux-2/containerd")
        self.replaced("linux-2/containerd", old)
        self.apply(pod("afterwards", nodeName="linux-2"))
        self.wait_ready("afterwards", 60)
        self.assertEqual(container_of(self.get("pod", "web"))["containerID"], before["containerID"])

    # API-22
    def test_server_that_dies_keeps_every_acknowledged_write(self):
        names = [f"kept-{number}" for number in range(40)]
        self.apply(*[config_map(name, n=name) for name in names])
        old = self.cluster.processes()["server"]
        self.cluster.kill("server")
        self.replaced("server", old)
        self.api_answers()
        self.assertLessEqual(set(names), {found["metadata"]["name"] for found in self.list("configmaps")})

    def test_traffic_flows_while_the_server_is_away(self):
        self.apply(web_pod("web"), service("web", {"app": "web"}))
        self.wait_ready("web")
        ip = self.get("service", "web")["spec"]["clusterIP"]
        self.eventually(lambda: self.fetch_from_node(f"http://{ip}/"), 15)
        old = self.cluster.processes()["server"]
        self.cluster.kill("server")
        self.assertEqual(self.fetch_from_node(f"http://{ip}/"), "web")
        self.replaced("server", old)
        self.api_answers()

    def test_controllers_go_on_after_a_restart_of_the_server(self):
        self.apply(web_deployment("web", replicas=2))
        self.cluster.kill("server")
        self.api_answers()
        self.wait_rolled_out("web")
        self.kubectl("scale", "deployment", "web", "--replicas=3")
        self.wait_rolled_out("web")

    def test_everything_killed_comes_back_with_up(self):
        self.apply(web_deployment("web", replicas=2), service("web", {"app": "web"}))
        self.wait_rolled_out("web")
        uids = {found["metadata"]["uid"] for found in self.pods("app=web")}
        self.cluster.cut_power()
        self.cluster.up()
        self.nodes_ready()
        self.wait_rolled_out("web")
        self.assertEqual({found["metadata"]["uid"] for found in self.pods("app=web")}, uids)
        ip = self.get("service", "web")["spec"]["clusterIP"]
        self.assertTrue(self.eventually(lambda: self.fetch_from_node(f"http://{ip}/"), 30))

    def test_data_of_claims_outlive_agents_and_everything(self):  # STO-19
        self.apply(claim("data"), user("user", "data", "cat /data/file; echo kept > /data/file; sync; " + SLEEP))
        node = self.wait_ready("user")["spec"]["nodeName"]
        before = container_of(self.get("pod", "user"))
        old = self.cluster.processes()[f"{node}/agent"]
        self.cluster.kill(f"{node}/agent")
        self.replaced(f"{node}/agent", old)
        self.nodes_ready()
        self.finds_its_data("user")
        self.assertEqual(container_of(self.get("pod", "user"))["containerID"], before["containerID"])
        self.cluster.cut_power()
        self.cluster.up()
        self.api_answers()
        self.nodes_ready()
        self.kubectl("delete", "pod", "user")
        self.apply(user("user", "data"))
        self.wait_ready("user")
        self.finds_its_data("user")

    def finds_its_data(self, name):
        """The new agent may still be waiting for its serving certificate."""
        self.eventually(lambda: self.exec(name, "cat", "/data/file").strip() == "kept", 30, f"{name} reads what it has written")

    def test_supervisor_that_dies_takes_nothing_down(self):
        before = self.cluster.processes()
        if "supervisor" not in before:
            self.skipTest("this cluster has no supervisor")
        self.cluster.kill("supervisor")
        self.assertEqual(self.kubectl("get", "--raw", "/readyz", namespaced=False), "ok")
        self.cluster.up()
        after = self.cluster.processes()
        self.assertEqual(after["server"], before["server"])
        self.assertNotEqual(after["supervisor"], before["supervisor"])

    def test_second_up_changes_nothing(self):
        before = self.cluster.processes()
        self.cluster.up()
        self.assertEqual(self.cluster.processes(), before)

    def test_second_server_on_the_same_data_is_refused(self):
        done = self.cluster.porthole("server", "--port", "7443", check=False, seconds=20)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
