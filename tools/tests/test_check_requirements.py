import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_requirements  # noqa: E402

ROWS = "| ID | Requirement |\n|---|---|\n| DNS-01 | Names resolve. |\n| POD-02 | Pods run (DNS-01). |\n"


class CheckRequirements(unittest.TestCase):
    def problems(self, files, rows=ROWS):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"docs/requirements.md": rows, **files}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_requirements.check(pathlib.Path(folder))

    def test_accepts_known_ids_in_tests_and_documents(self):
        self.assertEqual(self.problems({"tests/a.py": "# DNS-01, POD-02\n", "src/a_test.cc": "// POD-02\n", "docs/b.md": "see DNS-01"}), [])

    def test_refuses_an_unknown_id(self):
        self.assertEqual(self.problems({"tests/a.py": "\n# DNS-03\n"}), ["tests/a.py:2: DNS-03 is not in docs/requirements.md"])

    def test_refuses_ids_in_code(self):
        self.assertIn("src/a.cc:1: say in words", self.problems({"src/a.cc": "// POD-02"})[0])

    def test_leaves_alone_what_only_looks_like_an_id(self):
        self.assertEqual(self.problems({"src/a.cc": "DNS-1035 SHA-25 UTF-16"}), [])

    def test_refuses_rows_that_are_there_twice_or_empty(self):
        self.assertEqual(self.problems({}, "| DNS-01 | a |\n| DNS-01 |  |\n"),
                         ["docs/requirements.md: DNS-01 is there twice", "docs/requirements.md: DNS-01 has no sentence"])


if __name__ == "__main__":
    unittest.main()
