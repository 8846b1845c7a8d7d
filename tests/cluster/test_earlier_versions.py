"""What earlier versions have left in tests/upgrade/kept: this version opens their data directories, serves what they have served, lets watches go
on, and answers the requests of their clients and agents as they did. `./run test upgrade --record` makes what is kept."""

import hashlib
import json
import os
import re
import sqlite3
import sys
import unittest

from control_plane_case import ControlPlaneCase
from harness import PORTHOLE, ROOT, run

UPGRADE = ROOT / "tests/upgrade"
sys.path.insert(0, str(UPGRADE))
from known_changes import KNOWN  # noqa: E402
from kept_versions import Kept, versions  # noqa: E402


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
class EarlierVersions(ControlPlaneCase):
    def check(self, version):
        Kept(version).unpack(self.folder / "data")
        self.server.start()
        words = [sys.executable, str(UPGRADE / "earlier_api.py"), "check", str(self.server.kubeconfig), version]
        found = json.loads(run(self.network.inside(words), seconds=200).stdout)
        for what, lines in found.items():
            with self.subTest(what):
                unknown = [line for line in lines if not any(re.search(known, line) for known in KNOWN)]
                self.assertFalse(unknown, f"of {version}:\n" + "\n".join(unknown))

    def files(self):
        data = self.folder / "data"
        return {path.relative_to(data): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(data.rglob("*")) if path.is_file() and path.name not in ("lock", "store.db-shm", "store.db-wal")}

    # API-22
    def test_the_data_of_a_newer_version_are_refused_in_one_line_and_left_alone(self):
        Kept(versions()[-1]).unpack(self.folder / "data")
        database = self.folder / "data/store/store.db"
        connection = sqlite3.connect(database)
        connection.execute("PRAGMA user_version=2")
        connection.close()
        self.check_refused("backup", self.folder / "backup")
        (self.folder / "data/pki/apiserver.crt").unlink()  # a start would issue it again
        self.check_refused("server", "--port", "7443")

    def check_refused(self, *command):
        before = self.files()
        words = [str(PORTHOLE), *map(str, command), "--data", str(self.folder / "data")]
        refused = run(self.network.inside(words), check=False)
        self.assertNotEqual(refused.returncode, 0, command)
        self.assertRegex(refused.stderr.strip().splitlines()[-1],
                         r"store\.db: it was written by a newer Porthole \(format 2, this one knows 1\): use that, or restore a backup")
        self.assertEqual(self.files(), before, command)


def add_test(version):
    def test(self):
        self.check(version)
    setattr(EarlierVersions, f"test_what_{version.replace('-', '_')}_has_left_is_served_and_answered", test)


for kept in versions():
    add_test(kept)


if __name__ == "__main__":
    unittest.main()
