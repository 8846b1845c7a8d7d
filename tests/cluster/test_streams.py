"""Logs, exec, attach, cp and port-forward: over WebSocket with the newest kubectl, over SPDY/3.1 with 1.20."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import TOOLS, ClusterCase, run
from manifests import SLEEP, container, pod, web_pod


class Screen:
    """What a terminal showed so far."""

    def __init__(self, file):
        self._file, self.text = file, ""

    def read(self):
        """Takes what is there, without waiting; the end of the other side is no error."""
        while select.select([self._file], [], [], 0)[0]:
            try:
                self.text += os.read(self._file, 4096).decode(errors="replace")
            except OSError:
                break
        return True

    def write(self, text):
        os.write(self._file, text.encode())


class Streams:
    def start(self, name="box", *containers):
        self.apply(pod(name, *containers))
        self.wait_ready(name)
        return name

    @contextlib.contextmanager
    def background(self, *words, **options):
        """A kubectl that runs beside the test and is ended with it."""
        command = self.cluster.kubectl_command(self.client, "-n", self.namespace, *words)
        process = subprocess.Popen(command, env=self.cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        os.set_blocking(process.stdout.fileno(), False)
        process.printed = ""
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait(120)
            process.stdout.close()

    def read_until(self, process, pattern, seconds=20):
        def matched():
            process.printed += (process.stdout.read() or b"").decode(errors="replace")
            return re.search(pattern, process.printed)
        return self.eventually(matched, seconds, f"output matches {pattern}")

    # --- logs

    def test_logs_of_one_container_with_tail_and_limits(self):
        self.start("talk", container("one", "for i in 1 2 3 4 5; do echo line $i; done; " + SLEEP), container("two", "echo other >&2; " + SLEEP))
        said = lambda name: self.kubectl("logs", "talk", "-c", name)
        self.eventually(lambda: said("one").endswith("line 5\n") and said("two") == "other\n", 20, "both have said all")
        self.assertEqual(self.kubectl("logs", "talk", "-c", "one", "--tail=2"), "line 4\nline 5\n")
        self.assertEqual(self.kubectl("logs", "talk", "-c", "one", "--limit-bytes=6"), "line 1")
        self.assertRegex(self.kubectl("logs", "talk", "-c", "one", "--timestamps", "--tail=1"), r"^20\d\d-\d\d-\d\dT[\d:.]+(Z|\+00:00) line 5\n$")
        self.assertEqual(len(self.kubectl("logs", "talk", "--all-containers").splitlines()), 6)

    # API-17
    def test_logs_follow_until_the_end(self):
        self.apply(pod("count", container(script="for i in 1 2 3 4; do echo tick $i; sleep 0.5; done"), restartPolicy="Never"))
        self.eventually(lambda: self.get("pod", "count")["status"].get("phase") in ("Running", "Succeeded"), 30)
        self.assertEqual(self.kubectl("logs", "-f", "count", seconds=30), "tick 1\ntick 2\ntick 3\ntick 4\n")

    def test_logs_of_the_previous_container(self):
        self.apply(pod("fails", container(script="echo my last words; sleep 1; exit 1")))
        self.eventually(lambda: self.kubectl_run("logs", "fails", "--previous", check=False).stdout == "my last words\n", 40, "previous log")

    def test_logs_of_nothing_are_an_error(self):
        self.start()
        self.assertIn("previous terminated container", self.kubectl_fails("logs", "box", "--previous"))
        self.assertIn("not valid for pod", self.kubectl_fails("logs", "box", "-c", "nobody"))

    # --- exec and attach

    # API-17
    def test_exec_keeps_streams_apart_and_returns_the_exit_code(self):
        self.start()
        done = self.kubectl_run("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 42", check=False)
        self.assertEqual((done.stdout, done.returncode), ("out\n", 42))
        self.assertTrue(done.stderr.startswith("err\n"), done.stderr)
        self.assertIn("exit code 42", done.stderr)

    def test_exec_passes_input_through_unchanged(self):
        self.start()
        text = "".join(f"{number:08d} some words to carry\n" for number in range(150_000))
        done = self.kubectl_run("exec", "-i", "box", "--", "sha256sum", stdin=text, seconds=60)
        self.assertEqual(done.stdout.split()[0], hashlib.sha256(text.encode()).hexdigest())

    def test_exec_brings_much_output_whole(self):
        self.start()
        output = self.exec("box", "seq", "1", "500000", seconds=60)
        self.assertEqual(hashlib.sha256(output.encode()).hexdigest(),
                         hashlib.sha256("".join(f"{n}\n" for n in range(1, 500001)).encode()).hexdigest())

    def test_exec_of_nothing_is_an_error(self):
        self.start()
        self.assertRegex(self.kubectl_fails("exec", "box", "--", "no-such-program"), "no such file|not found")

    def test_exec_with_a_terminal_knows_its_size(self):
        self.start()
        with self.terminal(33, 111, "exec", "-it", "box", "--", "sh") as (screen, process):
            self.eventually(lambda: screen.read() and "#" in screen.text, 20, "a prompt")
            screen.write("stty size; tty\n")
            self.eventually(lambda: screen.read() and "33 111" in screen.text and "/dev/pts/" in screen.text, 10, screen.text)
            screen.write("exit 3\n")
            self.eventually(lambda: screen.read() and process.poll() is not None, 10, "the shell ended")
            self.assertEqual(process.returncode, 3)

    @contextlib.contextmanager
    def terminal(self, rows, columns, *words):
        own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        command = self.cluster.kubectl_command(self.client, "-n", self.namespace, *words)
        process = subprocess.Popen(command, env={**self.cluster.environment(), "TERM": "xterm"}, stdin=theirs, stdout=theirs,
                                   stderr=theirs, start_new_session=True)
        os.close(theirs)
        try:
            yield Screen(own), process
        finally:
            process.kill()
            process.wait(120)
            os.close(own)

    def test_attach_shows_what_the_first_process_prints(self):
        self.start("ticks", container(script="while :; do echo tick; sleep 0.3; done"))
        with self.background("attach", "ticks") as attached:
            self.read_until(attached, "tick\r?\ntick")

    # API-17
    def test_attach_passes_input(self):
        self.start("echo", container(script="while read line; do echo got $line; done; sleep 60", stdin=True))
        with self.background("attach", "-i", "echo", stdin=subprocess.PIPE) as attached:
            def answered():
                attached.stdin.write(b"hello\n")
                attached.stdin.flush()
                time.sleep(0.5)
                return b"got hello" in (attached.stdout.read() or b"")
            self.eventually(answered, 20, "the answer")

    # --- cp

    def test_files_are_copied_both_ways(self):
        self.start()
        folder = pathlib.Path(self.cluster.folder, self.namespace)
        (folder / "down").mkdir(parents=True)
        content = os.urandom(3_000_000)
        (folder / "up.bin").write_bytes(content)
        copy = lambda *words: run(self.cluster.kubectl_command(self.client, "-n", self.namespace, "cp", *words),
                                  env=self.cluster.environment(), cwd=folder)
        copy("up.bin", "box:/tmp/up.bin")
        self.assertEqual(self.exec("box", "sha256sum", "/tmp/up.bin").split()[0], hashlib.sha256(content).hexdigest())
        copy("box:/tmp/up.bin", "down/back.bin")
        self.assertEqual((folder / "down/back.bin").read_bytes(), content)

    # --- port-forward

    # API-17
    def test_port_forward_carries_several_connections(self):
        self.apply(web_pod("web"))
        self.wait_ready("web")
        self.exec("web", "sh", "-c", "head -c 2000000 /dev/urandom > /tmp/www/big; sha256sum < /tmp/www/big > /tmp/www/sum")
        with self.background("port-forward", "pod/web", ":8080") as forward:
            port = self.read_until(forward, r"Forwarding from 127\.0\.0\.1:(\d+) -> 8080").group(1)
            fetch = lambda path: subprocess.run(self.cluster.network.inside(["timeout", "60", str(TOOLS / "busybox"), "wget", "-qO-",
                                                f"http://127.0.0.1:{port}/{path}"]), capture_output=True, check=True).stdout
            self.assertEqual(fetch("").decode().strip(), "web")
            for _ in range(3):
                self.assertEqual(hashlib.sha256(fetch("big")).hexdigest(), fetch("sum").decode().split()[0])

    def test_port_forward_to_a_closed_port_tells_so_and_lives_on(self):
        self.apply(web_pod("web"))
        self.wait_ready("web")
        with self.background("port-forward", "pod/web", ":8099", ":8080") as forward:
            closed, opened = [self.read_until(forward, rf"127\.0\.0\.1:(\d+) -> {port}").group(1) for port in (8099, 8080)]
            fetch = lambda port: run(self.cluster.network.inside(["timeout", "60", str(TOOLS / "busybox"), "wget", "-qO-",
                                     f"http://127.0.0.1:{port}/"]), check=False)
            self.assertEqual(fetch(opened).stdout.strip(), "web")
            self.assertNotEqual(fetch(closed).returncode, 0)

    def test_port_forward_to_a_service(self):
        self.apply(web_pod("web"))
        self.wait_ready("web")
        self.kubectl("expose", "pod", "web", "--port=80", "--target-port=8080")
        with self.background("port-forward", "service/web", ":80") as forward:
            port = self.read_until(forward, r"127\.0\.0\.1:(\d+) -> 8080").group(1)
            self.assertEqual(self.fetch_from_node(f"http://127.0.0.1:{port}/"), "web")


class StreamsOfTheNewestKubectl(Streams, ClusterCase):
    client = "new"


class StreamsOfKubectl120(Streams, ClusterCase):
    client = "1.20"


if __name__ == "__main__":
    unittest.main()
