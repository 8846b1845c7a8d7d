import gzip
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/linux"))
import command_help  # noqa: E402
import completions  # noqa: E402
import kubectl_licences  # noqa: E402
import manual  # noqa: E402
import materials  # noqa: E402
import package  # noqa: E402

HELP = {
    (): "Porthole.\n\nUsage: porthole COMMAND [OPTIONS]\n\nCommands:\n  up         start a cluster\n  token      make tokens\n  kubelet    run one\n\nMore:  porthole --help\n",
    ("up",): "Start a cluster.\nUsage: porthole up [OPTIONS]\n\nOptions:\n  -h,--help                   Print this\n  -d,--detach                 leave it running\n"
             "  --backend TEXT:{host-gw,vxlan}=host-gw\n                              between nodes\n  --kubeconfig TEXT           a file\n\nIt's -repeatable.\n\n"
             "Examples:\n  porthole up --detach   one\n",
    ("token",): "Make tokens.\nUsage: porthole token [OPTIONS] SUBCOMMAND\n\nOptions:\n  --data TEXT=/var            where\n\nSubcommands:\n"
                "  create                      make one\n  delete                      delete some\n",
    ("token", "create"): "make one\nUsage: porthole token create [OPTIONS]\n\nOptions:\n  --ttl TEXT=24h              how long\n",
    ("token", "delete"): "delete some\nUsage: porthole token delete [OPTIONS] tokens...\n\nPositionals:\n  tokens TEXT ... REQUIRED    tokens\n",
    ("kubelet",): "Run one.\n\n  --address VALUE                       to serve on\n  --fail-swap-on                        ignored\n",
}


def tree():
    return command_help.describe("porthole", help_of=lambda program, words: HELP[tuple(words)])


class Help(unittest.TestCase):
    def test_every_command_and_option_is_found(self):
        found = {" ".join(command.words): [option.names[-1] for option in command.options] for command in tree().everything()}
        self.assertEqual(found, {"": [], "up": ["--help", "--detach", "--backend", "--kubeconfig"], "token": ["--data"], "token create": ["--ttl"],
                                 "token delete": [], "kubelet": ["--address", "--fail-swap-on"]})

    def test_an_option_with_a_long_name_keeps_its_description(self):
        backend = tree().commands[0].options[2]
        self.assertEqual((backend.help, backend.values()), ("between nodes", ["host-gw", "vxlan"]))


class Manual(unittest.TestCase):
    def setUp(self):
        self.pages = dict(manual.pages(tree(), "1.2.3", "2026-01-02"))

    def test_each_command_has_a_page(self):
        self.assertEqual(sorted(self.pages), ["porthole-kubelet.1", "porthole-token.1", "porthole-up.1", "porthole.1"])

    def test_a_page_has_options_examples_and_the_words_after_them(self):
        page = self.pages["porthole-up.1"]
        for text in ("\\fB\\-d\\fR, \\fB\\-\\-detach\\fR\nleave it running", ".SH EXAMPLES\n.nf\nporthole up \\-\\-detach   one\n", "It's \\-repeatable."):
            self.assertIn(text, page)
        self.assertNotIn("Usage:", page)

    def test_commands_below_stand_in_their_page(self):
        self.assertRegex(self.pages["porthole-token.1"], r"(?s)token create\nmake one\n.TP\n.*ttl")


class Completions(unittest.TestCase):
    def complete(self, *words):
        script = completions.bash(tree()) + f"COMP_WORDS=({' '.join(map(completions.shell_quote, words))}); COMP_CWORD={len(words) - 1}; _porthole; echo \"${{COMPREPLY[*]}}\"\n"
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_bash_offers_commands_options_and_values(self):
        rows = ((["porthole", ""], ["up", "token", "kubelet"]), (["porthole", "t"], ["token"]), (["porthole", "token", ""], ["create", "delete"]),
                (["porthole", "token", "--data", "x", "create", "-"], ["--ttl"]), (["porthole", "up", "--d"], ["--detach"]),
                (["porthole", "up", "--backend", ""], ["host-gw", "vxlan"]), (["porthole", "up", "--backend", "=", "v"], ["vxlan"]),
                (["porthole", "up", "--kubeconfig", ""], []))
        for words, offered in rows:
            with self.subTest(words):
                self.assertEqual(self.complete(*words), offered)

    def test_quotes_of_descriptions_are_escaped(self):
        root = tree()
        root.commands[0].summary = "start 'it'"
        self.assertIn("'up:start '\\''it'\\'''", completions.zsh(root))
        self.assertIn("'start ''it'''", completions.powershell(root))
        self.assertIn("-d 'start '\\''it'\\'''", completions.fish(root))


class Versions(unittest.TestCase):
    def newer(self, one, other):
        return subprocess.run(["dpkg", "--compare-versions", one, "gt", other]).returncode == 0

    def test_commits_sort_by_time_and_before_their_release(self):
        early, late = (package.version_of("1.2.0", [], epoch, "abcdef0123") for epoch in (1700000000, 1700000001))
        self.assertTrue(self.newer(late, early))
        self.assertTrue(self.newer(package.version_of("1.2.0", ["v1.2.0"], 0, ""), late))
        self.assertTrue(self.newer(early, "1.1.9"))

    def test_the_program_and_the_build_name_the_same_version(self):
        self.assertIn(f'"{package.re.search(r"VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1])[1]}"',
                      (ROOT / "src/base/version.h").read_text())


class Files(unittest.TestCase):
    def make(self, folder):
        folder = pathlib.Path(folder)
        (folder / "tree").mkdir()
        content = package.Tree(folder / "tree")
        content.add("usr/bin/one", b"\x7fELF", 0o755)
        content.add("usr/share/doc/one/copyright", "text")
        content.link("usr/bin/two", "one")
        tarball = package.make_tarball(folder / "one.tar.gz", "one-1", content, 1700000000, [("usr/bin/three", "usr/bin/one")])
        deb = package.make_deb(folder, content, 1700000000, {"postinst": "#!/bin/sh\n"}, name="one", version="1", architecture="amd64",
                               relations={"Depends": "dpkg"}, summary="a test", description="first\n\nsecond")
        return deb, tarball

    def test_the_same_files_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            self.assertEqual([path.read_bytes() for path in self.make(one)], [path.read_bytes() for path in self.make(other)])

    def test_files_belong_to_root_and_have_the_time_of_the_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            deb, tarball = self.make(folder)
            listing = subprocess.run(["dpkg-deb", "-c", deb], check=True, capture_output=True, text=True, env={"TZ": "UTC", "PATH": "/usr/bin:/bin"}).stdout
            self.assertRegex(listing, r"-rwxr-xr-x root/root +4 2023-11-14 22:13 ./usr/bin/one\n")
            with tarfile.open(tarball) as archive:
                self.assertEqual({(entry.uid, entry.gid, entry.mtime) for entry in archive}, {(0, 0, 1700000000)})
                self.assertEqual(archive.extractfile("one-1/usr/bin/three").read(), b"\x7fELF")


class Guides(unittest.TestCase):
    # The commands in a guide are indented or in a fence of console lines; links in the text lead to the sources.
    def test_the_package_has_the_files_that_commands_of_its_guides_name(self):
        named = {}
        for guide in sorted((ROOT / "docs/guide").glob("*.md")):
            commands = "\n".join(package.re.findall(r"(?ms)^ *```console\n(.*?)^ *```", guide.read_text()))
            for path in package.re.findall(r"(?<![\w/.-])(?:samples|packaging)/[\w./-]*\w", commands):
                named.setdefault(path, guide.name)
        self.assertIn("samples/claim.yaml", named)
        packed = package.guide_files()
        for path, guide in named.items():
            self.assertTrue(any(f"{name}/".startswith(f"{path}/") for name in packed), f"{guide} uses {path}, which is not in the package")

    def test_the_program_that_makes_images_runs_from_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in package.guide_files():
                package.Tree(folder).add(name, (ROOT / name).read_bytes())
            build = pathlib.Path(folder) / "packaging/windows_images/build.py"
            subprocess.run([sys.executable, build, build.with_suffix(".tar"), "--name", "one:1", "--layer", f"{folder}/samples=C:\\app"], check=True)
            refused = subprocess.run([sys.executable, build, build.with_suffix(".tar"), "--name", "localhost:5000/one"], capture_output=True, text=True)
            self.assertEqual(refused.stderr, "build.py: --name localhost:5000/one: it has no tag; write localhost:5000/one:1\n")


class Materials(unittest.TestCase):
    def libraries(self, *linked, tarballs={}, source=("source", "1-2")):
        return {one["name"]: one for one in materials.linked_libraries(set(linked), tarballs, lambda package: source)}

    def test_what_is_linked_is_listed_with_its_licence_and_nothing_else(self):
        for release in (("libboost1.81-dev", "libstdc++-12-dev"), ("libboost1.83-dev", "libstdc++-14-dev", "libabsl-dev")):
            with self.subTest(release):
                found = self.libraries("libssl-dev", "libsqlite3-dev", *release)
                self.assertEqual(sorted(found), sorted(["Boost.Asio", "Boost.Beast", "Boost.JSON", "OpenSSL", "SQLite", "libstdc++",
                                                        *["Abseil"] * ("libabsl-dev" in release)]))
                self.assertEqual({one["package"] for one in found.values()}, {"libssl-dev", "libsqlite3-dev", *release})
                for library in found.values():
                    self.assertRegex(library["licence"], r"^[A-Za-z0-9.-]+( (AND|WITH) [A-Za-z0-9.-]+)*$", library["name"])
                    self.assertEqual(library["version"], "1-2")

    def test_a_library_without_a_row_stops_the_packages(self):
        with self.assertRaisesRegex(SystemExit, "libodd-dev: linked, but docs/dependencies.md has no row"):
            self.libraries("libssl-dev", "libodd-dev")

    def test_what_is_linked_is_read_from_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "used.h").write_text("")
            (folder / "link").symlink_to(folder)
            for name, script in {"ninja": """[ "$4" != inputs ] || printf 'one.o\nlibone.a\n'
                                     [ "$4" != deps ] || printf 'one.o: #deps 1 (VALID)\n    link/used.h\n\nbench.o: #deps 1 (VALID)\n    other.h\n'""",
                                 "dpkg-query": 'shift; for path; do echo "lib${path##*/}-dev:amd64: $path"; done; echo "linux-libc-dev: /x"'}.items():
                (folder / name).write_text(f"#!/bin/sh\n{script}\n")
                (folder / name).chmod(0o755)
            with mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"):
                self.assertEqual(materials.headers_of(folder, "one"), {os.path.realpath(folder / "used.h")})
                self.assertEqual(materials.linked_packages(folder, "one"), {"libused.h-dev"})

    def test_a_library_that_was_compiled_here_names_the_source_it_came_from(self):
        found = self.libraries("libwslay-dev", tarballs={"wslay": "aria2_1.36.0.orig.tar.gz"})
        self.assertEqual((found["wslay"]["version"], found["wslay"]["purl"]), ("1.36.0", "pkg:deb/debian/aria2@1.36.0?arch=source"))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "contents.txt").write_text("wslay wslay_1.orig.tar.gz wslay_1-3+deb1.debian.tar.xz\nopenssl openssl_3.orig.tar.gz -\n"
                                                               "googletest googletest_1.orig.tar.gz -\n")
            versions = {name: one["version"] for name, one in self.libraries(tarballs=materials.compiled(folder)).items()}
        self.assertEqual(versions, {"wslay": "1-3+deb1", "OpenSSL": "3"})

    def test_the_bill_is_the_same_each_time_and_whole(self):
        libraries = list(self.libraries("libssl-dev", "libsqlite3-dev", "libboost1.81-dev", source=None).values())
        files = {"usr/bin/porthole": {"sha256": "a" * 64, "sha1": "b" * 40}}
        one, other = (materials.document("porthole", "1", "Apache-2.0", libraries, files, "c" * 40, 1700000000) for _ in range(2))
        self.assertEqual(one, other)
        bill = json.loads(one)
        known = {entry["SPDXID"] for entry in [*bill["packages"], *bill["files"]]} | {"SPDXRef-DOCUMENT"}
        self.assertEqual(len(known), len(bill["packages"]) + len(bill["files"]) + 1, "identifiers are used twice")
        for relation in bill["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], known)


    def test_a_library_without_the_text_of_its_licence_stops_the_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libone-dev").mkdir()
            (pathlib.Path(folder) / "libone-dev/copyright").write_text("its terms")
            self.assertEqual(materials.licence_texts(["libone-dev", "libone-dev"], pathlib.Path(folder)).count("its terms"), 1)
            with self.assertRaisesRegex(SystemExit, "libtwo-dev/copyright is missing"):
                materials.licence_texts(["libone-dev", "libtwo-dev"], pathlib.Path(folder))


class Kubectl(unittest.TestCase):
    def test_modules_and_their_licences_come_from_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder) / "cache"
            for module, text in (("k8s.io/kubectl@v0.37.2", "Apache License\nVersion 2.0"), ("github.com/!one/two@v1.0.0", "Permission is hereby granted, free of charge")):
                (cache / module).mkdir(parents=True)
                (cache / module / "LICENSE").write_text(text)
            go = pathlib.Path(folder) / "go"
            go.write_text(f"""#!/bin/sh
[ "$1" != env ] || echo {cache}
[ "$1" != version ] || printf 'kubectl: go1.26\\n\\tpath\\tx\\n\\tdep\\tk8s.io/kubectl\\tv0.37.2\\th1:x\\n\\tdep\\tgithub.com/One/two\\tv1.0.0\\th1:y\\n'
""")
            go.chmod(0o755)
            with mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"):
                version, modules = kubectl_licences.modules("kubectl")
                text = kubectl_licences.texts(kubectl_licences.licence_files(modules))
            self.assertEqual((version, modules), ("v1.37.2", [("github.com/One/two", "v1.0.0"), ("k8s.io/kubectl", "v0.37.2")]))
            self.assertRegex(text, r"(?s)github.com/One/two v1.0.0 \(MIT\).*free of charge.*k8s.io/kubectl.*Apache License")

    def test_a_module_is_under_each_licence_that_its_files_grant(self):
        bsd = "Redistribution and use in source and\n binary forms, with or without modification"
        rows = (({"LICENSE": bsd}, "BSD-2-Clause"), ({"LICENSE": f"{bsd}\nto endorse or promote products"}, "BSD-3-Clause"),
                ({"LICENSE": "Apache License\n  Version 2.0", "LICENSE.libyaml": "Permission is hereby granted, free of charge"}, "Apache-2.0 AND MIT"),
                ({"LICENSE": "Apache License, Version 2.0", "LICENSE.docs": bsd}, "Apache-2.0"))
        for files, expression in rows:
            with self.subTest(expression):
                self.assertEqual(kubectl_licences.expression("module", files), expression)
        with self.assertRaisesRegex(SystemExit, "the licence of module is not known"):
            kubectl_licences.expression("module", {"LICENSE": "do as you like"})


class Changes(unittest.TestCase):
    def test_the_changelog_starts_with_the_version_that_is_built(self):
        version = package.re.search(r"project\(porthole VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        headings = package.re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text())
        self.assertEqual(headings[0], version)
        self.assertEqual(gzip.decompress(package.zipped("text")), b"text")
