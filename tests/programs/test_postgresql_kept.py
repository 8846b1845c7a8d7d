"""PostgreSQL for Linux and for Windows, on claims of the default class: what was committed outlives the pod, the node's agent and the node."""

import harness
from postgresql_case import IMAGES, PostgreSQLCase


class PostgreSQLKept(PostgreSQLCase):
    def test_data_outlive_pod_agent_and_node(self):  # STO-19
        self.load_images()
        self.start_servers()

        uids = {system: self.uid(system) for system in IMAGES}
        self.kubectl("delete", "pod", *(f"db-{system}-0" for system in IMAGES), "--grace-period=0", "--force", warnings=True)
        self.eventually(lambda: all(self.uid(system) not in ("", uid) for system, uid in uids.items()), 60, "the pods are replaced")
        self.go_on("2: pods lost")

        old = self.cluster.processes()["linux-1/agent"]
        self.cluster.kill("linux-1/agent")
        words = [harness.PORTHOLE, "winhost", "exec", "--data", self.cluster.data / "nodes/windows-1", "--", "taskkill", "/f", "/im", "kubelet.exe"]
        harness.run(self.cluster.network.inside(words), env=self.cluster.environment())
        self.eventually(lambda: self.cluster.processes().get("linux-1/agent", old) != old, 60, "the agent has a new process")
        self.go_on("3: agents lost")

        self.cluster.cut_power()
        self.cluster.up()
        self.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s", namespaced=False, seconds=130)
        self.wait_ready("client")
        self.go_on("4: nodes lost")
