"""Upstream's sanity suite: whether the driver of the other tests does what the specification demands, so that they prove something."""

import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as xml

from csi_case import BUILT, Programs
from harness import run

SANITY = BUILT / "csi-sanity"
# Of capabilities that the driver does not claim; the last is one that upstream leaves out itself.
LEFT_OUT = {"ModifyVolume", "volume attribute class", "GroupController", "VolumeGroupSnapshot", "Health", "GetSnapshot", "attach limit",
            "accessibility requirements", "pagination should detect"}


@unittest.skipUnless(SANITY.exists(), "the sanity suite is not built: ./run test csi")
class Sanity(unittest.TestCase):
    def check(self, access_type):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="porthole-sanity-")))
        node, controller = Programs(self, folder).start_driver("sanity.csi.test", "node-1")
        report = folder / "report.xml"
        done = run([SANITY, f"-csi.endpoint={node}", f"-csi.controllerendpoint={controller}", f"-csi.mountdir={folder / 'mount'}",
                    f"-csi.stagingdir={folder / 'staging'}", f"-csi.testvolumesize={64 << 20}", f"-csi.testvolumeexpandsize={128 << 20}",
                    f"-csi.testvolumeaccesstype={access_type}", f"-ginkgo.junit-report={report}"], seconds=300, check=False)
        cases = xml.parse(report).findall(".//testcase")
        failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
        self.assertEqual(failed, [], done.stdout[-8000:])
        skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
        self.assertEqual([name for name in skipped if not any(word in name for word in LEFT_OUT)], [])
        self.assertGreater(len(cases) - len(skipped), 60, "it ran")
        self.assertNotIn(str(folder), pathlib.Path("/proc/self/mounts").read_text())

    # STO-22
    def test_file_systems_are_as_the_specification_has_them(self):
        self.check("mount")

    # STO-22
    def test_block_devices_are_as_the_specification_has_them(self):
        self.check("block")
