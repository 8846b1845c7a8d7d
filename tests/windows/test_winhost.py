"""An emulated host by itself: `porthole winhost` with its services, as whoever runs it sees it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

from wine import LINUX, ROOT, WINDOWS, WineTest

PORTHOLE = LINUX / "bin/porthole"


class WinhostTest(WineTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("runc") or not os.path.exists("/usr/lib/wine/wine64"):
            self.skipTest("needs runc and wine64")
        shutil.rmtree(self.folder)
        self.folder = pathlib.Path(f"/tmp/{self.network[-10:]}")  # short, because sockets lie below
        self.folder.mkdir()
        self.data = self.folder / "d"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.winhost, "cleanup", "--name", "lab-1", check=False)
        subprocess.run(["ip", "-n", self.network, "link", "add", "eth0", "type", "veth", "peer", "name", "up0"], check=True)
        for command in (["addr", "add", "10.89.7.2/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "up0", "up"]):
            subprocess.run(["ip", "-n", self.network, *command], check=True)

    def boot(self, profile="2022"):
        process = self.start([PORTHOLE, "winhost", "run", "--name", "lab-1", "--profile", profile, "--data", self.data,
                              "--programs", WINDOWS / "bin"], "host.log")
        self.wait_for(lambda: self.status().get("ready"), 90, "the host is ready")
        return process

    def winhost(self, verb, *words, check=True, stdin=""):
        done = subprocess.run([PORTHOLE, "winhost", verb, "--data", self.data, *words], capture_output=True, text=True, timeout=90,
                              input=stdin)
        if check and done.returncode != 0:
            self.fail(f"winhost {verb} {words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def status(self):
        done = self.winhost("status", check=False)
        return json.loads(done.stdout) if done.stdout else {}

    def exec(self, *command, **more):
        return self.winhost("exec", "--", *command, **more)

    def leftovers(self):
        """Mounts, cgroups, namespaces and loop devices of this host."""
        mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(self.folder) in line]
        groups = [str(path) for path in pathlib.Path("/sys/fs/cgroup").glob("*/porthole-winhost/lab-1-*")]
        spaces = list((self.data / "n").glob("*")) if self.data.exists() else []
        loops = [path.read_text() for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file")]
        return mounts + groups + [str(path) for path in spaces] + [image for image in loops if str(self.folder) in image]

    # EMU-01, EMU-09: programs, their streams, exit codes; services through a reboot
    def test_a_host_runs_programs_and_services(self):
        self.boot()
        self.assertIn("10.0.20348", self.exec("cmd", "/c", "ver").stdout)
        self.assertEqual(self.exec("cmd", "/c", "exit 7", check=False).returncode, 7)
        self.assertIn("--windows-priorityclass", self.exec("kubelet.exe", "--help").stdout)
        missing = self.exec("nothing.exe", check=False)
        self.assertEqual(missing.returncode, 126)
        self.assertIn("cannot find the file", missing.stderr)
        self.exec("cmd", "/c", "echo kept> C:\\note.txt")
        self.exec("reg", "add", "HKLM\\Software\\Lab", "/v", "Kept", "/d", "yes", "/f")
        self.winhost("reboot")
        self.assertTrue(self.status()["ready"])
        self.assertIn("kept", self.exec("cmd", "/c", "type C:\\note.txt").stdout)
        self.assertIn("yes", self.exec("reg", "query", "HKLM\\Software\\Lab").stdout)

    # EMU-09, EMU-10: killed, it is adopted; powered off, nothing is left
    def test_a_killed_host_is_adopted_and_power_off_leaves_nothing(self):
        process = self.boot()
        before = self.exec("cmd", "/c", "echo %TIME%")
        self.assertEqual(before.returncode, 0)
        container = self.host_process()
        os.kill(self.status()["pid"], signal.SIGKILL)
        process.wait(10)
        process = self.boot()
        self.assertEqual(self.host_process(), container, "the host container went on")
        self.winhost("shutdown")
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.leftovers(), [])

    def test_cleanup_after_a_kill_leaves_nothing(self):
        process = self.boot()
        os.kill(self.status()["pid"], signal.SIGKILL)
        process.wait(10)
        self.assertNotEqual(self.leftovers(), [])
        self.winhost("cleanup", "--name", "lab-1")
        self.assertEqual(self.leftovers(), [])

    # HNS-10: faults of the network service are switched from outside
    def test_bad_requests_get_one_line(self):
        self.boot("2019")
        self.assertIn("10.0.17763", self.exec("cmd", "/c", "ver").stdout)
        refused = self.winhost("fault", "nonsense", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(len(refused.stderr.splitlines()), 1)
        second = subprocess.run(self.inside([PORTHOLE, "winhost", "run", "--name", "lab-1", "--data", self.data]),
                                capture_output=True, text=True, timeout=30)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("another emulated host runs", second.stderr)
        self.assertTrue(self.status()["ready"], "the first one is not disturbed")
        missing = self.winhost("load", str(ROOT / "nothing.tar"), check=False)
        self.assertEqual(missing.returncode, 1)

    def host_process(self):
        """The host container's first process, whoever supervises it."""
        state = json.loads((self.data / "h/runc/host/state.json").read_text())
        return state["init_process_pid"]
