import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_lists  # noqa: E402

PLUGINS = check_lists.List("plugin", "plugins/*.h", r"^Plugin (\w+)\(", ("plugins/list.cc", "plugins/absent.cc"))


class CheckLists(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_lists.check(pathlib.Path(folder), [PLUGINS])

    def test_accepts_sources_that_are_named_matched_or_tests(self):
        self.assertEqual(self.problems({
            "a/CMakeLists.txt": "porthole_library(a SOURCES a.cc deep/b.cc\n LINKS base)\nporthole_test(a_test LINKS a)\n",
            "a/a.cc": "", "a/deep/b.cc": "", "a/a_test.cc": "",
            "p/CMakeLists.txt": "porthole_library(p SOURCES *.cc ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc)\n",
            "p/any.cc": "", "p/sub/any.cc": "",
        }), [])

    def test_refuses_a_source_that_nothing_names(self):
        self.assertEqual(self.problems({"a/CMakeLists.txt": "porthole_library(a SOURCES a.cc) # b.cc", "a/a.cc": "", "a/b.cc": ""}),
                         ["a/b.cc: no CMakeLists.txt names it"])

    def test_a_pattern_names_no_tests_and_no_deeper_folders(self):
        self.assertEqual(self.problems({"p/CMakeLists.txt": "porthole_library(p SOURCES *.cc)", "p/x_test.cc": "", "p/sub/x.cc": ""}),
                         ["p/sub/x.cc: no CMakeLists.txt names it", "p/x_test.cc: no CMakeLists.txt names it"])

    def test_refuses_what_is_declared_and_not_listed(self):
        self.assertEqual(self.problems({
            "plugins/CMakeLists.txt": "porthole_library(plugins SOURCES list.cc)",
            "plugins/list.cc": "// the first, before any second\nchain.add(first());", "plugins/all.h": "Plugin first();\nPlugin second(int);\n",
        }), ["plugins/all.h: plugin second is not in plugins/list.cc or plugins/absent.cc"])

    def test_refuses_a_plugin_that_calls_itself_otherwise(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"plugins.def": "A_PLUGIN(first, First, On)\nA_PLUGIN(second, Second, On)\n", "names.h": 'name = "First";',
                               "a.cc": "Plugin first();\n", "b.cc": 'Plugin second();\n"Secnod"'}.items():
                pathlib.Path(folder, name).write_text(text)
            listed = check_lists.List("plugin", "*.cc", r"^Plugin (\w+)\(", ("plugins.def",))
            self.assertEqual(list(check_lists.misnamed(pathlib.Path(folder), listed)),
                             ['b.cc: second() has no name "Second", as plugins.def calls it'])

    def test_refuses_a_line_that_is_there_twice(self):
        self.assertEqual(self.problems({"plugins/list.def": "// a\n// a\nPLUGIN(a)\nPLUGIN(b)\nPLUGIN(a)\n"}),
                         ["plugins/list.def: PLUGIN(a) is there 2 times"])

    def test_refuses_a_schema_that_the_order_leaves_out(self):
        with tempfile.TemporaryDirectory() as folder:
            api = pathlib.Path(folder, "api")
            api.mkdir()
            for name, text in {"order": "# toy.v1 is not read\nmeta.v1\n", "README.md": "", "meta.v1": "", "toy.v1": ""}.items():
                (api / name).write_text(text)
            self.assertEqual(list(check_lists.unordered_schemas(api)), ["api/toy.v1: is not in api/order"])

    def test_the_document_lists_the_folders_in_the_order_of_the_layers(self):
        table = "| Folder | Owns |\n|---|---|\n| `base/` | a |\n| `net/` | b |\n"
        self.assertEqual(list(check_lists.folder_order(table, ["base", "net"])), [])
        self.assertTrue(list(check_lists.folder_order(table, ["net", "base"])))


if __name__ == "__main__":
    unittest.main()
