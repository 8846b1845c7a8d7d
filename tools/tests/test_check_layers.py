import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import check_layers  # noqa: E402

LAYERS = """
base base ,
runtime runtime base,
runtime_linux runtime runtime,
runtime_sim runtime/sim runtime,
store store runtime,
apiserver apiserver store,
kubelet kubelet runtime,
cmd cmd apiserver,kubelet
"""


class CheckLayers(unittest.TestCase):
    def problems(self, files, layers=LAYERS):
        with tempfile.TemporaryDirectory() as folder:
            for folder_name in ("base", "runtime", "store", "apiserver", "kubelet", "cmd"):
                pathlib.Path(folder, folder_name).mkdir()
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check(pathlib.Path(folder), check_layers.Layers(layers))

    def test_accepts_what_is_linked_directly_or_through_others(self):
        self.assertEqual(self.problems({
            "store/store.cc": '#include "store/store.h"\n#include "runtime/task.h"\n#include "base/result.h"\n#include <vector>\n',
        }), [])

    def test_refuses_a_folder_that_is_not_linked_and_names_the_line(self):
        problems = self.problems({"store/store.cc": '// text\n#include "runtime/sim/world.h"\n'})
        self.assertEqual(problems, ['store/store.cc:2: include of "runtime/sim/world.h": store does not link runtime_sim'])

    def test_refuses_upwards(self):
        self.assertIn("store lies above runtime", self.problems({"runtime/task.h": '#include "store/store.h"\n'})[0])

    def test_refuses_one_component_in_another(self):
        self.assertIn("meet only in the API", self.problems({"kubelet/pod.cc": '#include "apiserver/verbs.h"\n'})[0])

    def test_refuses_use_of_cmd_even_in_tests(self):
        self.assertIn("nothing uses cmd", self.problems({"kubelet/pod_test.cc": '#include "cmd/up.h"\n'})[0])

    def test_lets_a_test_link_more_than_its_folder(self):
        self.assertEqual(self.problems({"store/store_test.cc": '#include "runtime/sim/world.h"\n'}), [])

    def test_refuses_a_fuzz_target_that_does_not_link_what_it_or_a_header_beside_it_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "text_fuzz.cc").write_text('#include "peer.h"\n#include "base/text.h"\n')
            pathlib.Path(folder, "peer.h").write_text('#include "runtime/sim/world.h"\n')

            def problems(links):
                return list(check_layers.fuzz_problems(pathlib.Path(folder), f"text_fuzz text_fuzz.cc {links}\n",
                                                       check_layers.Layers(LAYERS)))

            self.assertEqual(problems("runtime_sim"), [])
            self.assertEqual(problems("runtime"), ['text_fuzz: include of "runtime/sim/world.h" by peer.h: '
                                                   'the fuzz target does not link runtime_sim'])

    def test_knows_that_a_folder_may_hold_two_libraries(self):
        self.assertEqual(self.problems({"kubelet/pod.cc": '#include "runtime/task.h"\n'}), [])

    def test_refuses_libraries_that_link_each_other(self):
        self.assertTrue(self.problems({}, LAYERS + "one base/one two\ntwo base/two one\n"))

    def test_refuses_units_that_include_each_other_and_names_every_include_of_the_cycle(self):
        self.assertEqual(self.problems({
            "store/history.h": '#include "store/store.h"\n',
            "store/store.h": "",
            "store/store.cc": '#include "store/store.h"\n#include "store/watch_hub.h"\n',
            "store/watch_hub.h": "",
            "store/watch_hub.cc": '#include "store/watch_hub.h"\n#include "store/history.h"\n',
        }), ["units include each other: store/history.h includes store/store.h; store/store.cc includes store/watch_hub.h; "
             "store/watch_hub.cc includes store/history.h"])

    def test_takes_the_files_of_both_systems_for_one_unit_with_their_header(self):
        self.assertEqual(self.problems({
            "runtime/process.h": '#include "runtime/task.h"\n',
            "runtime/process_linux.cc": '#include "runtime/process.h"\n',
            "runtime/process_windows.cc": '#include "runtime/process.h"\n',
            "runtime/task.h": "",
        }), [])
        self.assertTrue(self.problems({
            "runtime/process.h": '#include "runtime/task.h"\n',
            "runtime/task.h": "",
            "runtime/task_windows.cc": '#include "runtime/process.h"\n',
        }))

    def test_refuses_folders_that_include_each_other(self):
        problems = self.problems({
            "store/engine.h": "",
            "store/registry.cc": '#include "store/memory/memory.h"\n',
            "store/memory/memory.h": '#include "store/engine.h"\n',
        })
        self.assertEqual(problems, ["folders include each other: store/registry.cc includes store/memory/memory.h; "
                                    "store/memory/memory.h includes store/engine.h"])

    def test_lets_tests_include_in_cycles(self):
        self.assertEqual(self.problems({
            "store/engine.h": "",
            "store/engine_test.cc": '#include "store/memory/memory.h"\n',
            "store/memory/memory.h": '#include "store/engine.h"\n',
        }), [])

    def test_reports_each_cycle_once(self):
        self.assertEqual(len(self.problems({
            "store/a.h": '#include "store/b.h"\n',
            "store/b.h": '#include "store/c.h"\n#include "store/a.h"\n',
            "store/c.h": '#include "store/a.h"\n',
        })), 1)

    def test_compares_the_table_of_folders_with_the_order(self):
        table = "".join(f"| `{folder}/` | text |\n" for folder in check_layers.ORDER)
        self.assertEqual(list(check_layers.table_problems("| Folder | Owns |\n|---|---|\n" + table)), [])
        self.assertTrue(list(check_layers.table_problems(table + "| `gadgets/` | text |\n")))

    def test_names_a_folder_without_place_in_the_order(self):
        self.assertIn("no place", check_layers.order_problem("store", "gadgets"))


if __name__ == "__main__":
    unittest.main()
