"""What two API servers on one etcd show of the same objects, and what of it is expected to differ."""

import json
import re

# Lines of compare() that are expected: what one of the servers does by itself when it starts, and what it shows otherwise than the other.
KNOWN = {
    r"clusterroles//(system:|admin|edit|view)[^.]*\.(rules|metadata\.(managedFields|resourceVersion))": "servers complete the roles of their components",
    r"namespaces//kube-system\.metadata": "ours notes there that it has made its storage class",
    r"validatingadmissionpolicies//rule\.(status|metadata\.(managedFields|resourceVersion))": "our server checks the types of policies",
    r"leases/kube-system/apiserver-": "upstream's identity of one start",
    r"apiservices//[^:]*(managedFields|resourceVersion|status)": "a condition that the aggregator of each server writes",
    r"flowcontrol[^:]*(status|managedFields|resourceVersion)": "the same of flow control",
    r"flowschemas//(endpoint-controller|workload-leader-election) is gone": "defaults of ours that upstream has given up, and removes",
    r"apiservices//v1beta1\.storagemigration\.k8s\.io is gone": "upstream serves it on request only",
    r"autoscaling/v1/": "fields that v1 does not have are annotations there, in internal forms that differ",
    r"autoscaling/v2/.*status\.currentMetrics": "null or []",
    r"clusterroles//all-of-it\.rules: (null|\[\]) became (null|\[\])$": "null or []",
    r"statefulsets/shop/db\.spec\.volumeClaimTemplates\[0\]\.(apiVersion|kind)": "upstream shows them, and stores them nowhere",
    r"jobs/shop/job\.metadata\.labels": "upstream shows the pods' labels where there are none, and stores them nowhere",
    r"events\.k8s\.io/v1/events/shop/web-0\.1\.reporting": "\"\" or none",
}


def resources(server):
    """Paths of everything that can be listed."""
    found = set()
    groups = json.loads(server.kubectl("get", "--raw", "/apis").stdout)["groups"]
    versions = ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"])]
    for version in versions:
        answer = server.kubectl("get", "--raw", version, check=False)
        if answer.returncode == 0:
            found |= {f"{version}/{one['name']}" for one in json.loads(answer.stdout)["resources"] if "list" in one["verbs"]}
    return found - {"/api/v1/componentstatuses"}


def objects(server, paths):
    """Every object, by (path of its resource, namespace, name)."""
    found = {}
    for path in sorted(paths):
        for one in json.loads(server.kubectl("get", "--raw", path).stdout)["items"]:
            one.pop("apiVersion", None), one.pop("kind", None)  # lists of built-in kinds leave them out
            found[(path, one["metadata"].get("namespace", ""), one["metadata"]["name"])] = one
    return found


def differences(before, after, path=""):
    """One line for each field that is not the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [line for name in sorted({*before, *after}) for line in differences(before.get(name), after.get(name), f"{path}.{name}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for i, (one, other) in enumerate(zip(before, after)) for line in differences(one, other, f"{path}[{i}]")]
    return [] if before == after and type(before) is type(after) else [f"{path}: {json.dumps(before)[:300]} became {json.dumps(after)[:300]}"]


def compare(before, after):
    lines = []
    for key in sorted(before):
        if key not in after:
            lines.append("/".join(key) + " is gone")
        else:
            lines += ["/".join(key) + line for line in differences(before[key], after[key])]
    return lines


def unexpected(before, after, more_known=()):
    """compare(), without the lines that KNOWN or more_known expect."""
    return [line for line in compare(before, after) if not any(re.search(known, line) for known in (*KNOWN, *more_known))]


def added(before, after, known):
    """Objects that were not there, without those that `known` expects."""
    names = ("/".join(key) for key in sorted(set(after) - set(before)))
    return [name for name in names if not any(re.search(one, name) for one in known)]
