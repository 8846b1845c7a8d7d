"""What a Windows node's programs ask of an API server is what one of 1.20 has."""

import re
import unittest

from wine import ROOT

AGENTS = ["src/kubelet", "src/proxy", "src/cni", "src/cmd/node", "src/cmd/windows", "src/client/events.cc", "src/node_join/certificate.cc",
          "src/node_join/identity.cc", "src/node_join/connection.cc", "src/node_join/windows_node"]
USES = re.compile(r"(?:\b(?:get|list|create|update|update_status|patch|remove|Informer|index)|informers_?\.get)<(?:[a-z_0-9]+::)*([A-Z]\w+)>")
ALIAS = re.compile(r"using (\w+) = (?:[a-z_0-9]+::)*([A-Z]\w+);")
# client/older_versions.h asks servers that lack it for the version before.
WITH_OLDER_VERSION = {"EndpointSlice"}
OLDEST = (1, 20)


def kinds():
    """Kind -> the first version of Kubernetes that has it in the version that we speak."""
    since = {}
    for path in (ROOT / "api").glob("*.v1"):
        if path.name.startswith(("cri.", "hcn.", "resource.", "events.")):
            continue
        kind = None
        for line in path.read_text().splitlines():
            found = re.match(r"kind (\w+)", line)
            kind = found.group(1) if found else kind if line.startswith(" ") else None
            version = re.search(r"\bsince=1\.(\d+)", line)
            if kind and version:
                since.setdefault(kind, (1, int(version.group(1))))
    return since


def used_kinds():
    used = set()
    for part in AGENTS:
        path = ROOT / part
        for source in [path] if path.is_file() else [*path.rglob("*.cc"), *path.rglob("*.h")]:
            if "_test" in source.name or "/sim/" in str(source):
                continue
            text = source.read_text()
            aliases = dict(ALIAS.findall(text))
            used |= {aliases.get(name, name) for name in USES.findall(text)}
    return used


class ApiVersions(unittest.TestCase):
    # Also clusters that are not ours, from 1.20 on.
    def test_the_agents_use_only_kinds_that_1_20_has(self):
        since = kinds()
        used = {kind for kind in used_kinds() if kind in since}
        self.assertGreaterEqual(used, {"Node", "Pod", "Service", "EndpointSlice", "Lease", "Event"})
        newer = {kind: since[kind] for kind in used - WITH_OLDER_VERSION if since[kind] > OLDEST}
        self.assertEqual(newer, {})

    def test_what_is_newer_has_its_older_version(self):
        text = (ROOT / "src/client/older_versions.cc").read_text()
        self.assertIn("/apis/discovery.k8s.io/v1beta1/", text)
        self.assertIn("OlderVersions", (ROOT / "src/node_join/connection.cc").read_text())


if __name__ == "__main__":
    unittest.main()
