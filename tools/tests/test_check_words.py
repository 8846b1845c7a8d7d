import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_words  # noqa: E402


class CheckWords(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_words.check(pathlib.Path(folder))

    def test_refuses_phrases_in_documents_and_names_the_line(self):
        self.assertEqual(self.problems({"docs/a.md": "Text.\nStart it anew.\n"}), ['docs/a.md:2: "anew": write "again"'])

    def test_refuses_british_spelling(self):
        for word in ("behaviour", "Licence", "neighbouring", "initialised", "optimisation", "realise"):
            self.assertEqual(self.problems({"a.md": f"The {word} of it.\n"}), [f'a.md:1: "{word}": write American spelling, as upstream'])
        self.assertEqual(self.problems({"a.md": "A neighbor promises an analysis by a specialist, and a surprise.\n"}), [])

    def test_refuses_phrases_in_literals(self):
        self.assertIn("is not a (valid)", self.problems({"src/a.cc": 'return error("\\"" + text + "\\" is no address");'})[0])

    def test_refuses_folders_in_literals_but_not_in_documents(self):
        self.assertEqual(self.problems({"src/a.cc": 'say("a folder of logs");\nsay("--folder names a directory");\n', "docs/a.md": "A folder of src.\n"}),
                         ['src/a.cc:1: "folder": write "directory"'])

    def test_refuses_phrases_and_folders_in_descriptions_of_the_schema_text(self):
        text = "# A folder.\ntype Volume\n  /// A folder.\n   1 path string\n  /// Nothing besides.\n   2 beside string\n"
        self.assertEqual(self.problems({"api/core.v1": text}),
                         ['api/core.v1:3: "folder": write "directory"', 'api/core.v1:5: "besides": write "next to", "in addition to"'])

    def test_leaves_code_comments_and_single_words_alone(self):
        self.assertEqual(self.problems({
            "README.md": "Run as `nobody there`:\n```\nstart anew\n```\n",
            "src/a.cc": '// beside it\n#include "a is no b"\nfind("nobody");  // is no user\n',
        }), [])

    def test_refuses_phrases_in_comments_of_headers(self):
        self.assertEqual(self.problems({"src/a.h": 'int a;  ///< besides b\nf("nobody");  // says `anew`\n'}),
                         ['src/a.h:1: "besides": write "next to", "in addition to"'])

    def test_refuses_a_class_without_a_comment(self):
        header = "/// Good.\ntemplate <class T>\nclass A {\n    struct Inner {};\n};\nclass B;\n\nstruct [[nodiscard]] C final : A<int> {\n};\n"
        problems = self.problems({"src/a.h": header, "src/a_fixture.h": "class D {};\n", "src/a.cc": "class E {};\n"})
        self.assertEqual(len(problems), 1)
        self.assertIn("src/a.h:8: C has no comment", problems[0])

    def test_leaves_tests_and_the_glossary_alone(self):
        self.assertEqual(self.problems({"src/a_test.cc": 'EXPECT_EQ(a, b) << "is no b";', "docs/glossary.md": "not: anew"}), [])

    def test_accepts_what_only_looks_like_a_phrase(self):
        self.assertEqual(self.problems({"docs/a.md": "It is no longer a node. There is no SELinux. It is no more than 4."}), [])


if __name__ == "__main__":
    unittest.main()
