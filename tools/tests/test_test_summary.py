import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import test_summary  # noqa: E402

GTEST = """<testsuites><testsuite name="Task">
<testcase name="Runs" classname="Task" status="run"/>
<testcase name="Fails" classname="Task" status="run"><failure message="no">where
why</failure></testcase>
<testcase name="Off" classname="Task" status="notrun"/>
</testsuite></testsuites>"""
CTEST = """<testsuite><testcase name="task_test" status="fail"><failure message="Failed"/></testcase>
<testcase name="gone_test" status="notrun"><skipped message="Unable to find executable"/></testcase></testsuite>"""


class TestSummary(unittest.TestCase):
    def totals(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, name + ".xml").write_text(text)
            found = test_summary.read(pathlib.Path(folder))
            return found.passed, found.failed, found.skipped

    def test_counts_cases_and_not_their_program_again(self):
        crashed = "gone_test (the whole program: it crashed, hung or is missing)"
        self.assertEqual(self.totals(task_test=GTEST, ctest=CTEST), (1, [crashed, "Task.Fails\n    where\n    why"], 1))

    def test_of_a_long_reason_the_end_is_told(self):
        many = GTEST.replace("where", "\n".join(f"line {number}" for number in range(30)))
        _, failed, _ = self.totals(task_test=many)
        self.assertIn("line 29\n    why", failed[0])
        self.assertNotIn("line 5\n", failed[0])

    def test_of_a_traceback_the_exception_is_told(self):
        text = "Traceback\n  raise\nAssertionError: too late\n" + "\n".join(f"NAME {number}" for number in range(30))
        _, failed, _ = self.totals(task_test=GTEST.replace("where\nwhy", text))
        self.assertIn("Task.Fails\n    AssertionError: too late\n    NAME 0\n", failed[0])
        self.assertNotIn("NAME 29", failed[0])

    def test_half_written_file_counts_as_a_failed_program(self):
        passed, failed, _ = self.totals(task_test=GTEST[:50], ctest=CTEST)
        self.assertEqual((passed, len(failed)), (0, 2))


if __name__ == "__main__":
    unittest.main()
