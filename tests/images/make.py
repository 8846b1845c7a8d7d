#!/usr/bin/env python3
"""Builds the images that the cluster tests run, from Debian's busybox-static: make.py FOLDER.

  busybox.docker.tar   porthole.test/busybox:1 as `docker save` writes it
  busybox2.oci.tar     porthole.test/busybox:2, an OCI archive; differs in /etc/image-version, for image updates
  registry/            a docker-registry data folder; serves pulled/busybox:1

The web server of the tests is this image running `httpd -f -p 8080 -h /www`.
"""

import functools
import hashlib
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging"))
import image_archive  # noqa: E402

PLACES_OF_BUSYBOX = [ROOT / "build/tools/busybox", pathlib.Path("/bin/busybox")]
REPOSITORY = "porthole.test/busybox"
COMPILER = "clang-19"
PORTABLE = ROOT / "packaging/web_image"  # sockets of both systems


@functools.cache
def compile_static(source):
    """Its bytes, which a run of many clusters compiles once."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, source.stem)
        subprocess.run([COMPILER, "-O1", "-static", "-s", f"-I{PORTABLE}", f"-I{PORTABLE}/linux", "-o", program, source, PORTABLE / "linux/platform.c"],
                       check=True)
        return program.read_bytes()


def busybox_program():
    """Its bytes, and the names of the programs that it is."""
    busybox = next(filter(pathlib.Path.exists, PLACES_OF_BUSYBOX), None)
    if not busybox:
        sys.exit("make.py: busybox is missing: install busybox-static, or let ./run test fetch it")
    return busybox.read_bytes(), subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()


def busybox_image(name, version):
    busybox, applets = busybox_program()
    return image_archive.Image(
        name=name,
        files={
            "bin/busybox": (busybox, 0o755),
            "bin/udp": (compile_static(HERE / "udp.c"), 0o755),
            "etc/passwd": (b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", 0o644),
            "etc/group": (b"root:x:0:\nnogroup:x:65534:\n", 0o644),
            "etc/image-version": (f"{version}\n".encode(), 0o644),
            "www/index.html": (f"busybox {version}\n".encode(), 0o644),
        },
        links={f"bin/{applet}": "busybox" for applet in applets if applet != "busybox"},
        folders={"tmp": 0o1777, "root": 0o700, "var": 0o755, "usr/bin": 0o755},
        command=["/bin/sh"],
    )


def write_registry(folder, image, repository, tag):
    """Lays an image out as docker-registry's file system storage, so that serving it needs no push."""
    archive = folder / "pulled.tar"
    image_archive.write_oci(archive, [image])
    with tarfile.open(archive) as tar:
        blobs = {pathlib.PurePath(entry.name).name: tar.extractfile(entry).read()
                 for entry in tar.getmembers() if entry.name.startswith("blobs/sha256/")}
        index = json.loads(tar.extractfile("index.json").read())
    archive.unlink()
    manifest = blobs.pop(index["manifests"][0]["digest"].removeprefix("sha256:"))
    add_to_registry(folder / "docker/registry/v2", repository, tag, blobs.values(), manifest)


def add_to_registry(root, repository, tag, blobs, manifest):
    """Adds an image of config and layers, `blobs`, to the storage of a docker-registry."""
    of_repository = root / "repositories" / repository
    for content in blobs:
        _link(of_repository / "_layers/sha256" / _add_blob(root, content))
    manifest = _add_blob(root, manifest)
    tags = of_repository / "_manifests/tags" / tag
    _link(of_repository / "_manifests/revisions/sha256" / manifest)
    _link(tags / "current", manifest)
    _link(tags / "index/sha256" / manifest)


def _add_blob(root, content):
    digest = hashlib.sha256(content).hexdigest()
    place = root / "blobs/sha256" / digest[:2] / digest / "data"
    if not place.exists():
        _write(place, content)
    return digest


def _link(folder, digest=None):
    """A folder that is named for a digest has a link to that."""
    _write(folder / "link", f"sha256:{digest or folder.name}".encode())


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    image_archive.write_docker(folder / "busybox.docker.tar", [busybox_image(REPOSITORY + ":1", 1)])
    image_archive.write_oci(folder / "busybox2.oci.tar", [busybox_image(REPOSITORY + ":2", 2)])
    registry = folder / "registry"
    registry.mkdir(exist_ok=True)
    write_registry(registry, busybox_image("pulled/busybox:1", 1), "pulled/busybox", "1")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    make(pathlib.Path(sys.argv[1]))
