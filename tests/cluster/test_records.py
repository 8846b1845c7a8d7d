"""What a cluster records of requests, and what its disk shows of secrets."""

import json
import unittest

from harness import DISTURBED, ClusterCase

HIDDEN = "correct-horse-battery-staple"


class Records(ClusterCase):
    def events(self):
        """Of the log's whole lines: the last one may be on its way."""
        lines = (self.cluster.data / "logs/audit.log").read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def test_writes_and_refusals_are_recorded_and_no_leases(self):
        self.kubectl("create", "configmap", "seen", "--from-literal=a=b")
        self.kubectl("get", "pods")
        self.kubectl_fails("get", "configmap", "seen", "--as=jane")

        def recorded():
            ours = [event for event in self.events() if event.get("objectRef", {}).get("namespace") == self.namespace]
            made = [event for event in ours if event["verb"] == "create" and event["objectRef"].get("name") == "seen"]
            refused = [event for event in ours if event["responseStatus"]["code"] == 403]
            self.assertEqual([event["level"] for event in made], ["Metadata"])
            self.assertNotIn("requestObject", made[0])
            self.assertEqual([(event["verb"], event["impersonatedUser"]["username"]) for event in refused], [("get", "jane")])
            self.assertFalse([event for event in ours if event["objectRef"]["resource"] == "pods" and event["verb"] == "list"])
            return True
        self.eventually(recorded, 20, "the log has the write and the refusal")
        served = [event for event in self.events() if event["responseStatus"]["code"] not in (401, 403)]  # every refusal is recorded
        recorded_of = {event.get("objectRef", {}).get("resource") for event in served}
        self.assertFalse(recorded_of & {"leases", "events"}, "those of nodes, which come all the time")
        self.assertFalse([event["requestURI"] for event in self.events() if event["requestURI"].startswith(("/readyz", "/healthz", "/livez"))])


class EncryptedSecrets(ClusterCase):
    shared = DISTURBED
    alone = True  # the server is restarted

    def traces(self):
        found = []
        for path in (self.cluster.data / "store").iterdir():
            if HIDDEN.encode() in path.read_bytes():
                found.append(path.name)
        return found

    def secret(self):
        return self.kubectl("get", "secret", "hidden", "-o", "go-template={{.data.text | base64decode}}")

    def test_a_secret_is_not_on_the_disk_and_its_key_can_be_rotated(self):
        self.kubectl("create", "configmap", "plain", f"--from-literal=text={HIDDEN}")
        self.assertTrue(self.traces(), "the search finds what is there")
        self.kubectl("delete", "configmap", "plain")
        self.kubectl("create", "secret", "generic", "hidden", f"--from-literal=text={HIDDEN}.secret")
        keys = self.cluster.data / "encryption.yaml"
        self.assertEqual(keys.stat().st_mode & 0o777, 0o600)
        before = keys.read_text()

        said = self.cluster.porthole("secrets", "rotate").stdout
        self.assertIn("the old key has been removed", said)
        after = keys.read_text()
        self.assertEqual(after.count("secret:"), 1)
        self.assertFalse(set(line for line in before.splitlines() if "secret:" in line) & set(after.splitlines()))
        self.cluster.kill("server")
        self.eventually(lambda: self.secret() == f"{HIDDEN}.secret", 60, "the server is back and reads it with the new key")
        for path in (self.cluster.data / "store").iterdir():
            self.assertNotIn(f"{HIDDEN}.secret".encode(), path.read_bytes(), path.name)
            self.assertNotIn(b"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZS5", path.read_bytes(), f"{path.name}, in base64")


if __name__ == "__main__":
    unittest.main()
