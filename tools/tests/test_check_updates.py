import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from check_updates import linked_packages, security_updates  # noqa: E402

SECURITY = "        500 http://deb.debian.org/debian-security bookworm-security/main amd64 Packages"
MAIN = "        500 http://deb.debian.org/debian bookworm/main amd64 Packages"
STATUS = "        100 /var/lib/dpkg/status"


def policy(*versions, name="libssl-dev"):
    return "\n".join([f"{name}:", "  Installed: any", "  Candidate: any", "  Version table:", *versions])


class CheckUpdates(unittest.TestCase):
    """Nobody packages a library with a hole for which Debian has the fix."""

    def test_a_newer_version_of_the_security_archive_is_an_update(self):
        told = policy("     3.0.22-1 500", SECURITY, "     3.0.20-1 500", MAIN, " *** 3.0.19-1 100", STATUS)
        self.assertEqual(security_updates(told), {"libssl-dev": ("3.0.19-1", "3.0.22-1")})

    def test_nothing_else_is(self):
        for why, versions in {"newer, but elsewhere": ["     3.0.20-1 500", MAIN, " *** 3.0.19-1 100", STATUS],
                              "the newest": [" *** 3.0.22-1 500", SECURITY, STATUS],
                              "an older one": [" *** 3.0.23-1 500", MAIN, STATUS, "     3.0.22-1 500", SECURITY],
                              "not installed": ["     3.0.22-1 500", SECURITY]}.items():
            with self.subTest(why):
                self.assertEqual(security_updates(policy(*versions)), {})

    def test_each_package_is_looked_at_by_itself(self):
        told = policy("     2 500", SECURITY, name="absent") + "\n" + policy(" *** 1 500", MAIN, STATUS, name="old")
        self.assertEqual(security_updates(told), {})
        told += "\n" + policy("     2:2-1+deb12u1 500", SECURITY, " *** 2:2-1 100", STATUS, name="second")
        self.assertEqual(list(security_updates(told)), ["second"])

    def test_the_libraries_are_those_of_the_documentation(self):
        packages = linked_packages((ROOT / "docs/dependencies.md").read_text())
        self.assertLessEqual({"libssl-dev", "libnghttp2-dev", "libc6-dev", "libboost1.81-dev"}, set(packages))


if __name__ == "__main__":
    unittest.main()
