"""The project's own images for Windows nodes, as archives."""

import json
import subprocess
import sys
import tarfile
import tempfile
import pathlib
import unittest

from wine import ROOT

MAKE = ROOT / "packaging/windows_images/make_images.py"


def read(archive, digest):
    return json.load(archive.extractfile("blobs/" + digest.replace(":", "/")))


class PauseImage(unittest.TestCase):
    # PAU-03, PAU-09
    def test_one_list_names_linux_and_every_windows_build(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "pause.tar")
            subprocess.run([sys.executable, MAKE, "pause", output, "--name", "registry.porthole.internal/pause:1", "--name", "kubeletwin/pause:latest"],
                           check=True, timeout=60)
            with tarfile.open(output) as archive:
                index = json.load(archive.extractfile("index.json"))
                names = [entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]]
                self.assertEqual(len(names), 2)
                self.assertTrue(names[1].endswith("kubeletwin/pause:latest"), names)
                for entry in index["manifests"]:
                    platforms = [manifest["platform"] for manifest in read(archive, entry["digest"])["manifests"]]
                    self.assertIn(("linux", "amd64"), [(one["os"], one["architecture"]) for one in platforms])
                    builds = sorted(one["os.version"].split(".")[2] for one in platforms if one["os"] == "windows")
                    self.assertEqual(builds, ["14393", "16299", "17134", "17763", "18362", "19041", "19042", "19551", "20348", "26100"])

    # PAU-03
    def test_the_same_source_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            outputs = [pathlib.Path(folder, f"{number}.tar") for number in (1, 2)]
            for output in outputs:
                subprocess.run([sys.executable, MAKE, "pause", output], check=True, timeout=60)
            self.assertEqual(outputs[0].read_bytes(), outputs[1].read_bytes())


if __name__ == "__main__":
    unittest.main()
