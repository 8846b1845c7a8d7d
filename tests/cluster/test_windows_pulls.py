"""Which image a Windows node takes from a registry. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

from harness import PORTHOLE, PULLED_IMAGE, REGISTRY, TOOLS, run
from manifests import container, pod
from test_windows_node import windows_pod
from windows_probe_case import ENDLESS, ProbeCase

import make  # the harness knows where
import windows_probe
import image_archive  # windows_probe knows where
import make_images
import windows_image

LOCKED = "127.0.0.1:5002"  # the same images, for who has the password
USER, PASSWORD = "someone", "porthole"
HASH = "$2b$05$abcdefghijklmnopqrstuuN0CUx65i874k8TpL6/WwIKvyNUHFi2W"  # bcrypt of PASSWORD
NOT_PULLED = ("ErrImagePull", "ImagePullBackOff")


class Pulls(ProbeCase):
    def add_windows_image(self, repository):
        """A list with nothing but an image for Windows, in the tests' registry."""
        config = image_archive.to_json({"architecture": "amd64", "os": "windows", "os.version": "10.0.20348.1", "config": {"Cmd": ["cmd"]},
                                        "rootfs": {"type": "layers", "diff_ids": []}})
        manifest = image_archive.to_json({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [],
            "config": image_archive.descriptor_of("application/vnd.oci.image.config.v1+json", config)})
        platform = {"architecture": "amd64", "os": "windows", "os.version": "10.0.20348.1"}
        index = image_archive.to_json({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [image_archive.descriptor_of("application/vnd.oci.image.manifest.v1+json", manifest) | {"platform": platform}]})
        root = self.cluster.images / "registry/docker/registry/v2"
        make.add_to_registry(root, repository, "1", [config], manifest)
        make.add_to_registry(root, repository, "1", [], index)

    def add_list(self, repository, tag, image):
        """A list with an entry for each of the image's builds."""
        blobs, index = windows_image.manifest_list(image)
        root, listed = self.cluster.images / "registry/docker/registry/v2", {entry["digest"] for entry in json.loads(index)["manifests"]}
        for blob in blobs:
            if "sha256:" + image_archive.sha256(blob) in listed:
                make.add_to_registry(root, repository, tag, [], blob)
        make.add_to_registry(root, repository, tag, blobs, index)

    def serve(self, network, address=REGISTRY, access=""):
        """The tests' registry, where only programs in that network namespace see it."""
        settings = self.cluster.folder / f"registry-{network}-{address}.yml"
        settings.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.cluster.images}/registry}}}}\nhttp: {{addr: '{address}'}}\n{access}")
        command = ["nsenter", f"--net=/run/netns/{network}", str(TOOLS / "docker-registry"), "serve", str(settings)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.terminate)

    def network_of(self, node):
        return f"porthole-{self.cluster.id}-{node}"

    def serve_locked(self):
        """To the Linux node, which is in the cluster's network, and to one of the Windows nodes."""
        passwords = self.cluster.folder / "passwords"
        passwords.write_text(f"{USER}:{HASH}\n")
        access = f"auth: {{htpasswd: {{realm: tests, path: {passwords}}}}}\n"
        for network in (self.cluster.network.name, self.network_of("windows-1")):
            self.serve(network, LOCKED, access)

    # POD-02
    def test_an_image_of_the_other_system_does_not_start_and_both_are_named(self):
        self.add_windows_image("windows/only")
        self.serve(self.network_of("windows-1"))
        self.apply(windows_pod("linux-image", nodeName="windows-1", container_fields={"image": PULLED_IMAGE}),
                   pod("windows-image", container(image=REGISTRY + "/windows/only:1"), nodeName="linux-1"))

        def waiting(name):
            state = self.status_of(name).get("state", {}).get("waiting", {})
            return state if state.get("reason") in NOT_PULLED else None
        def refused(name, *words):
            """Once the registry, which starts meanwhile, has answered."""
            told = waiting(name)["message"]
            for word in words:
                self.assertIn(word, told)
            return True
        self.eventually(lambda: refused("linux-image", "linux/amd64", "this host is windows/amd64 10.0.20348"), 90, "the one for Linux is refused")
        self.eventually(lambda: refused("windows-image", "no match for platform in manifest"), 60, "the one for Windows is refused")

    # POD-33
    def test_policies_decide_on_an_image_that_is_there(self):
        present = self.probe("present", "wait", container_fields={"image": windows_probe.NAME, "imagePullPolicy": "IfNotPresent"})
        always = self.probe("always", "wait", container_fields={"image": windows_probe.NAME, "imagePullPolicy": "Always"})
        self.apply(present, always)
        self.wait_ready("present")
        self.wait_event("Pulled", f'Container image "{windows_probe.NAME}" already present on machine', 60)
        self.wait_event("Failed", f'Failed to pull image "{windows_probe.NAME}"', 60)
        self.eventually(lambda: self.status_of("always")["state"]["waiting"]["reason"] in NOT_PULLED, 30, "its state")

    def add_secret(self, name, password):
        self.kubectl("create", "secret", "docker-registry", name, f"--docker-server={LOCKED}", f"--docker-username={USER}", f"--docker-password={password}")

    def of_both_systems(self, name, **fields):
        """Pods whose image is asked for with each start, since a node has the image once one of its pods got it."""
        self.apply(pod("linux-" + name, container(image=LOCKED + "/pulled/busybox:1", imagePullPolicy="Always"), nodeName="linux-1", **fields),
                   windows_pod("windows-" + name, ENDLESS, nodeName="windows-1",
                               container_fields={"image": LOCKED + "/windows/only:1", "imagePullPolicy": "Always"}, **fields))

    # POD-33, IMG-09
    def test_a_registry_with_a_password_gives_its_images_to_who_has_it(self):
        self.add_windows_image("windows/only")
        self.serve_locked()
        self.add_secret("right", PASSWORD)
        self.add_secret("wrong", "guessed")
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller"}, "imagePullSecrets": [{"name": "right"}]})
        self.of_both_systems("unknown")
        self.of_both_systems("refused", imagePullSecrets=[{"name": "wrong"}])
        self.of_both_systems("asking", imagePullSecrets=[{"name": "wrong"}, {"name": "right"}])
        self.of_both_systems("account", serviceAccountName="puller")

        def told_of(name, text):
            """The event of that pod."""
            return next(event for event in self.list("events") if event["involvedObject"]["name"] == name and text in event["message"])
        for system in ("linux", "windows"):
            for name in ("asking", "account"):
                self.wait_ready(f"{system}-{name}")
                self.assertEqual(told_of(f"{system}-{name}", "Successfully pulled image")["reason"], "Pulled")
            for name in (f"{system}-unknown", f"{system}-refused"):
                self.eventually(lambda: self.status_of(name)["state"]["waiting"]["reason"] in NOT_PULLED, 60, f"{name} is refused")
                event = self.eventually(lambda: told_of(name, "Failed to pull image"), 60, f"{name} is told why")
                self.assertEqual((event["type"], event["reason"]), ("Warning", "Failed"))
                self.assertRegex(event["message"], "401|require authorization|authorization failed")

    # POD-33
    def test_a_pull_secret_that_is_not_there_is_told_and_the_image_is_asked_for_without(self):
        self.serve_locked()
        self.of_both_systems("early", imagePullSecrets=[{"name": "later"}])
        for system in ("linux", "windows"):
            self.eventually(lambda: self.status_of(f"{system}-early")["state"]["waiting"]["reason"] in NOT_PULLED, 60, f"{system}-early waits")
        self.wait_event("FailedToRetrieveImagePullSecret", "later")

    # PAU-04, PAU-07
    def test_the_pause_image_is_the_one_that_the_runtime_is_told_and_one_for_another_build_is_named(self):
        node = "windows-1"
        for repository, build in (("oss/kubernetes/pause", "10.0.20348.1"), ("kubeletwin/pause", "10.0.17763.1")):
            self.add_list(repository, "3.5", make_images.pause_image(make_images.COMPILER, f"{REGISTRY}/{repository}:3.5", [build]))
        self.serve(self.network_of(node))
        with self.runtime_with(node, "--pause-image", REGISTRY + "/oss/kubernetes/pause:3.5"):
            self.apply(self.probe("fits", "wait", nodeName=node))
            self.wait_ready("fits")
            images = json.loads((self.cluster.data / "nodes" / node / "images/images.json").read_text())
            self.assertIn(REGISTRY + "/oss/kubernetes/pause:3.5", json.dumps(images), "it was pulled")
        with self.runtime_with(node, "--pause-image", REGISTRY + "/kubeletwin/pause:3.5"):
            self.apply(self.probe("too-old", "wait", nodeName=node))
            told = self.wait_event("FailedCreatePodSandBox", "failed to get sandbox image")
            for text in (REGISTRY + "/kubeletwin/pause:3.5", "this host is windows/amd64 10.0.20348", "windows/amd64 10.0.17763.1"):
                self.assertIn(text, told["message"])
            self.assertEqual((told["type"], told["involvedObject"]["name"]), ("Warning", "too-old"))
            self.assertEqual(self.status_of("too-old")["state"]["waiting"]["reason"], "ContainerCreating")
        self.wait_ready("too-old")
        self.assertEqual(self.status_of("fits")["restartCount"], 0)

    @contextlib.contextmanager
    def runtime_with(self, node, *flags):
        """The host's runtime with other flags: it is killed and started again, as its supervisor would. Pods run on."""
        processes, data = self.cluster.processes(), self.cluster.data / "nodes" / node
        words = pathlib.Path(f"/proc/{processes[f'{node}/winhost']}/cmdline").read_text().rstrip("\0").split("\0")
        is_ready = lambda: run([PORTHOLE, "winhost", "status", "--data", data], check=False).returncode == 0
        os.kill(processes["supervisor"], signal.SIGSTOP)
        try:
            self.cluster.kill(f"{node}/winhost")
            # Until it has ended, it holds the host's lock.
            self.eventually(lambda: not os.path.exists(f"/proc/{processes[f'{node}/winhost']}/exe"), 30, "the runtime has ended")
            with (self.cluster.data / f"logs/{node}-winhost.log").open("ab") as log:
                start = lambda: subprocess.Popen(["nsenter", f"--net=/run/netns/{self.network_of(node)}", *words, *flags],
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                own = start()

                def is_ready_or_started():
                    nonlocal own
                    if own.poll() is not None:  # a child that the killed one was about to start can hold the lock for a moment longer
                        own = start()
                    return is_ready()

                try:
                    self.eventually(is_ready_or_started, 30, "the runtime with other flags is ready")
                    yield
                finally:
                    own.kill()
                    own.wait(120)
        finally:
            os.kill(processes["supervisor"], signal.SIGCONT)
        self.eventually(is_ready, 30, "the host's own runtime is ready")


if __name__ == "__main__":
    unittest.main()
