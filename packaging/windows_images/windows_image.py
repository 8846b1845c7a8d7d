"""Windows container images as OCI archives, made on any system.

A Windows layer is a tar file whose C:\\ stands below `Files/`. An image is made once for each Windows build and all of them stand behind one
manifest list, from which a host takes the entry with its own build. Without a base the images run on emulated hosts, whose template stands in
for Windows itself; for real hosts `bases` adds the layers of Microsoft's own image, which are referred to and never downloaded.
"""

import gzip
import io
import pathlib
import sys
import tarfile
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import image_archive  # noqa: E402
from image_archive import descriptor_of, sha256, to_json  # noqa: E402

# Every build that an emulated host can have; nodes run on those from 17763 (Windows Server 2019) on.
BUILDS = [f"10.0.{build}.1" for build in (14393, 16299, 17134, 17763, 18362, 19041, 19042, 19551, 20348, 26100)]

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_REPARSE_POINT = 16, 32, 1024


@dataclass
class Base:
    """The layers of another image, in order: descriptors as in its manifest and diff ids as in its configuration."""

    layers: list[dict]
    diff_ids: list[str]
    history: list[dict] = field(default_factory=list)


@dataclass
class Layer:
    """`files` maps a path below C:\\ ("app/web.exe") to its content. A path whose last part starts with ".wh." hides what is below. `links`
    maps such a path to a symbolic link's target, `hives` a name ("System_Delta") to a hive with what the layer changes in the registry."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    hives: dict[str, bytes] = field(default_factory=dict)


@dataclass
class WindowsImage:
    name: str  # with its tag
    layers: list[Layer]
    builds: list[str] = field(default_factory=lambda: list(BUILDS))
    bases: dict[str, Base] = field(default_factory=dict)  # by build
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    args_escaped: bool = False  # entrypoint and command are finished command lines
    environment: list[str] = field(default_factory=list)
    working_dir: str = ""
    user: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    ports: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    stop_signal: str = ""
    architecture: str = "amd64"
    os: str = "windows"
    beside: list[image_archive.Image] = field(default_factory=list)  # the same for Linux, in the same list


def write_oci(path, images, compress=True):
    """Writes an archive in which each image is one manifest list."""
    with image_archive.Archive(path) as archive:
        archive.add("oci-layout", to_json({"imageLayoutVersion": "1.0.0"}))
        entries = []
        for image in images:
            blobs, index = manifest_list(image, compress)
            for blob in [*blobs, index]:
                archive.add("blobs/sha256/" + sha256(blob), blob)
            entries.append({**descriptor_of(INDEX, index), "annotations": image_archive.names_of(image.name)})
        archive.add("index.json", to_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}))


def manifest_list(image, compress=True):
    """All blobs of the image and, apart, the list that names its manifests."""
    layers = [_tar(layer, image.os) for layer in image.layers]
    packed = [gzip.compress(layer, mtime=0) if compress else layer for layer in layers]
    blobs, manifests = list(packed), []
    for build in image.builds:
        base = image.bases.get(build, Base([], []))
        config = _config(image, build, base, [sha256(layer) for layer in layers])
        media_type = LAYER if compress else LAYER.removesuffix("+gzip")
        manifest = to_json({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor_of(CONFIG, config),
            "layers": base.layers + [descriptor_of(media_type, layer) for layer in packed],
        })
        blobs += [config, manifest]
        platform = {"architecture": image.architecture, "os": image.os, "os.version": build}
        manifests.append({**descriptor_of(MANIFEST, manifest), "platform": platform})
    for image_of_linux in image.beside:
        blobs_of_linux, descriptor = image_archive.manifest_of(image_of_linux)
        blobs += blobs_of_linux
        manifests.append(descriptor)
    return blobs, to_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})


def _config(image, build, base, diff_ids):
    settings = {
        "Entrypoint": image.entrypoint,
        "Cmd": image.command,
        "ArgsEscaped": image.args_escaped,
        "Env": image.environment,
        "WorkingDir": image.working_dir,
        "User": image.user,
        "Labels": image.labels,
        "ExposedPorts": {port: {} for port in image.ports},
        "Volumes": {volume: {} for volume in image.volumes},
        "StopSignal": image.stop_signal,
    }
    return to_json({
        "architecture": image.architecture,
        "os": image.os,
        "os.version": build,
        "config": {key: value for key, value in settings.items() if value},
        "rootfs": {"type": "layers", "diff_ids": base.diff_ids + ["sha256:" + diff_id for diff_id in diff_ids]},
        "history": base.history + [{"created_by": "porthole"} for _ in diff_ids],
    })


def _tar(layer, system):
    """Windows layers name their files' attributes and security descriptors in PAX records; hosts fall back on defaults for the latter."""
    root = "Files/" if system == "windows" else ""
    folders = {"Files", "Hives"} if system == "windows" else set()
    for path in [*layer.files, *layer.links, *(folder + "/" for folder in layer.folders)]:
        parts = (root + path).split("/")[:-1]
        folders.update("/".join(parts[:length]) for length in range(1, len(parts) + 1))
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted(folders):
            tar.addfile(_entry(folder, tarfile.DIRTYPE, 0o755, FILE_ATTRIBUTE_DIRECTORY))
        files = {root + path: content for path, content in layer.files.items()} | {"Hives/" + name: hive for name, hive in layer.hives.items()}
        for path, content in sorted(files.items()):
            entry = _entry(path, tarfile.REGTYPE, 0o644, FILE_ATTRIBUTE_ARCHIVE)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        for path, target in sorted(layer.links.items()):
            entry = _entry(root + path, tarfile.SYMTYPE, 0o644, FILE_ATTRIBUTE_ARCHIVE | FILE_ATTRIBUTE_REPARSE_POINT)
            entry.linkname = target
            tar.addfile(entry)
    return stream.getvalue()


def _entry(name, kind, mode, attributes):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    entry.pax_headers = {"MSWINDOWS.fileattr": str(attributes)}
    return entry
