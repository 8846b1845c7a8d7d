"""What earlier versions have left in tests/upgrade/kept: data directories, what was served of them, and requests with their answers."""

import json
import lzma
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).with_name("kept")


class Kept:
    def __init__(self, version):
        self.version, self.folder = version, ROOT / version

    @property
    def served(self):
        return json.loads(lzma.open(self.folder / "served.json.xz").read())

    @property
    def requests(self):
        path = self.folder / "requests.jsonl.xz"
        return [json.loads(line) for line in lzma.open(path)] if path.exists() else []

    def unpack(self, data):
        """The data directory, as the version's server has left it."""
        data.mkdir(parents=True)
        subprocess.run(["tar", "--extract", "--xz", "--no-same-owner", "--file", self.folder / "data.tar.xz", "--directory", data], check=True)

    def keep_data(self, data):
        """Without logs and sockets."""
        names = [name for name in ("pki", "encryption.yaml", "store", "admin.kubeconfig") if (data / name).exists()]
        subprocess.run(["tar", "--create", "--xz", "--sort=name", "--file", self.folder / "data.tar.xz", "--directory", data, *names], check=True)

    def keep_served(self, served):
        self._write("served.json.xz", json.dumps(served, sort_keys=True))

    def keep_requests(self, requests):
        self._write("requests.jsonl.xz", "".join(json.dumps(one, sort_keys=True) + "\n" for one in requests))

    def _write(self, name, text):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def versions():
    return sorted(path.name for path in ROOT.iterdir())
