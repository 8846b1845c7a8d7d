"""Named pipes of an emulated Windows host in its pods: piped.exe, unmodified, is the server on the host and the client in the pod."""

import subprocess

from harness import PORTHOLE, as_list
from windows_probe_case import ProbeCase

import windows_probe  # the harness knows where

HOST = "windows-1"
ON_HOST, IN_POD = "\\\\.\\pipe\\vendor-service", "\\\\.\\pipe\\service"
PIPED = "C:\\app\\piped.exe"


class NamedPipes(ProbeCase):
    def serve(self, mode):
        """The server, as a program on the host, until the test's end."""
        host = self.cluster.data / "nodes" / HOST
        program = host / "C/k/piped.exe"
        if not program.exists():
            program.write_bytes(windows_probe.compile_program("piped", self.cluster.folder).read_bytes())
        words = [PORTHOLE, "winhost", "exec", "--data", host, "--", "C:\\k\\piped.exe", "serve", ON_HOST, mode]
        server = subprocess.Popen(self.cluster.network.inside(list(map(str, words))), stdin=subprocess.DEVNULL, env=self.cluster.environment())
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.terminate)
        return server

    def piped(self, name, host_path=ON_HOST, mount_path=IN_POD, **source):
        return self.probe(name, "wait", memory="128Mi", nodeName=HOST, volumes=[{"name": "pipe", "hostPath": {"path": host_path, **source}}],
                          container_fields={"volumeMounts": [{"name": "pipe", "mountPath": mount_path}]})

    def talk(self, name, *words, check=True):
        done = self.kubectl_run("exec", name, "--", PIPED, *words, check=check)
        return done.stdout.splitlines()

    # POD-12, STO-06, EMU-10
    def test_programs_in_pods_talk_to_a_server_on_the_host(self):
        self.serve("message")
        self.apply(self.piped("one"), self.piped("two"))
        for name in ("one", "two"):
            self.wait_ready(name)
            self.assertEqual(self.talk(name, "wait", IN_POD, "90"), ["there"])
            self.assertEqual(self.talk(name, "talk", IN_POD, "hello", "twice", "big", "bye", check=False),
                             ["<HELLO>", "<one>", "<two>", "<300000 of Y>", "<ciao>", "read 109"])
            self.assertEqual(self.talk(name, "crowd", IN_POD, "8"), ["8 answers"])

    # POD-12
    def test_a_pipe_is_there_as_long_as_its_server(self):
        self.apply(self.piped("early"))
        self.wait_ready("early")
        self.assertEqual(self.talk("early", "talk", IN_POD, "hello", check=False), ["open 2"])
        self.serve("byte")
        self.assertEqual(self.talk("early", "wait", IN_POD, "90"), ["there"])
        self.assertEqual(self.talk("early", "talk", IN_POD, "hello"), ["<HELLO>"])
        self.assertEqual(self.talk("early", "talk", IN_POD, "end", check=False), ["read 109"])
        self.assertEqual(self.talk("early", "wait", IN_POD, "-90"), ["gone 2"])

    # POD-12, RUN-02: the pipe of the container runtime itself
    def test_the_runtimes_own_pipe_can_be_mounted(self):
        runtime = "\\\\.\\pipe\\containerd-containerd"
        self.apply(self.piped("agent", runtime, runtime))
        self.wait_ready("agent")
        self.assertEqual(self.talk("agent", "wait", runtime, "90"), ["there"])

    # POD-12
    def test_pipes_and_files_do_not_mix(self):
        rows = (("pipe-at-folder", ON_HOST, "C:\\service", f"the named pipe {ON_HOST} cannot be mounted at C:\\service"),
                ("folder-at-pipe", "C:\\k", IN_POD, f"C:\\k is not a named pipe and cannot be mounted at {IN_POD}"))
        for name, host_path, mount_path, reason in rows:
            told = self.kubectl_run("create", "-f", "-", stdin=as_list([self.piped(name, host_path, mount_path)])).stderr
            self.assertIn("Warning: spec.volumes[*].hostPath: a named pipe of the host", told)
            self.wait_event("Failed", f"The parameter is incorrect. (0x57): {reason}", 60)
            self.kubectl("delete", "pod", name, "--wait=false")
        typed = self.piped("typed", type="Directory")
        self.kubectl("create", "-f", "-", stdin=as_list([typed]), warnings=True)
        self.wait_event("FailedMount", "hostPath type check failed: " + ON_HOST + " is not a directory", 60)
