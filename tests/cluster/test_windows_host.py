"""The host below an emulated Windows node: its services, logs, container runtime and build, seen from outside and by its administrator."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

from harness import PORTHOLE, ROOT, condition, control_groups, never, run, slow
from manifests import PAGE, web_pod
from test_windows_node import WindowsCase, web_server, windows_pod

sys.path.insert(0, str(ROOT / "tests/windows"))
import start_scripts
import windows_probe  # the harness knows where

NODE = "windows-2"
SERVICES = ("kubelet", "flanneld", "kube-proxy")


class HostCase(WindowsCase):
    node_name = NODE  # the node whose host is meant where none is named

    def host(self, node=None):
        return self.cluster.data / "nodes" / (node or self.node_name)

    def on_host(self, *command, node=None, check=True, seconds=120):
        """Runs a program on the emulated host, as its administrator."""
        return run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", "--data", self.host(node), "--", *command]), check=check,
                   seconds=seconds, env=self.cluster.environment()).stdout

    def node(self, name=None):
        return self.get("node", name or self.node_name, namespaced=False)

    def wait_node(self, status, message="", seconds=90):
        def reached():
            found = next(one for one in self.node()["status"]["conditions"] if one["type"] == "Ready")
            return found["status"] == status and message in found["message"]
        self.eventually(reached, seconds, f"{self.node_name} Ready is {status} {message}")

    def is_running(self, program, node=None):
        """The Linux pid of a program on the host, or 0."""
        return self.process_on(node or self.node_name, program)

    def command_of(self, service):
        """The words with which a service's program runs on a console, too."""
        line = self.on_host("reg", "query", f"HKLM\\System\\CurrentControlSet\\Services\\{service}", "/v", "ImagePath")
        return [word for word in re.search(r"REG_SZ +(.*\S)", line).group(1).split() if word != "--windows-service"]

    @contextlib.contextmanager
    def on_consoles(self, commands):
        """Programs of the node on consoles, in the order of `commands`, by the services that they replace meanwhile."""
        for service in reversed(list(commands)):
            self.on_host("net", "stop", service, check=False)
        programs = []
        try:
            for service in commands:
                self.eventually(lambda: not self.is_running(f"{service}.exe"), 20, f"{service} has stopped")
            for service, command in commands.items():
                words = [PORTHOLE, "winhost", "exec", "--data", self.host(), "--", *command]
                programs.append(subprocess.Popen(self.cluster.network.inside(list(map(str, words))), stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                self.eventually(lambda: self.is_running(f"{service}.exe"), 20, f"{service} runs")
            yield
        finally:
            for program in programs:
                program.send_signal(signal.SIGTERM)
                program.wait(120)
            for service in commands:
                self.eventually(lambda: not self.is_running(f"{service}.exe"), 20, f"{service} has ended with its console")
                self.on_host("net", "start", service)


class Services(HostCase):
    # KBL-27, LIM-49
    def test_a_killed_service_comes_back_by_its_recovery_actions_and_adopts_its_pods(self):
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web")
        for service in SERVICES:
            with self.subTest(service):
                before = self.is_running(f"{service}.exe")
                self.assertTrue(before)
                self.on_host("taskkill", "/f", "/im", f"{service}.exe")
                self.eventually(lambda: self.is_running(f"{service}.exe") not in (0, before), 30, f"{service} runs again")
        self.wait_node("True")
        self.assertEqual(self.get("pod", "web")["status"]["containerStatuses"][0]["restartCount"], 0)
        self.apply(web_server("second", nodeName=NODE))
        self.wait_ready("second")

    # KBL-27
    def test_a_stopped_service_stays_stopped(self):
        self.on_host("net", "stop", "kube-proxy")
        try:
            self.eventually(lambda: not self.is_running("kube-proxy.exe"), 20, "it has stopped")
            never(lambda: self.is_running("kube-proxy.exe"), 12, "it is started by its recovery actions")
        finally:
            self.on_host("net", "start", "kube-proxy")
        self.eventually(lambda: self.is_running("kube-proxy.exe"), 20, "it runs again")

    def start_again(self, service):
        """Until the service manager says that it runs: what is still starting cannot be stopped, and is no node that is well."""
        self.on_host("sc.exe", "start", service, check=False)
        self.eventually(lambda: "RUNNING" in self.on_host("sc.exe", "query", service), 30, f"{service} runs again")

    # TRB-01, TRB-02, TRB-12, TRB-20
    def test_status_shows_the_node_and_what_is_wrong_with_it(self):
        shown = self.on_host("porthole.exe", "status", "--node-name", NODE)
        self.assertRegex(shown, rf"node +{NODE} Ready")
        self.assertRegex(shown, "network +cbr0 is there")
        for service in SERVICES:
            self.assertRegex(shown, service + r" +running +C:\\k\\logs\\" + service + r"\.log")
        self.on_host("sc.exe", "stop", "kube-proxy")
        self.addCleanup(self.start_again, "kube-proxy")

        def said():
            text = self.on_host("porthole.exe", "status", "--node-name", NODE, "-o", "json", check=False)
            return next((one for one in json.loads(text)["services"] if one["name"] == "kube-proxy" and one["state"] == "stopped"), None) and text
        text = json.loads(self.eventually(said, 30, "the stopped service is shown"))
        self.assertFalse(text["well"])
        self.assertIn("start it: sc.exe start kube-proxy", text["remedies"][0])
        self.assertIn("eth0", text["network"]["adapters"])

    # TRB-01
    def test_status_lists_no_ports_of_pods_as_adapters(self):
        adapters = lambda: json.loads(self.on_host("porthole.exe", "status", "--node-name", NODE, "-o", "json", check=False))["network"]["adapters"]
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web")
        self.assertNotIn("hnsep", adapters())
        self.kubectl("delete", "pod", "web")
        self.assertNotIn("hnsep", adapters(), "also of those that have gone")
        self.assertIn("eth0", adapters())

    # TRB-01, TRB-12
    def test_the_doctor_finds_a_node_well_and_names_what_is_not(self):
        doctor = lambda: {one["title"] + ": " + one["detail"]: one for one in json.loads(
            self.on_host("porthole.exe", "doctor", "--node-name", NODE, "-o", "json", check=False))["findings"]}
        found = doctor()
        self.assertGreater(len(found), 9)
        self.assertFalse([line for line, one in found.items() if one["verdict"] == "fail"])
        self.assertEqual(found["the pod network exists: cbr0"]["verdict"], "pass")
        self.assertEqual(found["the clock is in step with the API server's: "]["verdict"], "pass")
        self.on_host("sc.exe", "stop", "kube-proxy")
        self.addCleanup(self.start_again, "kube-proxy")
        line = "the node's programs run: kube-proxy is not running"
        self.eventually(lambda: line in doctor(), 30, "the service that has stopped is named")
        self.assertIn("sc.exe start kube-proxy", doctor()[line]["remedy"])

    # TRB-18
    def test_health_of_kubelet_and_proxy_is_served_on_the_host(self):
        ask = lambda url: run(["nsenter", f"--net=/run/netns/porthole-{self.cluster.id}-{NODE}", "curl", "--silent", "--fail", "--max-time", "5", url]).stdout
        self.eventually(lambda: ask("http://127.0.0.1:10248/healthz") == "ok", 20, "the kubelet is well")
        self.eventually(lambda: json.loads(ask("http://127.0.0.1:10256/healthz"))["healthy"], 20, "the proxy is well")

    # KBL-26
    def test_each_service_has_a_log_that_can_be_read_while_it_runs(self):
        for service in SERVICES:
            first = lambda: self.on_host("cmd", "/c", "type", f"C:\\k\\logs\\{service}.log").splitlines()[0]
            self.eventually(lambda: re.match(rf"20\d\d-\d\d-\d\dT[\d:.]+Z [DIWE] {service}: ", first()), 20, f"the log of {service}")

    # KBL-14
    def test_a_node_whose_disk_is_full_says_so_and_gets_no_pods(self):
        words = [word for word in self.command_of("kubelet") if not word.startswith("--eviction")]
        thresholds = "--eviction-hard=memory.available<100Mi,nodefs.available<99%"  # of no disk is so much free
        self.assertEqual(condition(self.node(), "DiskPressure"), "False")
        taints = lambda: [taint["key"] for taint in self.node()["spec"].get("taints", [])]
        self.on_host("net", "stop", "kube-proxy", check=False)
        self.on_host("net", "stop", "kubelet", check=False)
        command = [PORTHOLE, "winhost", "exec", "--data", self.host(), "--", *words, thresholds]
        kubelet = subprocess.Popen(self.cluster.network.inside(list(map(str, command))), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            self.eventually(lambda: condition(self.node(), "DiskPressure") == "True", 60, "the condition")
            self.eventually(lambda: "node.kubernetes.io/disk-pressure" in taints(), 30, "the taint")
        finally:
            kubelet.send_signal(signal.SIGTERM)
            kubelet.wait(120)
            self.eventually(lambda: not self.is_running("kubelet.exe"), 20, "kubelet has ended with its console")
            for service in ("kubelet", "kube-proxy"):
                self.on_host("net", "start", service)
        self.eventually(lambda: condition(self.node(), "DiskPressure") == "False", 400, "there is room again")
        self.eventually(lambda: "node.kubernetes.io/disk-pressure" not in taints(), 30, "the taint goes")

    # JOI-07, JOI-11
    def test_the_programs_run_as_plain_console_programs_too(self):
        with self.on_consoles({service: self.command_of(service) for service in SERVICES}):
            self.wait_node("True")
            self.apply(web_server("web", nodeName=NODE))
            self.wait_ready("web")
        self.wait_node("True")

    # JOI-08: as start-kubelet.ps1 and start-kubeproxy.ps1 call them
    def test_the_start_scripts_of_kubelet_and_proxy_start_them_in_order(self):
        address = next(one["address"] for one in self.node()["status"]["addresses"] if one["type"] == "InternalIP")
        line = self.on_host("reg", "query", "HKLM\\System\\CurrentControlSet\\Services\\kubelet", "/v", "ImagePath")
        runtime = re.search(r"--container-runtime-endpoint=(\S+)", line).group(1)
        commands = {
            "kubelet": start_scripts.command_line("start-kubelet", "kubelet", NODE, ManagementIP=address, ContainerRuntimeEndpoint=runtime),
            "kube-proxy": start_scripts.command_line("start-kubeproxy", "kube-proxy", NODE, NetworkName="cbr0", ClusterCidr="10.244.0.0/16")}
        with self.on_consoles(commands):
            self.wait_node("True")
            self.apply(web_server("web", nodeName=NODE))
            self.wait_ready("web")
        self.wait_node("True")

    # JOI-07, JOI-08, EMU-11: what start.ps1 calls
    def test_one_command_starts_the_programs_in_order_and_waits_for_the_node(self):
        address = next(one["address"] for one in self.node()["status"]["addresses"] if one["type"] == "InternalIP")
        words = ["C:\\k\\porthole.exe", "start", "--node-name", NODE, "--management-ip", address, "--log-dir", "C:\\k\\started"]
        for service in reversed(SERVICES):
            self.on_host("net", "stop", service, check=False)
        try:
            for service in SERVICES:
                self.eventually(lambda: not self.is_running(f"{service}.exe"), 20, f"{service} has stopped")
            lines = self.on_host(*words, seconds=200)
            order = [lines.index(text) for text in ("flanneld started", "HNS network cbr0", "kubelet started", "kube-proxy started",
                                                    f"node {NODE} is Ready")]
            self.assertEqual(order, sorted(order), lines)
            for service in SERVICES:
                self.assertTrue(self.is_running(f"{service}.exe"), service)
                first = lambda: self.on_host("cmd", "/c", "type", f"C:\\k\\started\\{service}.log", check=False).partition("\n")[0]
                self.eventually(lambda: re.search(rf"Z [DIWE] {service}: ", first()), 20, f"the log of {service}")
            self.apply(web_server("web", nodeName=NODE))
            self.wait_ready("web")
        finally:
            for service in SERVICES:
                self.on_host("taskkill", "/f", "/im", f"{service}.exe", check=False)
                self.eventually(lambda: not self.is_running(f"{service}.exe"), 20, f"{service} has ended")
            for service in SERVICES:
                self.on_host("net", "start", service)
        self.wait_node("True")

    # JOI-07: what success is
    def test_a_start_that_does_not_succeed_says_which_program_ended(self):
        self.assertIn("--node-ip", self.failure("C:\\k\\porthole.exe", "start", "--node-name", NODE, "--management-ip", "fd00::1"))
        self.assertIn("C:\\none\\flanneld.exe does not exist", self.failure("C:\\k\\porthole.exe", "start", "--folder", "C:\\none"))

    def failure(self, *words):
        done = run(self.cluster.network.inside([PORTHOLE, "winhost", "exec", "--data", self.host(), "--", *words]), check=False, seconds=60,
                   env=self.cluster.environment())
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    # JOI-15, JOI-16
    def test_set_up_makes_the_folder_and_the_kubeconfig_part_of_the_environment(self):
        machine, user = "HKLM\\System\\CurrentControlSet\\Control\\Session Manager\\Environment", "HKCU\\Environment"
        value = lambda key, name: re.search(r"REG_\w+ +(.*\S)", self.on_host("reg", "query", key, "/v", name)).group(1)
        before = value(machine, "PATH")
        install = ["C:\\k\\porthole.exe", "install", "--folder", "C:\\tools", "--add-to-path", "--set-kubeconfig"]
        try:
            self.assertIn("C:\\tools is in PATH", self.on_host(*install))
            self.assertEqual(value(machine, "PATH"), before + ";C:\\tools")
            self.assertEqual(value(user, "KUBECONFIG"), "C:\\tools\\config")
            self.assertIn("C:\\tools was in PATH already", self.on_host(*install))
            self.assertEqual(value(machine, "PATH"), before + ";C:\\tools", "a second run makes it no longer")
        finally:
            self.on_host("reg", "add", machine, "/v", "PATH", "/t", "REG_EXPAND_SZ", "/d", before, "/f")
            self.on_host("reg", "delete", user, "/v", "KUBECONFIG", "/f", check=False)
            self.on_host("cmd", "/c", "rd", "/s", "/q", "C:\\tools", check=False)

    # EMU-11
    def test_the_guides_steps_without_powershell_run_on_the_host(self):
        guide = (ROOT / "docs/guide/emulated_windows.md").read_text()
        table = guide[guide.index("| Step | On an emulated host |"):].split("\n\n")[0]
        rows = re.findall(r"^\| ([^|`]+) \| (`[^|]+) \|$", table, re.MULTILINE)
        steps = {step: [word for word in re.findall(r"`([^`]+)`", text) if " " in word] for step, text in rows}
        self.assertEqual(set(steps), {"start the node", "start, stop and query services", "register services", "list HNS networks and endpoints",
                                      "list routes", "set PATH and KUBECONFIG permanently", "set the environment of services", "leave"})
        elsewhere = {"start the node", "set PATH and KUBECONFIG permanently", "leave"}  # tests of their own: they change the node
        for step in sorted(set(steps) - elsewhere):
            for command in steps[step]:
                with self.subTest(command):
                    self.assertTrue(self.run_step(command))
        self.wait_node("True")

    def run_step(self, command):
        """What it prints; on the Linux machine where it begins with porthole."""
        words = shlex.split(command.replace("\\", "\\\\"))
        return self.cluster.porthole(*words[1:]).stdout if words[0] == "porthole" else self.on_host(*words)

    # KBL-28
    def test_one_name_is_used_by_all_components(self):
        lines = [self.on_host("reg", "query", f"HKLM\\System\\CurrentControlSet\\Services\\{service}", "/v", "ImagePath") for service in SERVICES]
        for line, flag in zip(lines, ("--hostname-override", "--node-name", "--hostname-override")):
            self.assertIn(f"{flag}={NODE} ", line + " ")
        self.assertEqual(self.node()["metadata"]["labels"]["kubernetes.io/hostname"], NODE)
        self.assertIn({"type": "Hostname", "address": NODE}, self.node()["status"]["addresses"])


class Runtime(HostCase):
    # PAU-06, RUN-09, VER-04
    def test_two_pods_of_one_worker_are_four_containers(self):
        for number in (1, 2):
            self.apply(web_server(f"web-{number}", nodeName=NODE))
        for number in (1, 2):
            self.wait_ready(f"web-{number}")
        rows = [line.split() for line in self.listed() if self.namespace in line]
        self.assertEqual(sorted(row[1] for row in rows), ["infra", "infra", "worker", "worker"])
        self.assertEqual({row[2] for row in rows}, {"running"})
        self.assertEqual(sorted(row[3] for row in rows), sorted([f"{self.namespace}/web-1", f"{self.namespace}/web-2"] * 2))

    def listed(self):
        return run([PORTHOLE, "winhost", "ps", "--data", self.host()], seconds=30).stdout.splitlines()

    # RUN-01, RUN-02
    def test_the_kubelet_speaks_to_its_runtime_by_a_named_pipe(self):
        service = self.on_host("reg", "query", "HKLM\\SYSTEM\\CurrentControlSet\\Services\\kubelet", "/v", "ImagePath")
        self.assertIn("npipe:////./pipe/containerd-containerd", service)
        self.assertTrue(self.node()["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("porthole-wine://"), "what is behind the pipe")
        self.apply(web_server("web", nodeName=NODE))
        self.assertTrue(self.wait_ready("web")["status"]["containerStatuses"][0]["containerID"].startswith("porthole-wine://"))

    def test_wines_server_has_all_processors_again_when_plugins_have_ended(self):
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web")
        def has_all(process):
            return process and os.sched_getaffinity(process) == os.sched_getaffinity(0)
        for program in ("wineserver64", "services.exe", "kubelet.exe"):
            with self.subTest(program):
                self.eventually(lambda: has_all(self.is_running(program)), 30, f"{program} may run everywhere")

    # RUN-04
    @slow
    def test_a_runtime_that_does_not_answer_is_named_in_the_nodes_condition(self):
        runtime = self.cluster.processes()[f"{NODE}/winhost"]
        os.kill(runtime, signal.SIGSTOP)
        try:
            self.wait_node("False", "container runtime is down")
        finally:
            os.kill(runtime, signal.SIGCONT)
        self.wait_node("True")

    # PAU-02
    def test_on_linux_the_sandbox_outlives_its_container(self):
        self.apply(web_pod("web", script=PAGE.replace("exec ", "") + "; exit 1", nodeSelector={"kubernetes.io/os": "linux"}))
        before = self.wait_ready("web")["status"]
        space = self.kubectl("exec", "web", "--", "readlink", "/proc/self/ns/net")
        self.kubectl_run("exec", "web", "--", "killall", "httpd", check=False)
        after = self.eventually(lambda: self.restarted("web"), 60, "restarted")
        self.assertEqual(before["podIP"], after["status"]["podIP"])
        self.assertEqual(space, self.kubectl("exec", "web", "--", "readlink", "/proc/self/ns/net"))

    def restarted(self, name):
        found = self.try_get("pod", name)
        return found if found and found["status"]["containerStatuses"][0]["restartCount"] >= 1 and condition(found, "Ready") == "True" else None

    def test_a_storm_of_processes_stays_in_its_container(self):
        storm = "for /l %i in (1,1,100000) do start /b cmd /c ping -n 30 127.0.0.1"
        self.apply(windows_pod("storm", ["cmd", "/c", storm], nodeName=NODE, restartPolicy="Never"), web_server("web", nodeName=NODE))
        self.wait_ready("web")
        self.wait_phase("storm", "Running", "Failed", "Succeeded", seconds=60)
        numbers = list(self.limits_of_processes())
        self.assertTrue(any(number.isdigit() and int(number) <= 1024 for number in numbers), numbers)
        self.assertIn("web", self.answers(self.linux_client(), f"http://{self.ip('web')}/"))
        self.assertEqual(condition(self.node(), "Ready"), "True")
        self.kubectl("delete", "pod", "storm", "--wait=true", "--timeout=60s", seconds=70)

    def limits_of_processes(self):
        """Of the control groups of hosts with the node's name. Those of other clusters may go meanwhile, as os.walk() bears."""
        for host in control_groups(f"{NODE}-*"):
            if host.parent.name == "porthole-winhost":
                for folder, _, files in os.walk(host):
                    with contextlib.suppress(OSError):
                        if "pids.max" in files:
                            yield pathlib.Path(folder, "pids.max").read_text().strip()


class Build(HostCase):
    # IMG-03
    def test_a_build_that_is_not_listed_is_told_by_event_and_condition(self):
        key = "HKLM\\Software\\Microsoft\\Windows NT\\CurrentVersion"
        before = re.search(r"CurrentBuildNumber\s+REG_SZ\s+(\S+)", self.on_host("reg", "query", key, "/v", "CurrentBuildNumber")).group(1)
        self.assertIn(condition(self.node(), "UnsupportedOSBuild"), (None, "False"))
        self.set_build(key, "19045")
        try:
            self.eventually(lambda: condition(self.node(), "UnsupportedOSBuild") == "True", 60, "the condition")
            self.eventually(lambda: any("10.0.19045" in event["message"] for event in self.told_of_the_build()), 30, "an event of the node")
            self.assertEqual(condition(self.node(), "Ready"), "True", "it warns, no more")
            self.eventually(lambda: self.of_build("10.0.19045"), 30, "the label")
        finally:
            self.set_build(key, before)
        self.eventually(lambda: condition(self.node(), "UnsupportedOSBuild") == "False", 60, "the condition holds no longer")

    def told_of_the_build(self):
        events = json.loads(self.kubectl("get", "events", "--all-namespaces", "-o", "json", namespaced=False))["items"]
        return [event for event in events if event["reason"] == "UnsupportedOSBuild" and event["involvedObject"]["name"] == NODE]

    # IMG-08
    @slow
    # TRB-03
    def test_an_upgrade_of_the_host_is_seen_and_images_of_the_former_build_are_pulled_again_or_named(self):
        self.addCleanup(self.load_images)
        self.addCleanup(self.bring_up_as, self.cluster.nodes)
        self.bring_up_as("linux=1,windows=1,windows=1:2019")
        self.load_images()
        archive = self.cluster.folder / "windows-probe.tar"
        windows_probe.make(archive)
        self.cluster.porthole("image", "load", archive)
        self.apply(web_server("web", nodeName=NODE),
                   windows_pod("probe", ["C:\\app\\probe.exe", "wait"], container_fields={"image": windows_probe.NAME}, nodeName=NODE))
        self.wait_ready("web", 120)
        self.wait_ready("probe", 60)
        self.assert_build("10.0.17763", "2019")
        self.bring_up_as("linux=1,windows=2")
        self.assert_build("10.0.20348", "2022")
        # What can be pulled is: the image that the programs carry has an entry for either build.
        pulled = lambda event: event["reason"] == "Pulled" and event["involvedObject"]["name"] == "web" and "Successfully pulled" in event["message"]
        self.eventually(lambda: [event for event in self.list("events") if pulled(event)], 90, "the image is pulled again")
        self.wait_ready("web", 120)
        mismatch = lambda event: event["reason"] == "Failed" and "ImageOSVersionMismatch: the image is for Windows 10.0.17763" in event["message"]
        told = self.eventually(lambda: [event for event in self.list("events") if mismatch(event)], 90, "an event of the pod")
        self.assertEqual(told[0]["involvedObject"]["name"], "probe")
        self.assertIn("the host is 10.0.20348", told[0]["message"])
        self.assertIn("it cannot be pulled again: ", told[0]["message"])
        self.assertFalse(condition(self.get("pod", "probe"), "Ready") == "True")
        self.cluster.porthole("image", "load", archive)  # what a pull would do: the entry of the new build
        self.wait_ready("probe", 150)

    # EMU-04
    @slow
    def test_hosts_of_the_builds_between_2019_and_2022_are_nodes_that_run_pods(self):
        builds = {"windows-1": ("1903", "10.0.18362"), "windows-2": ("2004", "10.0.19041"), "windows-3": ("20H2", "10.0.19042"),
                  "windows-4": ("19551", "10.0.19551")}
        self.addCleanup(self.load_images)
        self.addCleanup(self.bring_up_as, self.cluster.nodes)
        self.bring_up_as("linux=1," + ",".join(f"windows=1:{release}" for release, _ in builds.values()))
        self.load_images()  # hosts of these names had them for another build before
        for name, (release, build) in builds.items():
            self.eventually(lambda: condition(self.node(name), "Ready") == "True", 120, f"{name} is Ready")
            self.eventually(lambda: self.of_build(build, name), 60, f"{name} is of build {build}")
            self.apply(web_server(f"web-{release.lower()}", nodeName=name))
        for release, _ in builds.values():
            self.wait_ready(f"web-{release.lower()}", 120)
        version = lambda name: self.on_host("porthole.exe", "self-check", "version", "--report", "C:\\report.json", node=name).partition(" HNS ")[2].partition(",")[0]
        self.assertEqual([version(name) for name in builds], ["10.5", "11.11", "11.11", "12.1"])

    def bring_up_as(self, nodes):
        if nodes == self.cluster.nodes:
            return
        self.cluster.down()
        self.cluster.nodes = nodes
        self.cluster.up()

    def load_images(self):
        archive = self.cluster.images / "web.tar"
        run([sys.executable, ROOT / "packaging/windows_images/make_images.py", "web", archive])
        self.cluster.porthole("image", "load", archive)

    def assert_build(self, build, release):
        self.wait_node("True", seconds=120)
        self.eventually(lambda: self.of_build(build), 60, f"{NODE} is of build {build}")

        def says_so():
            info = self.node()["status"]["nodeInfo"]
            self.assertTrue(info["kernelVersion"].startswith(build), info)
            self.assertIn(f"Windows Server {release}", info["osImage"])
            return True
        self.eventually(says_so, 60, "its status, which is written after the label")

    def of_build(self, build, name=NODE):
        node = self.node(name)
        return node if node["metadata"]["labels"]["node.kubernetes.io/windows-build"] == build else None

    def set_build(self, key, build):
        for name in ("CurrentBuild", "CurrentBuildNumber"):
            self.on_host("reg", "add", key, "/v", name, "/d", build, "/f")
        self.on_host("net", "stop", "kube-proxy", check=False)
        self.on_host("net", "stop", "kubelet", check=False)
        for service in ("kubelet", "kube-proxy"):
            self.on_host("net", "start", service)


class Access(HostCase):
    # KBL-29
    def test_the_kubelets_debugging_endpoints_want_to_know_who_asks(self):
        self.apply(web_server("web", nodeName=NODE))
        self.wait_ready("web")
        address = next(entry["address"] for entry in self.node()["status"]["addresses"] if entry["type"] == "InternalIP")
        for path in ("/pods", f"/containerLogs/{self.namespace}/web/main", f"/exec/{self.namespace}/web/main?command=cmd", "/logs/"):
            done = run(self.cluster.network.inside(["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10",
                                                    f"https://{address}:10250{path}"]), check=False)
            self.assertEqual(done.stdout, "401", path)
        self.assertIn("hello", self.exec("web", "cmd", "/c", "echo hello"))
        self.kubectl("logs", "web")


class SelfCheck(HostCase):
    # EMU-08, EMU-13
    def test_the_emulated_host_does_what_is_assumed_of_windows(self):
        before = self.on_host("porthole.exe", "hns", "list", "-o", "json")
        said = self.on_host("porthole.exe", "self-check", "--report", "C:\\report.json", seconds=300)
        self.assertIn("emulated: of Windows this says nothing", said)
        self.assertRegex(said, r"(?m)^[1-9][0-9]+ as assumed, 0 differ, [1-9][0-9]* not run, [1-9][0-9]* as Wine$")
        self.assertRegex(said, r"not run +hns +overlay-id-from-4096: .*\n +it needs an adapter of the host")
        report = json.loads((self.host() / "C/report.json").read_text())
        self.assertTrue(report["host"]["emulated"])
        self.assertRegex(report["host"]["hns"], r"^[0-9]+\.[0-9]+$")
        outcomes = {one["outcome"] for one in report["assumptions"] if one["area"] == "hns"}
        self.assertEqual(outcomes, {"as assumed"})
        self.assert_all_are_named(report)
        names = lambda text: sorted(one["Name"] for one in json.loads(text)["networks"])
        self.assertEqual(names(self.on_host("porthole.exe", "hns", "list", "-o", "json")), names(before), "it removes what it made")

    def assert_all_are_named(self, report):
        """What was not run is in the report, too, with the reason."""
        listed = {tuple(line.split()[:2]) for line in self.on_host("porthole.exe", "self-check", "--list").splitlines()[1:]}
        named = [(one["area"], one["id"]) for one in report["assumptions"] + report["notRun"]]
        self.assertEqual(sorted(named), sorted(listed))
        self.assertTrue(all(one["why"] for one in report["notRun"]), report["notRun"])
        self.assertIn(("pods", "pods-start"), [(one["area"], one["id"]) for one in report["notRun"]])

    def test_some_assumptions_are_checked_by_area_or_name(self):
        said = self.on_host("porthole.exe", "self-check", "processes", "renamed-over", "--report", "C:\\report.json")
        self.assertRegex(said, r"as assumed +files +renamed-over: ")
        self.assertRegex(said, r"as assumed +processes +streams: ")
        report = json.loads((self.host() / "C/report.json").read_text())
        self.assertEqual({one["area"] for one in report["assumptions"]}, {"files", "processes"})
        self.assertEqual([one["id"] for one in report["assumptions"] if one["area"] == "files"], ["renamed-over"])

    def test_a_failing_test_program_is_in_the_report_with_what_it_said(self):
        folder = self.host() / "C/tests"
        folder.mkdir(exist_ok=True)
        (folder / "other_test.exe").write_bytes((ROOT / "build/windows/bin/porthole.exe").read_bytes())
        (folder / "bad_test.exe").write_bytes(b"no program")
        said = self.on_host("porthole.exe", "self-check", "version", "--report", "C:\\report.json", "--tests", "C:\\tests", check=False)
        self.assertRegex(said, r"(?m)^  FAILS +bad_test.exe")
        results = json.loads((folder.parent / "report.json").read_text())["tests"]
        self.assertEqual([result["program"] for result in results], ["bad_test.exe", "other_test.exe"])
        self.assertTrue(all(result["output"] and not result["passes"] for result in results), results)


class Paths(HostCase):
    # KBL-30
    def test_paths_beyond_260_characters(self):
        volume, key = "v" * 63, "k" * 200
        self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "long"}, "data": {key: "from far below\n"}})
        self.apply(windows_pod("reader", ["cmd", "/c", f"type C:\\m\\{key} & ping -n 60 127.0.0.1"], nodeName=NODE,
                               volumes=[{"name": volume, "configMap": {"name": "long"}}],
                               container_fields={"volumeMounts": [{"name": volume, "mountPath": "C:\\m"}]}))
        self.wait_phase("reader", "Running", seconds=90)
        self.eventually(lambda: "from far below" in self.kubectl("logs", "reader"), 30, "the file is read")
        root = self.host() / "C/var/lib/kubelet/pods" / self.get("pod", "reader")["metadata"]["uid"]
        files = [path for path in root.rglob(key)]
        self.assertTrue(files, "the kubelet's default folder")
        self.assertGreater(len("C:\\" + str(files[0].relative_to(self.host() / "C"))), 260)
        self.assertTrue(list((self.host() / "C/var/log/pods").glob(f"{self.namespace}_reader_*")))
