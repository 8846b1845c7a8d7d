"""The guides: their commands are run where a test can run them, and what they show is what comes."""

import json
import re
import shlex

from harness import MIXED, ROOT, ClusterCase, slow

GUIDE = ROOT / "docs/guide"
# Tests of their own bring up servers, join nodes and try every way (test_join, test_windows_join, test_net_verify); curl is the reader's.
ELSEWHERE = re.compile(r"porthole (server|join|net verify)\b|curl ")


def blocks(page):
    """(command, what the guide shows of its output) of the console blocks of a page, in order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", (GUIDE / page).read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((re.sub(r"\s{2,}#.*", "", line[2:]), []))
            elif found and line:
                found[-1][1].append(line)
    return found


def headings(lines):
    """Columns of tables that are shown: words in capitals at the start of a line."""
    return [word for line in lines for word in line.split() if re.fullmatch(r"[A-Z-]{3,}", word) and line.startswith(("NAME", "CONTAINER"))]


class Guides(ClusterCase):
    shared = MIXED
    alone = True

    # JOI-22
    def test_there_is_a_guide_for_each_step_and_each_says_how_to_see_it(self):
        pages = {"cluster.md": ("control plane", "Linux node", "Windows node", "services", "Verify"),
                 "windows_hosts.md": ("control plane", "Windows machine", "Join", "See that it works", "When it does not", "Leave")}
        for page, steps in pages.items():
            text = (GUIDE / page).read_text()
            for step in steps:
                self.assertRegex(text, rf"(?im)^## .*{step}")
        sections = re.split(r"(?m)^## ", (GUIDE / "cluster.md").read_text())[1:]
        for section in sections[:4]:  # the last one is all verification
            self.assertRegex(section, r"\$ (kubectl get|curl)", section.splitlines()[0])

    # JOI-22
    def test_the_commands_of_the_cluster_guide_do_what_it_shows(self):
        ran = 0
        for command, shown in blocks("cluster.md"):
            if ELSEWHERE.match(command):
                continue
            with self.subTest(command):
                printed = self.run_line(command)
                for word in headings(shown):
                    self.assertIn(word, printed)
                if shown == ["ok"]:
                    self.assertEqual(printed.strip(), "ok")
                if shown and shown[0].startswith("porthole join"):
                    self.assertRegex(printed, r"^porthole join https://\S+ --token \S+ --ca-cert-hash sha256:[0-9a-f]{64}\s*$")
            ran += 1
        self.assertGreaterEqual(ran, 6)

    # API-13, API-21, CLI-11
    @slow
    def test_the_commands_of_the_guide_to_extending_do_what_it_shows(self):
        commands = blocks("extend.md")
        for command, _ in commands[-3:]:
            self.assertIn(" delete", command.replace("--delete", " delete"))
            self.addCleanup(self.run_line, command)
        for command, shown in commands[:-3]:
            with self.subTest(command):
                self.eventually(lambda: self.assert_shows(command, shown), 120, command)

    def assert_shows(self, command, shown):
        """Of a table the headings, of a refusal its whole text, of all else every line."""
        if any(line.startswith("The ") for line in shown):
            self.assertEqual(self.kubectl_fails(*self.words_of_kubectl(command)).splitlines(), shown)
            return True
        printed = self.run_line(command)
        for word in headings(shown):
            self.assertIn(word, printed)
        if not headings(shown):
            for line in shown:
                self.assertRegex(printed, re.sub(r"(created|labeled)$", "(created|unchanged|configured|labeled)", line.replace(".", r"\.")))
        return True

    def words_of_kubectl(self, command):
        words = shlex.split(command.replace("\\", "\\\\"))
        self.assertEqual(words[0], "kubectl", command)
        return [str(ROOT / word) if word.startswith("samples/") else word for word in words[1:]]

    def run_line(self, command):
        if command.startswith("porthole "):
            words = shlex.split(command)[1:]
            place = ["--namespace", self.namespace] if words[0] == "sample" else []
            return self.cluster.porthole(*words, *place, seconds=180).stdout
        words = self.words_of_kubectl(command)
        if words[0] == "exec":  # names and rules may still be on their way
            return self.eventually(lambda: self.kubectl(*words), 60, command)
        return self.kubectl(*words, warnings=words[0] in ("apply", "delete"))

    # NET-02, NET-45
    def test_the_network_guide_names_ports_and_its_route_command_prints_a_route_a_node(self):
        text = (GUIDE / "networks.md").read_text()
        for needed in ("UDP 4789", "TCP 6443", "10250", "10256", "30000–32767", "VNI 4096"):
            self.assertIn(needed, text)
        for topology in "ABC":
            section = re.search(rf"(?ms)^## {topology}: .*?(?=^## )", text).group()
            self.assertIn("```", section, "a diagram")
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json", namespaced=False))["items"]
        printed = self.cluster.porthole("net", "routes").stdout
        for node in nodes:
            address = next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
            self.assertIn(f"ip route replace {node['spec']['podCIDR']} via {address}", printed)
        for format in ("powershell", "csv", "json"):
            self.assertIn(nodes[0]["spec"]["podCIDR"], self.cluster.porthole("net", "routes", "--format", format).stdout)

    # TRB-19
    def test_the_troubleshooting_page_has_messages_that_the_programs_print(self):
        rows = re.findall(r"(?m)^\| (.+) \| `([^`]+)`.* \| (.+) \|$", (GUIDE / "troubleshooting.md").read_text())
        self.assertGreater(len(rows), 20)
        # of Docker's set-up, and of kubectl
        elsewhere = {"wincat not found", "The connection to the server localhost:8080 was refused", "tar contents corrupted"}
        sources = "".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.cc")) if not path.name.endswith("_test.cc"))
        printed = re.sub(r'"\s*"', "", sources)  # of literals in several parts
        for symptom, message, remedy in rows:
            if message not in elsewhere:
                self.assertIn(message, printed, symptom)

    # NET-08, NET-09, NET-39, NET-40, KBL-32, POD-18, PAU-08, RUN-03, RUN-07, RUN-08, RUN-10, TRB-14, LIM-57, LIM-64: the documented extent
    def test_what_others_bring_and_what_is_left_out_is_written_down(self):
        networks = (GUIDE / "networks.md").read_text()
        for plug_in in ("Azure-CNI", "Antrea, OVN-Kubernetes", "Calico", "Weave"):
            self.assertRegex(networks, rf"(?m)^\| {plug_in}.*\|.*\|.*\|$")
        hosts = (GUIDE / "windows_hosts.md").read_text()
        for words in ("npipe:////./pipe/cri-dockerd", "WaitToKillServiceTimeout", "wincat not found", "install-containerd.ps1",
                      "any runtime that speaks CRI", "kubectl drain", "kubectl uncordon", "node problem detector"):
            self.assertIn(words, hosts)

    # KBL-32, LIM-40
    def test_all_that_is_shipped_with_a_daemon_set_says_its_system(self):
        for path in [*(ROOT / "samples").glob("*.yaml"), *(ROOT / "packaging").rglob("*.yaml")]:
            for document in path.read_text().split("\n---"):
                if re.search(r"(?m)^kind: DaemonSet", document):
                    self.assertIn("kubernetes.io/os:", document, path.name)
