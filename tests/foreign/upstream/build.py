#!/usr/bin/env python3
"""Builds the upstream control plane that a module file here names: build.py MODULE-FILE OUTPUT [--jobs N].

Releases before 1.24 leave out of the module what their build generates: the definitions of all API types, which the API server serves and
needs. They are generated here in the same way, and because packages of a module cannot be added to, the one package that uses them is
taken out of the module into the program.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MODULE = "porthole.test/upstream"
GENERATED = "k8s.io/kubernetes/pkg/generated/openapi"
SERVER = "k8s.io/kubernetes/cmd/kube-apiserver/app"
MARK = "+k8s:openapi-gen=true"
TYPES_IN = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator", "k8s.io/apiserver")
VARIABLE = "k8s.io/component-base/version"


def go(*words, folder, capture=False, **variables):
    environment = {**os.environ, "CGO_ENABLED": "0", **variables}
    done = subprocess.run(["nice", "go", *words], cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE if capture else None)
    return done.stdout.strip() if capture else ""


def module_folder(name, folder):
    # `go list` names no folder of a module that is not downloaded yet.
    return pathlib.Path(json.loads(go("mod", "download", "-json", name, folder=folder, capture=True))["Dir"])


def marked_packages(folder):
    """Import paths of the packages whose types go into the definitions."""
    found = []
    for module in TYPES_IN:
        root = module_folder(module, folder)
        for path in root.rglob("doc.go"):
            place = path.parent.relative_to(root)
            if MARK in path.read_text() and not re.search("test|example", str(place)):
                found.append(f"{module}/{place}")
    # These mark single types.
    return sorted({*found, *(f"k8s.io/apimachinery/pkg/{place}" for place in ("api/resource", "runtime", "util/intstr", "version"))})


def generate_definitions(folder):
    generator = folder / "openapi-gen"
    go("build", "-mod=readonly", "-o", generator, "k8s.io/kube-openapi/cmd/openapi-gen", folder=HERE / "openapi-gen")
    subprocess.run(["nice", generator, "--go-header-file", os.devnull, "--output-dir", folder / "openapi", "--output-pkg", f"{MODULE}/openapi",
                    "--output-file", "openapi.go", *marked_packages(folder)], cwd=folder, env={**os.environ, "GOFLAGS": "-mod=mod"},
                   check=True, stdout=subprocess.DEVNULL)
    written = folder / "openapi/openapi.go"
    # The package of the definitions' words was another one then.
    written.write_text(written.read_text().replace("k8s.io/kube-openapi/pkg/validation/spec", "github.com/go-openapi/spec"))


def take_server_out(module, folder):
    (folder / "app").mkdir()
    for path in (module / "cmd/kube-apiserver/app").glob("*.go"):
        if not path.name.endswith("_test.go"):
            (folder / "app" / path.name).write_text(path.read_text().replace(f'"{GENERATED}"', f'"{MODULE}/openapi"'))
    main = folder / "main.go"
    main.write_text(main.read_text().replace(f'"{SERVER}"', f'"{MODULE}/app"'))


def build(module_file, output, jobs):
    with tempfile.TemporaryDirectory(prefix="porthole-upstream-") as name:
        folder = pathlib.Path(name)
        shutil.copy(HERE / "main.go", folder)
        shutil.copy(HERE / module_file, folder / "go.mod")
        shutil.copy((HERE / module_file).with_suffix(".sum"), folder / "go.sum")
        version = re.search(r"k8s\.io/kubernetes (v1\.(\d+)\S*)", (folder / "go.mod").read_text())
        module = module_folder("k8s.io/kubernetes", folder)
        if not (module / "pkg/generated/openapi/zz_generated.openapi.go").exists():
            generate_definitions(folder)
            take_server_out(module, folder)
        values = {"gitVersion": version[1], "gitMajor": "1", "gitMinor": version[2]}
        flags = " ".join(["-s -w", *(f"-X {VARIABLE}.{key}={value}" for key, value in values.items())])
        # Without the clouds of old releases, which are most of their code.
        go("build", "-mod=mod", "-tags", "providerless", "-p", jobs, "-trimpath", "-ldflags", flags, "-o", output, ".", folder=folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module_file")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    words = parser.parse_args()
    build(words.module_file, words.output.resolve(), words.jobs)


if __name__ == "__main__":
    main()
