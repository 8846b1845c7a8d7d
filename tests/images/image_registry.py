"""Writes images into the storage of a docker-registry."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))
import image_archive  # noqa: E402
import make  # noqa: E402

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Registry:
    """Writes the storage of a docker-registry. A layer is the bytes of a tar file, and is written once however many images have it."""

    def __init__(self, folder):
        self.root = folder / "docker/registry/v2"

    def add(self, repository, tag, layers, command=(), entrypoint=(), user="", environment=(PATH,)):
        config = image_archive.to_json({
            "architecture": "amd64", "os": "linux",
            "config": {"Entrypoint": list(entrypoint), "Cmd": list(command), "Env": list(environment), "User": user, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + image_archive.sha256(layer) for layer in layers]}})
        manifest = image_archive.to_json({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": image_archive.descriptor_of("application/vnd.oci.image.config.v1+json", config),
            "layers": [image_archive.descriptor_of("application/vnd.oci.image.layer.v1.tar", layer) for layer in layers]})
        make.add_to_registry(self.root, repository, tag, [config, *layers], manifest)
        return config, manifest


def layer_of_files(files, links=None, folders=None):
    texts = {path: (content.encode() if isinstance(content, str) else content, mode) for path, (content, mode) in files.items()}
    return image_archive.layer_of(image_archive.Image(name="", files=texts, links=links or {}, folders=folders or {}))
