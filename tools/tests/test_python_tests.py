import contextlib
import io
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_tests  # noqa: E402


class Order:
    """What ran, and what ran at the same time as something else of its group."""

    def __init__(self):
        self.running, self.ended, self.overlaps = [], [], []
        self.lock = threading.Lock()
        self.together = threading.Barrier(2, timeout=60)


def case(order, group, is_alone):
    class Case(unittest.TestCase):
        shared = group
        alone = is_alone

        def runTest(self):
            with order.lock:
                order.overlaps += [group for other in order.running if other == group]
                order.running.append(group)
            order.together.wait()
            with order.lock:
                order.running.remove(group)
                order.ended.append((group, is_alone))

    return Case()


def flaky(times, name="flaky"):
    """A test that fails so many times, then passes."""

    class Case(unittest.TestCase):
        failures = times

        def id(self):
            return name

        def runTest(self):
            self.failures -= 1
            self.assertLess(self.failures, 0)

    return Case()


class Tries(unittest.TestCase):
    def run_all(self, tests, tries):
        run, printed = python_tests.Run(tries), io.StringIO()
        with contextlib.redirect_stdout(printed):
            run.run_all(tests, 1)
        return [(result.outcome, result.tries) for result in run.results], printed.getvalue()

    def test_a_test_that_failed_is_tried_again_and_told_so(self):
        results, printed = self.run_all([flaky(0, "a"), flaky(1, "b"), flaky(2, "c")], 2)
        self.assertEqual(results, [("passed", 1), ("passed", 2), ("failed", 2)])
        self.assertIn("s), tried again", printed)
        self.assertIn("s), at try 2", printed)

    def test_without_being_asked_nothing_is_tried_again(self):
        self.assertEqual(self.run_all([flaky(1)], 1)[0], [("failed", 1)])

    def test_where_many_fail_the_others_are_not_tried_again(self):
        tests = [flaky(1, f"test {number}") for number in range(python_tests.MOST_SECOND_TRIES + 1)]
        self.assertEqual([outcome for outcome, _ in self.run_all(tests, 2)[0]], ["passed"] * python_tests.MOST_SECOND_TRIES + ["failed"])


class Groups(unittest.TestCase):
    def run_all(self, order, tests, at_once):
        run = python_tests.Run()
        with contextlib.redirect_stdout(io.StringIO()):
            run.run_all(tests, at_once)
        self.assertEqual([result.text for result in run.results if result.outcome != "passed"], [])

    def test_tests_that_disturb_others_of_their_group_run_at_the_same_time_as_another_group(self):
        order = Order()
        self.run_all(order, [case(order, group, True) for group in "aabb"], 4)
        self.assertEqual((len(order.ended), order.overlaps), (4, []))

    def test_they_wait_for_all_that_do_not_disturb(self):
        order = Order()
        tests = [case(order, "a", True), case(order, "b", True), case(order, "a", False), case(order, "b", False)]
        self.run_all(order, tests, 4)
        self.assertEqual([alone for _, alone in order.ended], [False, False, True, True])

    def test_those_of_a_group_that_nothing_else_is_in_do_not_wait(self):
        order = Order()
        self.run_all(order, [case(order, "a", True), case(order, "b", False)], 4)  # each waits until the other runs
        self.assertEqual(len(order.ended), 2)

    def test_those_that_take_all_processors_wait(self):
        order = Order()
        heavy = [case(order, group, True) for group in "ab"]
        for test in heavy:
            test.takes_processors = True
        self.run_all(order, heavy + [case(order, "c", False), case(order, "d", False)], 4)
        self.assertEqual([alone for _, alone in order.ended], [False, False, True, True])


class SharedThings(unittest.TestCase):
    def test_each_is_ended_once_with_the_last_of_its_tests(self):
        events = []

        class Shared:
            def __init__(self, name):
                self.name = name

            def end(self):
                events.append(f"end of {self.name}")

        def case_of(thing, is_alone):
            class Case(unittest.TestCase):
                shared, alone = thing, is_alone

                def runTest(self):
                    events.append(thing.name)
            return Case()

        one, two = Shared("one"), Shared("two")
        with contextlib.redirect_stdout(io.StringIO()):
            python_tests.Run().run_all([case_of(one, False), case_of(two, False), case_of(one, True)], 1)
        self.assertEqual(events, ["one", "two", "end of two", "one", "end of one"])


class SlowTests(unittest.TestCase):
    def test_they_start_before_others(self):
        order = []

        class Some(unittest.TestCase):
            def test_quick(self):
                order.append("quick")

            def test_slow(self):
                order.append("slow")
            test_slow.slow = True
        with contextlib.redirect_stdout(io.StringIO()):
            python_tests.Run().run_all([Some("test_quick"), Some("test_slow")], 1)
        self.assertEqual(order, ["slow", "quick"])


class Parts(unittest.TestCase):
    def test_every_slow_test_is_in_one_part_and_the_others_are_in_all(self):
        class Some(unittest.TestCase):
            def test_quick(self):
                pass

            def test_long(self):
                pass

            def test_longer(self):
                pass
            test_long.slow = test_longer.slow = True
        tests = [Some(name) for name in ("test_quick", "test_long", "test_longer")]
        names = lambda part: [test._testMethodName for test in python_tests.without_other_parts(tests, part)]
        self.assertEqual([names("0/2"), names("1/2"), names("0/1")],
                         [["test_quick", "test_long"], ["test_quick", "test_longer"], ["test_quick", "test_long", "test_longer"]])


class Interruption(unittest.TestCase):
    def test_ends_the_tests_that_have_not_begun(self):
        source = """
            import os, signal, sys, threading, traceback, time, unittest
            def main_waits_for_results():
                frame = sys._current_frames()[threading.main_thread().ident]
                return "result" in [called.name for called in traceback.extract_stack(frame)]
            class Case(unittest.TestCase):
                shared, alone = "group", True
                def test_first(self):
                    while not main_waits_for_results():
                        time.sleep(0.01)
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.5)
                def test_second(self):
                    pass"""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test_case.py").write_text(textwrap.dedent(source))
            # What runs in the background ignores the signal, and so would its children.
            ended = subprocess.run([sys.executable, python_tests.__file__, folder], capture_output=True, text=True, timeout=60,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGINT, ""))
        self.assertIn("interrupted", ended.stdout)
        self.assertIn("test_first", ended.stdout)
        self.assertNotIn("test_second", ended.stdout)


if __name__ == "__main__":
    unittest.main()
