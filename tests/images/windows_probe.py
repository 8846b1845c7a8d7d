"""The tests' Windows image: probe.exe and piped.exe, whose sources say what they can do."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src/winhost/cri/test"
NAME = "porthole.test/windows-probe:1"

sys.path.insert(0, str(ROOT / "packaging/windows_images"))
from windows_image import Layer, WindowsImage, write_oci  # noqa: E402


def compile_program(name, folder):
    program = folder / f"{name}.exe"
    subprocess.run(["x86_64-w64-mingw32-gcc-posix", "-Os", "-s", "-static", "-Wall", "-Werror", "-o", program, SOURCES / f"{name}.c"],
                   check=True, timeout=60)
    return program


def make(archive):
    files = {f"app/{name}.exe": compile_program(name, archive.parent).read_bytes() for name in ("probe", "piped")}
    write_oci(archive, [WindowsImage(name=NAME, layers=[Layer(files)], entrypoint=["C:\\app\\probe.exe"], command=["wait"],
                                     working_dir="C:\\app")])
