"""The first minutes of a new user: the sample runs on nodes of both systems with nothing loaded and no registry."""

import re

from harness import LINUX, MIXED, ClusterCase, run

IMAGE = "registry.porthole.internal/web:2"


class SampleCase(ClusterCase):
    def sample(self, *words, check=True, seconds=180):
        return self.cluster.porthole("sample", "web", *words, "--namespace", self.namespace, seconds=seconds, check=check)

    def commands(self, text):
        """What the sample says to type, without the remarks."""
        return [re.sub(r"\s+# .*", "", line.strip()) for line in text.splitlines() if line.startswith("  ") and re.match(r"\s+(kubectl|curl|porthole) ", line)]


class LinuxSample(SampleCase):
    shared = LINUX

    def test_the_sample_runs_on_linux_alone_and_says_how_to_get_a_windows_node(self):
        printed = self.sample().stdout
        self.assertIn("deployment.apps/sample-web-linux is ready", printed)
        self.assertIn("sample-web-windows is left out: no Windows node is Ready; `porthole up --nodes linux=1,windows=1`", printed)
        self.assertEqual([each["metadata"]["name"] for each in self.list("deployments")], ["sample-web-linux"])
        self.assertIn(" existed; ", self.sample().stdout, "it can be repeated")

    def test_the_image_comes_back_after_it_was_removed(self):
        self.sample()
        socket = f"/run/porthole/{self.cluster.id}"
        for node in ("linux-1", "linux-2"):
            run(["ctr", "--address", f"{socket}/{node}/containerd.sock", "--namespace", "k8s.io", "images", "rm", "--sync", IMAGE], check=False)
        self.kubectl("scale", "deployment/sample-web-linux", "--replicas=4")
        self.wait_rolled_out("sample-web-linux", 60)

    def test_the_manifest_is_printed_for_kubectl_and_the_help_says_so(self):
        manifest = self.cluster.porthole("sample", "web", "--print").stdout
        self.kubectl("apply", "-f", "-", "--dry-run=server", stdin=manifest)
        self.assertIn("--print", self.cluster.porthole("sample", "web", "--help").stdout)


class MixedSample(SampleCase):
    shared = MIXED
    alone = True

    def test_both_systems_answer_behind_one_service_and_each_printed_command_works(self):
        printed = self.sample().stdout
        for system in ("linux", "windows"):
            self.assertIn(f"deployment.apps/sample-web-{system} is ready", printed)
        curl = next(line.split()[1] for line in self.commands(printed) if line.startswith("curl "))
        seen = set()

        def both_seen():
            seen.update(re.findall(r"(Linux|Windows) Container Web Server", self.fetch_from_node(curl)))
            return len(seen) == 2
        self.eventually(both_seen, 30, "pods of both systems answer")

        execs = [line for line in self.commands(printed) if " exec " in line]
        self.assertEqual(len(execs), 2, printed)
        for line in execs:
            words = [word.strip("'") for word in line.split()[1:]]
            self.eventually(lambda: "Container Web Server" in self.kubectl(*words, namespaced=False), 30, line)
        removed = self.sample("--delete").stdout
        self.assertIn("service/sample-web deleted", removed)
        self.assertEqual(self.list("deployments"), [])
