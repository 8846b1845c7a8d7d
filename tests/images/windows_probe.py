"""The tests' Windows image: probe.exe, whose source says what it can do."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/winhost/cri/test/probe.c"
NAME = "porthole.test/windows-probe:1"

sys.path.insert(0, str(ROOT / "packaging/windows_images"))
from windows_image import Layer, WindowsImage, write_oci  # noqa: E402


def make(archive):
    program = archive.with_suffix(".exe")
    subprocess.run(["x86_64-w64-mingw32-gcc-posix", "-Os", "-s", "-static", "-Wall", "-Werror", "-o", program, SOURCE], check=True, timeout=60)
    write_oci(archive, [WindowsImage(name=NAME, layers=[Layer({"app/probe.exe": program.read_bytes()})], entrypoint=["C:\\app\\probe.exe"],
                                     command=["wait"], working_dir="C:\\app")])
