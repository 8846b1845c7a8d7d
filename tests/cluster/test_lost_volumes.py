"""Volumes whose mount, file system or server is gone, under a pod that runs and while no agent does."""

import contextlib
import ctypes
import fcntl
import hashlib
import os
import pathlib
import signal
import unittest

from harness import DISTURBED, is_running, loop_images, run
from manifests import SLEEP, container
from test_csi import CsiCase
from test_local_volumes import claim
from test_volumes import NODE, mount_points

SHUT_DOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN; with 2, it answers from then on as a file system whose device is gone, and writes nothing
LIBC = ctypes.CDLL(None, use_errno=True)


class SilentMount:
    """A file system whose server says nothing: whoever looks at it waits, until the server ends and everyone is told that it is gone."""

    def __init__(self, path):
        self.server = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.server},rootmode=40000,user_id=0,group_id=0".encode()
        if LIBC.mount(b"silent", str(path).encode(), b"fuse", 0, options) != 0:
            self.end()
            raise OSError(ctypes.get_errno(), f"mounting at {path}")

    def end(self):
        if self.server is not None:
            os.close(self.server)
            self.server = None


class LostVolumes(CsiCase):
    shared = DISTURBED
    alone = True  # the node's agent is killed

    @contextlib.contextmanager
    def without_agent(self):
        """The agent is killed at once, and started again at the end."""
        supervisor, agent = self.cluster.processes()["supervisor"], self.cluster.processes()[NODE + "/agent"]
        os.kill(supervisor, signal.SIGSTOP)
        try:
            self.cluster.kill(NODE + "/agent")
            self.eventually(lambda: not is_running(agent, self.cluster.data), 20, "the agent has ended")
            yield
        finally:
            os.kill(supervisor, signal.SIGCONT)

    def staging_path(self, volume):
        folder = hashlib.sha256(volume.encode()).hexdigest()
        return self.cluster.data / "nodes" / NODE / "kubelet/plugins/kubernetes.io/csi" / self.driver / folder / "globalmount"

    def cover(self, path):
        """A silent mount over what is there, which the test takes away."""
        mount = SilentMount(path)
        self.addCleanup(run, ["umount", "--lazy", path], check=False)
        self.addCleanup(mount.end)
        return mount

    def put_user(self, name, claim_name):
        """A pod that has written "kept" into its volume, and its folder on the node."""
        self.apply(self.user(name, claim=claim_name))
        self.wait_ready(name)
        self.exec(name, "sh", "-c", "echo kept > /data/file && sync")
        return self.pod_folder(name)

    def ends(self, name, folder):
        self.kubectl("delete", "pod", name, "--timeout=60s")
        self.eventually(lambda: not folder.exists(), 60, f"nothing is left of the pod {name}")
        self.assertEqual([path for path in mount_points(pathlib.Path("/proc/mounts").read_text()) if str(folder) in path], [])

    def finds_its_data(self, name, claim_name):
        self.apply(self.user(name, claim=claim_name))
        self.wait_ready(name)
        self.assertEqual(self.exec(name, "cat", "/data/file"), "kept\n")

    def test_what_was_lost_while_no_agent_ran_comes_back_or_goes_and_no_data_with_it(self):
        self.driver_object()
        self.start_driver()
        volume, other = self.put_claim("lost"), self.put_claim("left")
        self.apply(claim("disk"))
        disk, lost, left = (self.put_user(name, name) for name in ("disk", "lost", "left"))
        mounted = self.host_mounts(lost)
        image = [path for path in loop_images() if path.startswith(str(self.cluster.data / "nodes" / NODE))]
        with self.without_agent():
            folder = os.open(disk / "volumes/kubernetes.io~local-volume/data", os.O_RDONLY)
            fcntl.ioctl(folder, SHUT_DOWN, (2).to_bytes(4, "little"))
            os.close(folder)
            for path in {*self.mounts_of(volume), *self.mounts_of(other)}:
                run(["umount", "--lazy", path])
            self.kubectl("delete", "pod", "left", "--wait=false")
        self.eventually(lambda: self.host_mounts(lost) == mounted, 60, "what a pod has is mounted again")
        self.assertIn("Input/output error", self.kubectl_fails("exec", "disk", "--", "cat", "/data/file"))
        self.eventually(lambda: not left.exists(), 60, "the pod that was to go has gone")
        self.ends("lost", lost)
        self.ends("disk", disk)
        self.eventually(lambda: not set(image) & set(loop_images()), 30, "its device is free")
        self.eventually(lambda: not self.staged(), 60, "nothing is staged any more")
        for name in (volume, other):
            self.assertEqual((self.storage / name / "file").read_text(), "kept\n")
        self.finds_its_data("disk-again", "disk")

    def test_what_does_not_answer_holds_up_its_own_pods_only(self):
        self.driver_object()
        self.start_driver()
        volume, other = self.put_claim("silent"), self.put_claim("gone")
        silent, gone, folder = self.put_user("silent", "silent"), self.put_user("gone", "gone"), self.host_folder("silent")
        with self.without_agent():
            mounts = [self.cover(path) for path in (self.staging_path(volume), folder)]
            self.cover(self.staging_path(other)).end()
            self.kubectl("delete", "pod", "gone", "--wait=false")
        source = {"name": "host", "hostPath": {"path": str(folder), "type": "Directory"}}
        self.apply(self.pod_of("waiting", container(script=SLEEP, volumeMounts=[{"name": "host", "mountPath": "/host"}]), volumes=[source]))
        self.eventually(lambda: self.exec("silent", "cat", "/data/file") == "kept\n", 60, "the new agent answers")
        self.apply(self.pod_of("other", container(script=SLEEP)))
        self.wait_ready("other")
        self.assertEqual(self.get("pod", "waiting")["status"]["phase"], "Pending")
        self.eventually(lambda: not gone.exists() and len(self.staged()) == 1, 60, "what is gone holds up neither its pod nor its volume")
        for mount in mounts:
            mount.end()
        self.wait_event("FailedMount", f"hostPath type check failed: {folder} is not a directory")
        self.kubectl("delete", "pod", "waiting", "--timeout=60s")
        self.ends("silent", silent)
        self.eventually(lambda: not self.staged(), 60, "it is not staged any more")
        self.assertEqual(self.mounts_of(volume), [])
        for name in (volume, other):
            self.assertEqual((self.storage / name / "file").read_text(), "kept\n")
        self.finds_its_data("again", "silent")


if __name__ == "__main__":
    unittest.main()
