"""The signatures of released Windows programs. The signer is osslsigncode with a certificate that nobody trusts."""

import hashlib
import io
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import zipfile
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "packaging/linux"), str(ROOT / "packaging/windows")]
import package  # noqa: E402
import signing  # noqa: E402

SIGNER = """#!/bin/sh
set -e
osslsigncode sign -h sha256 -certs "{0}/certificate.pem" -key "{0}/key.pem" -in "$1" -out "$1.signed" >/dev/null
mv "$1.signed" "$1"
"""


def program():
    """The smallest file that is a program for Windows: headers and one section."""
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x22)
    optional = struct.pack("<HBBIIIIIQIIHHHHHHIIIIHHQQQQII", 0x20B, 14, 0, 512, 0, 0, 0x1000, 0x1000, 0x140000000, 0x1000, 512, 6, 0, 0, 0, 6, 0, 0,
                           0x2000, 512, 0, 3, 0, 1 << 20, 4096, 1 << 20, 4096, 0, 16) + bytes(16 * 8)
    section = struct.pack("<8sIIIIIIHHI", b".text", 1, 0x1000, 512, 512, 0, 0, 0, 0, 0x60000020)
    start = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + coff + optional + section
    return start.ljust(512, b"\0") + b"\xc3".ljust(512, b"\0")


# BIN-06
class Signing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def signer(self):
        if not shutil.which("osslsigncode"):
            self.skipTest("osslsigncode is not installed")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Test", "-days", "2", "-keyout", self.folder / "key.pem", "-out",
                        self.folder / "certificate.pem", "-addext", "extendedKeyUsage=codeSigning"], check=True, capture_output=True)
        return self.script("signer", SIGNER.format(self.folder))

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def verify(self, data):
        path = self.folder / "verified.exe"
        path.write_bytes(data)
        done = subprocess.run(["osslsigncode", "verify", "-CAfile", self.folder / "certificate.pem", "-in", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_programs_are_signed_and_what_is_changed_afterwards_is_not(self):
        command = self.signer()
        found = signing.signed(program(), command)
        self.assertFalse(signing.has_signature(program()))
        self.assertTrue(signing.has_signature(found))
        self.verify(found)
        with self.assertRaises(AssertionError):
            self.verify(found[:512] + b"\xcc" + found[513:])  # the first byte of the section: the checksum in front is not signed
        self.assertEqual(signing.signed(program(), ""), program(), "without a command nothing is signed")

    def test_a_command_that_does_not_sign_ends_the_release(self):
        for command, why in (("false", "ended with 1"), ("true", "has no signature"), (self.script("cuts", "#!/bin/sh\n: >$1\n"), "has no signature")):
            with self.subTest(command), self.assertRaisesRegex(SystemExit, why):
                signing.signed(program(), command)
        for data in (b"", b"MZ", b"MZ" + bytes(58) + b"\xff\xff\xff\xff", program()[:200]):
            self.assertFalse(signing.has_signature(data))

    def packager(self, command):
        """Of one program, which has two names."""
        binaries = self.folder / "windows/bin"
        binaries.mkdir(parents=True)
        (binaries / "porthole.exe").write_bytes(program())
        (binaries / "kubelet.exe").hardlink_to(binaries / "porthole.exe")
        (binaries / "one.dll").write_bytes(b"dll")
        made = object.__new__(package.Packager)
        made.output, made.windows, made.changes, made.windows_libraries, made.windows_licences = self.folder, self.folder / "windows", "", [], ""
        made.release = types.SimpleNamespace(version="1", epoch=1700000000, commit="0" * 40)
        with mock.patch.dict(os.environ, {signing.VARIABLE: command}):
            made.take_windows_programs(self.folder / "signed")
        return made

    def test_every_package_holds_the_signed_program_and_its_hash(self):
        made = self.packager(self.signer())
        with mock.patch.object(package, "ROOT", self.folder), mock.patch.object(package.command_help, "describe"), \
                mock.patch.object(package.completions, "powershell", return_value=""):
            (self.folder / "LICENSE").write_text("")
            (self.folder / "tree").mkdir()
            with tarfile.open(made.windows_node_tarball(self.folder / "tree")) as archive:
                packed = archive.extractfile("kubernetes/node/bin/kubelet.exe").read()
                bill = archive.extractfile("kubernetes/porthole-node.spdx.json").read().decode()
            with zipfile.ZipFile(made.windows_zip()) as archive:
                zipped, zipped_bill = archive.read("porthole/porthole.exe"), archive.read("porthole/porthole.spdx.json").decode()
        self.verify(packed)
        self.assertEqual(zipped, packed, "signed once")
        for text in (bill, zipped_bill):
            self.assertIn(hashlib.sha256(packed).hexdigest(), text)
        self.assertEqual((made.programs / "one.dll").read_bytes(), b"dll")
        self.assertTrue((made.programs / "kubelet.exe").samefile(made.programs / "porthole.exe"))

    def test_without_a_command_the_programs_of_the_build_are_packed(self):
        made = self.packager("")
        self.assertEqual(made.programs, self.folder / "windows/bin")

    def test_the_pause_image_holds_a_signed_program(self):
        if not shutil.which("x86_64-w64-mingw32-gcc-posix") or not shutil.which("clang-19"):
            self.skipTest("no compilers")
        archive = self.folder / "pause.tar"
        subprocess.run([sys.executable, ROOT / "packaging/windows_images/make_images.py", "pause", archive, "--build", "10.0.20348.1", "--sign", self.signer()], check=True)
        found = []
        with tarfile.open(archive) as image:
            for blob in filter(lambda entry: entry.isfile(), image.getmembers()):
                data = image.extractfile(blob).read()
                if data[:2] == b"\x1f\x8b":
                    with tarfile.open(fileobj=io.BytesIO(data)) as layer:
                        found += [layer.extractfile(entry).read() for entry in layer.getmembers() if entry.name.endswith("pause.exe")]
        self.assertEqual(len(found), 1)
        self.verify(found[0])

    def test_signed_packages_are_not_compared(self):
        result = subprocess.run([ROOT / "run", "package", "--check"], capture_output=True, text=True, env={**os.environ, signing.VARIABLE: "true"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("a signature differs each time: --check compares packages without one", result.stderr)


if __name__ == "__main__":
    unittest.main()
