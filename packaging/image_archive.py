"""Writes container images as archives that `ctr images import`, `docker load` and `porthole image load` read.

An image here is one layer made of a few files. Archives are reproducible: same content, same bytes.
"""

import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass
class Image:
    """`files` maps a path in the image to its content and mode; `links` maps a path to a symbolic link's target."""

    name: str  # with its tag: porthole.test/busybox:1
    files: dict[str, tuple[bytes, int]]
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=lambda: ["PATH=/bin:/usr/bin:/sbin:/usr/sbin"])
    user: str = ""
    architecture: str = "amd64"


def write_oci(path, images):
    """Writes an OCI image layout as a tar file; every image is named by its reference."""
    with Archive(path) as archive:
        archive.add("oci-layout", to_json({"imageLayoutVersion": "1.0.0"}))
        descriptors = []
        for image in images:
            blobs, descriptor = manifest_of(image)
            for blob in blobs:
                archive.add("blobs/sha256/" + sha256(blob), blob)
            descriptor["annotations"] = names_of(image.name)
            descriptors.append(descriptor)
        archive.add("index.json", to_json({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": descriptors,
        }))


def manifest_of(image):
    """The blobs of the image, its manifest last, and what a manifest list says about it."""
    layer, config, _ = _build(image)
    packed = gzip.compress(layer, mtime=0)
    manifest = to_json({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor_of("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor_of("application/vnd.oci.image.layer.v1.tar+gzip", packed)],
    })
    descriptor = descriptor_of("application/vnd.oci.image.manifest.v1+json", manifest)
    descriptor["platform"] = {"architecture": image.architecture, "os": "linux"}
    return [packed, config, manifest], descriptor


def names_of(name):
    """The annotations from which the readers of archives know what an image is called."""
    return {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}


def write_docker(path, images):
    """Writes what `docker save` writes: manifest.json, one config and uncompressed layers."""
    with Archive(path) as archive:
        manifest = []
        for image in images:
            layer, config, diff_id = _build(image)
            config_path = sha256(config) + ".json"
            layer_path = diff_id + "/layer.tar"
            archive.add(layer_path, layer)
            archive.add(config_path, config)
            manifest.append({"Config": config_path, "RepoTags": [image.name], "Layers": [layer_path]})
        archive.add("manifest.json", to_json(manifest))


class Archive:
    """A tar file whose entries carry no time and no owner; an entry added twice is written once."""

    def __init__(self, path):
        self._tar = tarfile.open(path, "w", format=tarfile.GNU_FORMAT)
        self._names = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tar.close()

    def add(self, name, content):
        if name not in self._names:
            self._names.add(name)
            add_file(self._tar, name, content, 0o644)


def _build(image):
    layer = layer_of(image)
    diff_id = sha256(layer)
    config = {
        "Entrypoint": image.entrypoint or None,
        "Cmd": image.command or None,
        "Env": image.environment,
        "User": image.user,
        "WorkingDir": "/",
    }
    return layer, to_json({
        "architecture": image.architecture,
        "os": "linux",
        "config": {key: value for key, value in config.items() if value},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + diff_id]},
        "history": [{"created_by": "porthole"}],
    }), diff_id


def layer_of(image):
    """The tar file of the image's own files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for folder, mode in sorted(_all_folders(image).items()):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        for path, (content, mode) in sorted(image.files.items()):
            add_file(tar, path, content, mode)
        for path, target in sorted(image.links.items()):
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
            tar.addfile(entry)
    return stream.getvalue()


def _all_folders(image):
    folders = dict(image.folders)
    for path in [*image.files, *image.links, *image.folders]:
        parts = path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            folders.setdefault("/".join(parts[:length]), 0o755)
    return folders


def add_file(tar, name, content, mode):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def descriptor_of(media_type, blob):
    return {"mediaType": media_type, "digest": "sha256:" + sha256(blob), "size": len(blob)}


def to_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(blob):
    return hashlib.sha256(blob).hexdigest()
