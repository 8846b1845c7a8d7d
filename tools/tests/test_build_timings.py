import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import build_timings  # noqa: E402

LOG = """# ninja log v5
0\t1500\t10\tsrc/a.cc.o\tff
0\t500\t10\tlib/liba.a\tfe
1500\t2500\t11\tsrc/a.cc.o\tfd
3000\t3250\t12\tbin/porthole\tfc
"""


class ReadLog(unittest.TestCase):
    def test_the_last_line_of_an_output_counts(self):
        steps = build_timings.read_log(LOG)
        self.assertEqual([(step.output, step.seconds) for step in steps], [("src/a.cc.o", 1.0), ("lib/liba.a", 0.5), ("bin/porthole", 0.25)])

    def test_a_step_is_named_by_what_it_makes(self):
        self.assertEqual([step.kind for step in build_timings.read_log(LOG)], ["compile", "archive", "link"])


class Report(unittest.TestCase):
    def test_totals_come_before_the_slowest_steps(self):
        lines = list(build_timings.report("build/dev", build_timings.read_log(LOG), slowest=1))
        self.assertEqual(lines[0], "build/dev: 3 steps, 2 s one after the other")
        self.assertEqual([line.split()[0] for line in lines[1:4]], ["compile", "archive", "link"])
        self.assertEqual(lines[4].split(), ["1.0", "s", "src/a.cc.o"])
        self.assertEqual(len(lines), 5)


if __name__ == "__main__":
    unittest.main()
