"""What pods take from nodes."""

from .build import container, node, pod, requests, taint


def resources(random):
    for number in range(8):
        nodes = [node(f"n{i}", cpu=random.choice(["1", "2", "4", "7500m", "16"]), memory=random.choice(["2Gi", "3Gi", "8Gi", "33Gi"]),
                      pods=random.choice(["3", "5", "110"])) for i in range(5)]
        placed = [pod(f"on{i}", on=f"n{random.randrange(5)}", cpu=random.choice([None, "100m", "250m", "1", "1500m"]),
                      memory=random.choice([None, "64Mi", "500M", "1Gi"])) for i in range(random.randrange(14))]
        yield f"resources {number}", nodes + placed, [
            pod(f"p{i}", cpu=random.choice([None, "50m", "500m", "1", "3", "20"]), memory=random.choice([None, "10Mi", "512Mi", "2Gi", "6Gi", "40Gi"]))
            for i in range(5)]


def shapes(_):
    """Pods whose requests are not those of one container."""
    objects = [node("small", cpu="2", memory="2Gi"), node("large", cpu="8", memory="16Gi"), pod("there", on="large", cpu="1", memory="1Gi"),
               pod("there-2", on="small", initContainers=[container("i", requests=requests("1500m"))])]

    def sidecar(name, cpu):
        return container(name, restartPolicy="Always", requests=requests(cpu, "100Mi"))

    def init(name, cpu):
        return container(name, requests=requests(cpu, "50Mi"))
    main = [container(requests=requests("500m", "256Mi"))]
    yield "pods of several containers", objects, [
        pod("two", containers=[container("a", requests=requests("700m")), container("b", requests=requests("800m", "1Gi"))]),
        pod("one-without", containers=[container("a", requests=requests("700m", "100Mi")), container("b")]),
        pod("large-init", containers=main, initContainers=[init("i", "7")]),
        pod("too-large-init", containers=main, initContainers=[init("i", "7500m")]),
        pod("sidecar", containers=main, initContainers=[sidecar("s", "1")]),
        pod("sidecar-then-init", containers=main, initContainers=[sidecar("s", "1"), init("i", "1")]),
        pod("init-then-sidecar", containers=main, initContainers=[init("i", "1"), sidecar("s", "1")]),
        pod("sidecars-and-init", containers=main, initContainers=[sidecar("s", "2"), sidecar("t", "2"), init("i", "4"), sidecar("u", "1")]),
        pod("overhead", containers=main, overhead={"cpu": "1600m", "memory": "32Mi"}),
        pod("overhead-and-init", containers=main, initContainers=[init("i", "6")], overhead={"cpu": "1500m"}),
        pod("pod-level", containers=main, resources={"requests": {"cpu": "3", "memory": "4Gi"}}),
        pod("pod-level-cpu", containers=main, resources={"requests": {"cpu": "1800m"}}),
        pod("pod-level-and-none", resources={"requests": {"memory": "3Gi"}, "limits": {"memory": "3Gi"}}),
        pod("pod-level-overhead", containers=main, resources={"requests": {"cpu": "6"}}, overhead={"cpu": "1500m"}),
        pod("pod-level-init", containers=main, initContainers=[init("i", "7")], resources={"requests": {"cpu": "1"}}),
        pod("zero", containers=[container(requests=requests("0", "0"))]),
        pod("one-byte", containers=[container(requests=requests("1m", "1"))]),
        pod("fractions", containers=[container(requests=requests("0.0005", "1.5"))]),
    ]


def extended(_):
    objects = [node("plain"), node("pages", **{"hugepages-2Mi": "64Mi", "hugepages-1Gi": "0"}), node("gpus", **{"example.com/gpu": "4"}),
               pod("user", on="gpus", containers=[container(requests={"example.com/gpu": "3"}, limits={"example.com/gpu": "3"})]),
               pod("pages-user", on="pages", containers=[container(requests={"hugepages-2Mi": "32Mi", "cpu": "1", "memory": "10Mi"})])]

    def asks(name, **named):
        return pod(name, containers=[container(requests=named, limits=named)])
    objects[2]["status"]["allocatable"]["example.com/fpga"] = "0"
    yield "extended resources", objects, [
        asks("gpu", **{"example.com/gpu": "1"}), asks("gpus", **{"example.com/gpu": "2"}), asks("too-many-gpus", **{"example.com/gpu": "5"}),
        asks("fpga", **{"example.com/fpga": "1"}), asks("unknown", **{"example.com/tpu": "1"}),
        asks("zero", **{"example.com/tpu": "0"}), asks("pages", **{"hugepages-2Mi": "32Mi"}), asks("more-pages", **{"hugepages-2Mi": "34Mi"}),
        asks("other-pages", **{"hugepages-1Gi": "1Gi"}), asks("all", **{"example.com/gpu": "2", "cpu": "5", "memory": "9Gi", "hugepages-2Mi": "2Mi"}),
        asks("storage", **{"ephemeral-storage": "51Gi"}), asks("some-storage", **{"ephemeral-storage": "20Gi", "cpu": "1"}),
        pod("pod-level-pages", resources={"requests": {"hugepages-2Mi": "34Mi", "cpu": "1", "memory": "10Mi"}}),
    ]


def reasons(_):
    """Several reasons of several nodes in one text."""
    objects = [node("a", cpu="1", memory="1Gi"), node("b", cpu="1", memory="1Gi", pods="1"), node("c", memory="1Gi"), node("d", taints=[taint("k")]),
               node("e", unschedulable=True), pod("x", on="b", cpu="900m", memory="900Mi")]
    yield "many reasons", objects, [
        pod("p", cpu="3", memory="2Gi"), pod("q", cpu="5", memory="9Gi"), pod("r", cpu="200m", memory="2Gi", nodeSelector={"a": "b"}),
        pod("s", cpu="3", memory="500Mi", nodeSelector={"kubernetes.io/hostname": "a"}), pod("t", cpu="3500m")]


def resizing(_):
    """Pods whose containers hold other amounts than they ask for."""
    def running(name, asked, allocated, used, on):
        return pod(name, on=on, containers=[container(requests=requests(asked))], status={"containerStatuses": [
            {"name": "main", "image": "app:1", "imageID": "", "ready": True, "restartCount": 0, "allocatedResources": {"cpu": allocated},
             "resources": {"requests": {"cpu": used}}}]})
    objects = [node("shrinks"), node("grows"), node("waits"), running("a", "500m", "500m", "3", "shrinks"),
               running("b", "3", "3", "500m", "grows"), running("c", "3500m", "1", "1", "waits")]
    infeasible = running("d", "3500m", "1", "1", "waits")
    infeasible["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    yield "resizes under way", objects, [pod("p", cpu="2"), pod("q", cpu="800m"), pod("r", cpu="500m")]
    yield "an infeasible resize", [node("waits"), node("free", cpu="1"), infeasible], [pod("p", cpu="2"), pod("q", cpu="500m")]


CLUSTERS = [resources, shapes, extended, reasons, resizing]
