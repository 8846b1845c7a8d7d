#!/usr/bin/env python3
"""Builds pause.c without a C library and packs it as an OCI archive: make_image.py OUTPUT.tar [--compiler CC].

The archive is a few kilobytes and becomes part of the porthole program, which imports it on every Linux node, so that
no sandbox image has to be pulled.
"""

import argparse
import pathlib
import platform
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import image_archive  # noqa: E402

NAME = "registry.porthole.internal/pause:1"
FLAGS = ["-Os", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-s"]


def compile_pause(compiler):
    flags = [flag for flag in FLAGS if flag != "-fcf-protection=none" or platform.machine() == "x86_64"]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "pause")
        subprocess.run([compiler, *flags, "-o", program, HERE / "pause.c"], check=True)
        return program.read_bytes()


def pause_image(compiler, name=NAME):
    return image_archive.Image(
        name=name,
        files={"pause": (compile_pause(compiler), 0o755)},
        entrypoint=["/pause"],
        user="65535:65535",
        architecture=image_archive.ARCHITECTURES[platform.machine()],
    )


def main():
    arguments = argparse.ArgumentParser(description="builds the sandbox image")
    arguments.add_argument("output")
    arguments.add_argument("--compiler", default="clang-19")
    arguments.add_argument("--name", default=NAME)
    options = arguments.parse_args()
    image_archive.write_oci(options.output, [pause_image(options.compiler, options.name)])


if __name__ == "__main__":
    main()
