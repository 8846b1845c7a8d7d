"""Which image a Windows node takes from a registry. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import subprocess
import unittest

from harness import PULLED_IMAGE, REGISTRY, TOOLS
from manifests import container, pod
from test_windows_node import windows_pod
from windows_probe_case import ProbeCase

import make  # the harness knows where
import windows_probe
import image_archive  # windows_probe knows where


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

    def serve_on(self, node):
        """The tests' registry, where only programs of that node see it."""
        settings = self.cluster.folder / f"registry-{node}.yml"
        settings.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.cluster.images}/registry}}}}\nhttp: {{addr: '{REGISTRY}'}}\n")
        command = ["nsenter", f"--net=/run/netns/porthole-{self.cluster.id}-{node}", str(TOOLS / "docker-registry"), "serve", str(settings)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(server.wait, 120)
        self.addCleanup(server.terminate)

    # POD-02
    def test_an_image_of_the_other_system_does_not_start_and_both_are_named(self):
        self.add_windows_image("windows/only")
        self.serve_on("windows-1")
        self.apply(windows_pod("linux-image", nodeName="windows-1", container_fields={"image": PULLED_IMAGE}),
                   pod("windows-image", container(image=REGISTRY + "/windows/only:1"), nodeName="linux-1"))

        def waiting(name):
            state = self.status_of(name).get("state", {}).get("waiting", {})
            return state if state.get("reason") in ("ErrImagePull", "ImagePullBackOff") else None
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
        self.eventually(lambda: self.status_of("always")["state"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff"), 30, "its state")


if __name__ == "__main__":
    unittest.main()
