#!/usr/bin/env python3
"""Makes the images of upstream's storage tests, in addition to those of its others: images.py FOLDER --programs FOLDER --others FOLDER.

`others` is the registry that ../conformance/images.py made. Attacher, provisioner, resizer, snapshotter and its controller are upstream's own
programs, compiled from their modules; the driver, its registrar, its probe and the populator are programs/ of this folder. Names and versions are those of
the manifests in test/e2e/testing-manifests/storage-csi, whatever version the program is of.
"""

import argparse
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parent / "images")]
import images  # noqa: E402  of tests/conformance
from image_registry import Registry, layer_of_files  # noqa: E402

VERSIONS = {"csi-attacher": "v4.11.0", "csi-node-driver-registrar": "v2.16.0", "csi-provisioner": "v6.1.1", "csi-resizer": "v2.1.0",
            "csi-snapshotter": "v8.5.0", "hello-populator": "v1.0.1", "hostpathplugin": "v1.17.1", "livenessprobe": "v2.18.0",
            "snapshot-controller": "v8.5.0"}


def make_images(folder, programs, others):
    # As links, so that it takes no room; the one image that is replaced is not to be written to there.
    shutil.copytree(others, folder, copy_function=os.link, ignore=shutil.ignore_patterns("hostpathplugin", "stamp"))
    registry = Registry(folder)
    busybox = images.busybox_layer(others.parent / "busybox")
    registry.add(f"{images.E2E}/busybox", "1.36.1-1", [busybox], ["sh"])
    for name, tag in VERSIONS.items():
        program = layer_of_files({name: ((programs / name).read_bytes(), 0o755)})
        registry.add(f"sig-storage/{name}", tag, [busybox, program], entrypoint=[f"/{name}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--others", type=pathlib.Path, required=True)
    words = parser.parse_args()
    stamp, mark = (words.others / "stamp").read_text() + images.image_archive.sha256(pathlib.Path(__file__).read_bytes()), words.folder / "stamp"
    if not mark.exists() or mark.read_text() != stamp:
        shutil.rmtree(words.folder, ignore_errors=True)
        make_images(words.folder, words.programs, words.others)
        mark.write_text(stamp)


if __name__ == "__main__":
    main()
