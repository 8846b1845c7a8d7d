import hashlib
import io
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCH = "--- a/lib.c\n+++ b/lib.c\n@@ -1 +1 @@\n-{}\n+{}\n"


def tarball(path, files):
    with tarfile.open(path, "w:xz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


class DebianSources(unittest.TestCase):
    """Libraries that are compiled here are Debian's, its security fixes included. The tarballs are there already: nothing is fetched."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("work", "prefix", "sources"):
            (self.folder / name).mkdir()
        (self.folder / "debian_sources.sh").write_text((ROOT / "cmake/debian_sources.sh").read_text())

    def unpack(self, patches):
        """Runs unpack() for a library whose only file says "broken"; what its folder holds then, and what was said."""
        sources = self.folder / "sources"
        source = tarball(sources / "lib_1.orig.tar.xz", {"lib-1/lib.c": "broken\n"})
        line = f"lib lib lib_1.orig.tar.xz . {source}"
        line += " - -" if patches is None else f" lib_1-2.debian.tar.xz {tarball(sources / 'lib_1-2.debian.tar.xz', patches)}"
        (self.folder / "debian_sources.txt").write_text(line + "\n")
        script = f"""set -euo pipefail
            work={self.folder}/work prefix={self.folder}/prefix sources={sources}
            fail() {{ echo "$1: $2" >&2; exit 1; }}
            . {self.folder}/debian_sources.sh
            unpack lib"""
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True)

    def text(self):
        return (self.folder / "work/lib/lib.c").read_text()

    def test_patches_are_applied_in_the_order_of_the_series(self):
        result = self.unpack({"debian/patches/series": "# fixes\n\nfirst.patch\nsecond.patch -p1\n", "debian/patches/unused.patch": PATCH.format("broken", "odd"),
                              "debian/patches/second.patch": PATCH.format("mended", "good"), "debian/patches/first.patch": PATCH.format("broken", "mended")})
        self.assertEqual((result.returncode, self.text()), (0, "good\n"), result.stderr)
        self.assertEqual((self.folder / "prefix/contents.txt").read_text(), "lib lib_1.orig.tar.xz lib_1-2.debian.tar.xz\n")

    def test_a_patch_that_does_not_apply_ends_the_build(self):
        result = self.unpack({"debian/patches/series": "fix.patch\n", "debian/patches/fix.patch": PATCH.format("other", "good")})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("fix.patch of lib_1-2.debian.tar.xz does not apply", result.stderr)

    def test_a_package_may_have_no_patches(self):
        for patches in ({"debian/control": "Source: lib\n"}, None):
            with self.subTest(patches=patches):
                result = self.unpack(patches)
                self.assertEqual((result.returncode, self.text()), (0, "broken\n"), result.stderr)
                subprocess.run(["rm", "-r", self.folder / "work/lib"], check=True)

    def test_what_windows_nodes_open_to_the_network_is_patched(self):
        lines = [line.split() for line in (ROOT / "cmake/debian_sources.txt").read_text().splitlines() if not line.startswith("#")]
        for library in ("nghttp2", "wslay", "libyaml", "re2"):
            with self.subTest(library=library):
                self.assertTrue([line for line in lines if line[0] == library])
                self.assertFalse([line for line in lines if line[0] == library and line[5] == "-"])


if __name__ == "__main__":
    unittest.main()
