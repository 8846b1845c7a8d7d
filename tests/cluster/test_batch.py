"""Work that ends: Jobs and CronJobs, on real containerd."""

import unittest

from harness import ClusterCase, needs_newest_kubectl, slow
from manifests import container, pod_spec


def job_spec(script, restart="Never", **fields):
    return {"template": {"spec": pod_spec(container(script=script), restartPolicy=restart)}, **fields}


def job(name, script, **fields):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": job_spec(script, **fields)}


def cron_job(name, schedule, script, **fields):
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": schedule, "jobTemplate": {"spec": job_spec(script)}, **fields}}


class Jobs(ClusterCase):  # WKL-05
    def test_runs_the_wanted_number_beside_each_other_and_completes(self):
        self.apply(job("sums", "echo done-$HOSTNAME; sleep 3", completions=4, parallelism=2))
        self.eventually(lambda: self.get("job", "sums").get("status", {}).get("active") == 2, 60, "two pods at once")
        self.kubectl("wait", "--for=condition=complete", "job/sums", "--timeout=120s", seconds=130)
        status = self.get("job", "sums")["status"]
        self.assertEqual((status["succeeded"], status.get("failed", 0), status.get("active", 0)), (4, 0, 0))
        self.assertIn("completionTime", status)
        self.assertIn("4/4", self.kubectl("get", "job", "sums"))
        self.assertEqual(len(self.list("pods", "job-name=sums")), 4)
        self.wait_event("Completed", "Job completed")

    def test_indexed_pods_know_which_they_are(self):
        self.apply(job("parts", "echo part $JOB_COMPLETION_INDEX", completions=3, parallelism=3, completionMode="Indexed"))
        self.kubectl("wait", "--for=condition=complete", "job/parts", "--timeout=120s", seconds=130)
        self.assertEqual(self.get("job", "parts")["status"]["completedIndexes"], "0-2")
        said = {self.kubectl("logs", found["metadata"]["name"]).strip() for found in self.list("pods", "job-name=parts")}
        self.assertEqual(said, {"part 0", "part 1", "part 2"})

    def test_gives_up_after_the_back_off_limit(self):
        self.apply(job("hopeless", "exit 3", backoffLimit=1))
        self.kubectl("wait", "--for=condition=failed", "job/hopeless", "--timeout=120s", seconds=130)
        conditions = {entry["type"]: entry for entry in self.get("job", "hopeless")["status"]["conditions"]}
        self.assertEqual(conditions["Failed"]["reason"], "BackoffLimitExceeded")
        self.assertEqual(self.get("job", "hopeless")["status"]["failed"], 2)

    def test_deadline_ends_it_and_its_pods(self):
        self.apply(job("slow", "sleep 600", activeDeadlineSeconds=3))
        self.kubectl("wait", "--for=condition=failed", "job/slow", "--timeout=120s", seconds=130)
        conditions = {entry["type"]: entry for entry in self.get("job", "slow")["status"]["conditions"]}
        self.assertEqual(conditions["Failed"]["reason"], "DeadlineExceeded")
        self.eventually(lambda: not self.list("pods", "job-name=slow"), 60, "its pods are gone")

    def test_suspended_has_no_pods_until_it_is_resumed(self):
        self.apply(job("later", "true", suspend=True))
        self.wait_event("Suspended")
        self.assertEqual(self.list("pods", "job-name=later"), [])
        self.kubectl("patch", "job", "later", "-p", '{"spec":{"suspend":false}}')
        self.kubectl("wait", "--for=condition=complete", "job/later", "--timeout=120s", seconds=130)

    def test_finished_job_is_deleted_after_its_time(self):
        self.apply(job("brief", "true", ttlSecondsAfterFinished=2))
        self.eventually(lambda: self.try_get("job", "brief") is None, 60, "the job is gone")
        self.eventually(lambda: not self.list("pods", "job-name=brief"), 60, "its pods are gone, too")


class CronJobs(ClusterCase):  # WKL-06
    @slow
    def test_makes_a_job_every_minute(self):
        self.apply(cron_job("tick", "* * * * *", "echo tick", successfulJobsHistoryLimit=1))
        self.eventually(lambda: self.get("cronjob", "tick").get("status", {}).get("lastSuccessfulTime"), 180, "a job has run")
        jobs = self.list("jobs")
        self.assertEqual(jobs[0]["metadata"]["ownerReferences"][0]["name"], "tick")
        self.assertRegex(jobs[0]["metadata"]["name"], r"^tick-\d+$")

    @needs_newest_kubectl
    def test_job_can_be_made_by_hand_while_it_is_suspended(self):
        self.apply(cron_job("paused", "* * * * *", "echo by hand", suspend=True))
        self.kubectl("create", "job", "now", "--from=cronjob/paused")
        self.kubectl("wait", "--for=condition=complete", "job/now", "--timeout=120s", seconds=130)
        self.assertEqual([found["metadata"]["name"] for found in self.list("jobs")], ["now"])

    @needs_newest_kubectl
    def test_schedule_that_nobody_understands_is_refused(self):
        error = self.kubectl_fails("create", "cronjob", "odd", "--image=x", "--schedule=61 * * * *")
        self.assertIn("spec.schedule: Invalid value", error)


if __name__ == "__main__":
    unittest.main()
