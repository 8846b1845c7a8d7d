#!/usr/bin/env python3
"""Makes a Windows container image on Linux: build.py OUTPUT.tar --name REFERENCE [--layer FOLDER=WINDOWS_PATH]... [options].

    build.py app.tar --name example.test/app:1 --layer ./out='C:\\app' --workdir 'C:\\app' --entrypoint 'C:\\app\\app.exe' --cmd --verbose

The result is an OCI archive with one entry for each Windows build, for `porthole image load`, `ctr images import`, `skopeo copy --all`.
Each --layer takes a folder or a file; they are stacked in this order. Without --base the image runs on emulated hosts only; --base adds, for a build,
the layers of Microsoft's image, from its manifest and configuration (`crane manifest`, `crane config`), so that real hosts run it as well.
"""

import argparse
import json
import pathlib
import sys

from windows_image import BUILDS, Base, Layer, WindowsImage, write_oci


def layer_of(argument):
    source, separator, target = argument.rpartition("=")
    if not separator:
        sys.exit(f"build.py: {argument}: say where it goes: FOLDER=C:\\app")
    source = pathlib.Path(source)
    below_drive = target.replace("\\", "/").removeprefix("C:").removeprefix("c:").strip("/")
    prefix = below_drive + "/" if below_drive else ""
    if source.is_file():
        return Layer(files={below_drive or source.name: source.read_bytes()})
    if not source.is_dir():
        sys.exit(f"build.py: there is no {source}")
    found = sorted(source.rglob("*"))
    return Layer(
        files={prefix + str(path.relative_to(source)): path.read_bytes() for path in found if path.is_file()},
        folders=[below_drive] * bool(below_drive) + [prefix + str(path.relative_to(source)) for path in found if path.is_dir()],
    )


def base_of(argument):
    build, _, files = argument.partition("=")
    manifest, separator, config = files.partition(",")
    if not separator:
        sys.exit(f"build.py: --base {argument}: BUILD=MANIFEST.json,CONFIG.json is wanted")
    config = json.loads(pathlib.Path(config).read_text())
    return build, Base(json.loads(pathlib.Path(manifest).read_text())["layers"], config["rootfs"]["diff_ids"], config.get("history", []))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--layer", action="append", dest="layers", default=[], metavar="FOLDER=WINDOWS_PATH")
    parser.add_argument("--name", required=True, help="reference with a tag")
    parser.add_argument("--build", action="append", dest="builds", help=f"a Windows build, repeatable; default {' '.join(BUILDS)}")
    parser.add_argument("--base", action="append", default=[], metavar="BUILD=MANIFEST,CONFIG")
    parser.add_argument("--entrypoint", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--cmd", nargs=argparse.REMAINDER, default=[], metavar="WORD", help="last: takes all that follows")
    parser.add_argument("--shell", metavar="LINE", help="a finished command line instead of --entrypoint and --cmd")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--workdir", default="")
    parser.add_argument("--user", default="", help="ContainerUser or ContainerAdministrator")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--port", action="append", default=[], metavar="80/tcp")
    parser.add_argument("--volume", action="append", default=[], metavar="C:\\PATH")
    parser.add_argument("--os", default="windows", choices=["windows", "linux"])
    parser.add_argument("--architecture", default="amd64")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if ":" not in options.name.rpartition("/")[2]:
        sys.exit(f"build.py: --name {options.name}: it has no tag; write {options.name}:1")
    write_oci(options.output, [WindowsImage(
        name=options.name,
        layers=[layer_of(argument) for argument in options.layers],
        builds=options.builds or BUILDS,
        bases=dict(base_of(argument) for argument in options.base),
        entrypoint=options.entrypoint,
        command=[options.shell] if options.shell else options.cmd,
        args_escaped=bool(options.shell),
        environment=options.env,
        working_dir=options.workdir,
        user=options.user,
        labels=dict(label.partition("=")[::2] for label in options.label),
        ports=options.port,
        volumes=options.volume,
        os=options.os,
        architecture=options.architecture,
    )])


if __name__ == "__main__":
    main()
