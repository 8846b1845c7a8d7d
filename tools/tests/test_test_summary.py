import pathlib
import subprocess
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
    def read(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, name).write_text(text)
            return test_summary.read(pathlib.Path(folder))

    def totals(self, **files):
        found = self.read({name + ".xml": text for name, text in files.items()})
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

    def test_a_program_that_ends_with_an_error_after_its_cases_counts(self):
        _, failed, _ = self.totals(task_test=GTEST.replace("<failure", "<system-out").replace("</failure", "</system-out"), ctest=CTEST)
        self.assertIn("task_test (the whole program: all its cases passed, and it ended with an error)", failed)

    def test_what_passed_only_when_tried_again_is_named(self):
        log = "1/2 Test #2: task_test ....***Failed    0.00 sec\n    Test #2: task_test ....   Passed    0.00 sec\n2/2 Test #3: good_test ....   Passed    0.00 sec\n"
        ctest = '<testsuite><testcase name="task_test" status="run"/><testcase name="good_test" status="run"/></testsuite>'
        cluster = '<testsuite><testcase name="test_x" classname="cluster" tries="2"/><testcase name="test_y" classname="cluster"/></testsuite>'
        found = self.read({"ctest.xml": ctest, "ctest.log": log, "task_test.xml": GTEST, "good_test.xml": GTEST, "cluster.xml": cluster})
        self.assertEqual(found.tried_again, ["cluster.test_x", "task_test"])

    def test_of_a_program_that_was_tried_again_the_last_attempt_counts(self):
        again = '<testsuites><testcase name="Fails" classname="Task" status="run"/></testsuites>'
        ctest = '<testsuite><testcase name="task_test" status="run"/></testsuite>'
        self.assertEqual(self.totals(task_test=GTEST, task_test_1=again, ctest=ctest), (1, [], 0))
        self.assertEqual(self.totals(task_test=GTEST, task_test_1=again[:30], ctest=ctest)[0], 0)

    def summary(self, steps):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "one.xml").write_text('<testsuite><testcase name="a"/></testsuite>')
            pathlib.Path(folder, "failed_steps").write_text(steps)
            return subprocess.run([sys.executable, test_summary.__file__, folder], capture_output=True, text=True)

    def test_a_step_that_failed_without_a_case_is_a_failure(self):
        told = self.summary("headers\n")
        self.assertEqual((told.returncode, told.stdout), (1, "failed step: headers\n1 passed, 1 failed\n"))
        self.assertEqual(self.summary("").returncode, 0)


if __name__ == "__main__":
    unittest.main()
