#!/usr/bin/python3
"""What people do with the official Python client, each as one check: checks.py CHECK, against the cluster of KUBECONFIG.

NAMESPACE is where it happens, IMAGE is what pods run. A check that fails says why and ends with 1.
"""

import os
import sys
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import portforward, stream

NAMESPACE, IMAGE = os.environ.get("NAMESPACE", ""), os.environ.get("IMAGE", "")


def expect(condition, *found):
    if not condition:
        raise AssertionError(" ".join(map(str, found)))


def eventually(attempt, what, seconds=120):
    end = time.monotonic() + seconds
    while not (value := attempt()):
        expect(time.monotonic() < end, what, "did not happen in time")
        time.sleep(0.1)
    return value


def refused(status, call):
    try:
        call()
    except ApiException as error:
        expect(error.status == status, "refused with", error.status, error.body)
        return error
    raise AssertionError(f"not refused with {status}")


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"check": "python"}), data=data)


def start_pod(name, script):
    main = client.V1Container(name="main", image=IMAGE, command=["sh", "-c", script])
    pod = client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(containers=[main], termination_grace_period_seconds=1))
    core = client.CoreV1Api()
    core.create_namespaced_pod(NAMESPACE, pod)
    eventually(lambda: core.read_namespaced_pod(name, NAMESPACE).status.phase == "Running", f"{name} running")


def objects():
    """Create, read, replace with a stale version, the three patches, delete."""
    core = client.CoreV1Api()
    made = core.create_namespaced_config_map(NAMESPACE, config_map("one", a="1"))
    core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"b": "2"}})
    core.patch_namespaced_config_map("one", NAMESPACE, [{"op": "remove", "path": "/data/a"}])
    refused(409, lambda: core.replace_namespaced_config_map("one", NAMESPACE, made))
    expect(core.read_namespaced_config_map("one", NAMESPACE).data == {"b": "2"}, "patched wrongly")
    error = refused(422, lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Not_A_Name")))
    expect("metadata.name" in error.body, error.body)
    core.delete_namespaced_config_map("one", NAMESPACE)
    refused(404, lambda: core.read_namespaced_config_map("one", NAMESPACE))


def pages():
    core, seen, token = client.CoreV1Api(), [], None
    for number in range(7):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{number}"))
    while token != "":
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="check=python", limit=3, _continue=token)
        seen.append(len(page.items))
        token = page.metadata._continue or ""
    expect(seen == [3, 3, 1], seen)


def watching():
    """A watch that starts at a list's version sees what came after it, and ends when told."""
    core = client.CoreV1Api()
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, config_map("seen", a="1"))
    core.patch_namespaced_config_map("seen", NAMESPACE, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("seen", NAMESPACE)
    follower, verbs = watch.Watch(), []
    for event in follower.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=60):
        verbs.append(event["type"])
        if event["type"] == "DELETED":
            follower.stop()
    expect(verbs == ["ADDED", "MODIFIED", "DELETED"], verbs)


def create_from_yaml():
    """A Deployment and its Service from one list of objects, then its scale."""
    labels = {"app": "many"}
    pod = {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": "main", "image": IMAGE, "command": ["sh", "-c", "sleep 1000"]}]}}
    utils.create_from_yaml(client.ApiClient(), namespace=NAMESPACE, yaml_objects=[
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"},
         "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "many"}, "spec": {"selector": labels, "ports": [{"port": 80}]}}])
    apps = client.AppsV1Api()
    apps.patch_namespaced_deployment_scale("many", NAMESPACE, {"spec": {"replicas": 2}})
    eventually(lambda: apps.read_namespaced_deployment_status("many", NAMESPACE).status.ready_replicas == 2, "two replicas")


def discovery():
    """The dynamic client finds kinds by discovery, and needs no types."""
    found = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
    found.create(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "untyped"}, "data": {"k": "v"}}, namespace=NAMESPACE)
    found.patch(body={"data": {"l": "w"}}, name="untyped", namespace=NAMESPACE, content_type="application/merge-patch+json")
    expect(found.get(name="untyped", namespace=NAMESPACE).to_dict()["data"] == {"k": "v", "l": "w"}, "patched wrongly")


def execution():
    """A command with separate outputs, input and an exit code, over WebSocket."""
    start_pod("box", "sleep 1000")
    script = ["sh", "-c", "read line; echo got $line; echo complaint >&2; exit 3"]
    running = stream(client.CoreV1Api().connect_get_namespaced_pod_exec, "box", NAMESPACE, command=script,
                     stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    running.write_stdin("words\n")
    running.run_forever(timeout=60)
    printed = running.read_stdout(timeout=0), running.read_stderr(timeout=0)
    expect(printed == ("got words\n", "complaint\n"), printed)
    expect(running.returncode == 3, running.returncode)


def logs():
    core = client.CoreV1Api()
    start_pod("talk", "for i in 1 2 3; do echo line $i; sleep 0.3; done")
    lines = list(watch.Watch().stream(core.read_namespaced_pod_log, name="talk", namespace=NAMESPACE))
    expect(lines[:3] == ["line 1", "line 2", "line 3"], lines)


def forwarding():
    """A port of a pod as a socket: the channel protocol over WebSocket that only this client speaks."""
    start_pod("web", "mkdir -p /tmp/www && echo page > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www")

    def fetch():
        forward = portforward(client.CoreV1Api().connect_get_namespaced_pod_portforward, "web", NAMESPACE, ports="8080")
        connection, text = forward.socket(8080), b""
        connection.settimeout(30)
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        while piece := connection.recv(4096):
            text += piece
        connection.close()
        return text.endswith(b"page\n")
    eventually(fetch, "the page")


CHECKS = {check.__name__: check for check in (objects, pages, watching, create_from_yaml, discovery, execution, logs, forwarding)}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: checks.py CHECK, one of {' '.join(CHECKS)}")
    config.load_kube_config()
    try:
        CHECKS[sys.argv[1]]()
    except (AssertionError, ApiException) as error:
        sys.exit(f"{sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
