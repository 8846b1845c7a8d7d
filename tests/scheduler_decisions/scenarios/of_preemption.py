"""Pods that fit nowhere, and for which others may be evicted."""

from .build import (between_pods, container, node, object_of, pod, pod_term, selector, spread, taint, zone)

HOST = "kubernetes.io/hostname"


def at(hour):
    return f"2026-01-01T{hour:02}:00:00Z"


def budget(name, labels, allowed, namespace="default", disrupted=()):
    return object_of("PodDisruptionBudget", name, "policy/v1", namespace, spec={"selector": selector(labels)}, status={
        "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        **({"disruptedPods": {one: at(1) for one in disrupted}} if disrupted else {})})


def choice(_):
    """The node where evictions cost least."""
    nodes = [node(f"n{i}", cpu="4") for i in range(4)]
    placed = [pod("a0", on="n0", cpu="2", priority=5, started=at(1)), pod("a1", on="n0", cpu="2", priority=5, started=at(2)),
              pod("b0", on="n1", cpu="3", priority=9, started=at(1)), pod("b1", on="n1", cpu="1", priority=1, started=at(1)),
              pod("c0", on="n2", cpu="1", priority=5, started=at(3)), pod("c1", on="n2", cpu="1", priority=4, started=at(3)),
              pod("c2", on="n2", cpu="2", priority=3, started=at(3)), pod("d0", on="n3", cpu="4", priority=100, started=at(1))]
    asks = [pod("small", cpu="1", priority=10), pod("middle", cpu="2", priority=10), pod("large", cpu="4", priority=10),
            pod("too-large", cpu="5", priority=10), pod("lowest", cpu="1", priority=0), pod("equal", cpu="2", priority=5), pod("just-above", cpu="2", priority=6),
            pod("never", cpu="1", priority=10, preemptionPolicy="Never"), pod("highest", cpu="4", priority=1000)]
    yield "victims", nodes + placed, asks
    labeled = [dict(one, metadata={**one["metadata"], "labels": {"app": one["metadata"]["name"][0]}}) for one in placed]
    yield "victims with budgets", [*nodes, *labeled, budget("b-a", {"app": "a"}, 1), budget("b-c", {"app": "c"}, 0), budget("b-other", {"app": "b"}, 0, "other")], asks
    yield "victims with budgets that count them", [*nodes, *labeled, budget("b-a", {"app": "a"}, 0, disrupted=["a1"]), budget("b-c", {"app": "c"}, 1),
                                                   budget("b-c2", {"app": "c"}, 0), budget("b-all", {}, 10)], asks
    yield "victims with a budget without selector", [*nodes, *labeled, object_of("PodDisruptionBudget", "none", "policy/v1", "default", spec={},
                                                                                 status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0,
                                                                                         "expectedPods": 0})], asks[:3]


def causes(_):
    """What an eviction changes, and what it does not."""
    ports = [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]
    nodes = [node("n0", labels=zone("a")), node("n1", labels=zone("b")), node("n2", labels=zone("c"), taints=[taint("k")]), node("n3", unschedulable=True)]
    objects = [*nodes, pod("port", on="n0", containers=[container(ports=ports)], labels={"app": "x"}, priority=1, started=at(1)),
               pod("spread", on="n1", labels={"app": "s"}, priority=1, started=at(1)), pod("spread-2", on="n1", labels={"app": "s"}, priority=2, started=at(2)),
               pod("hostile", on="n1", labels={"app": "h"}, priority=3, started=at(1), affinity=between_pods("podAntiAffinity", pod_term({"app": "guest"}, HOST))),
               pod("filler", on="n0", cpu="3", priority=3, started=at(1)), pod("filler-2", on="n1", cpu="3", priority=50, started=at(1))]
    yield "causes of preemption", objects, [
        pod("port-taker", containers=[container(ports=ports)], priority=10, nodeSelector=zone("a")),
        pod("far-from-x", affinity=between_pods("podAntiAffinity", pod_term({"app": "x"}), pod_term({"app": "s"}, HOST)), priority=10),
        pod("near-x-and-large", cpu="3", affinity=between_pods("podAffinity", pod_term({"app": "x"})), priority=10),
        pod("guest", labels={"app": "guest"}, cpu="500m", nodeSelector=zone("b"), priority=10),
        pod("spread-3", labels={"app": "s"}, cpu="2", topologySpreadConstraints=[spread({"app": "s"})], priority=10),
        pod("selects-nothing", nodeSelector={"no": "where"}, priority=10), pod("near-nothing", affinity=between_pods("podAffinity", pod_term({"app": "none"})), priority=10),
        pod("large-elsewhere", cpu="4", priority=10, nodeSelector=zone("c")), pod("large", cpu="3500m", priority=100),
        pod("large-tolerating", cpu="4500m", priority=100, tolerations=[{"operator": "Exists"}])]


def nominated(_):
    """Room that a pod waits for, and pods that are leaving."""
    nodes = [node("n0"), node("n1", cpu="2")]
    waiting = pod("waiting", cpu="3", priority=50, status={"nominatedNodeName": "n0"})
    lower = pod("lower", cpu="1", priority=1, status={"nominatedNodeName": "n1"})
    yield "nominated pods", [*nodes, waiting, lower, pod("x", on="n1", cpu="500m", priority=1, started=at(1))], [
        pod("below", cpu="2", priority=10), pod("above", cpu="2", priority=100), pod("small", cpu="1", priority=10), pod("equal", cpu="2", priority=50)]
    leaving = pod("leaving", on="n0", cpu="3", priority=1, started=at(1), deleted=at(5),
                  status={"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]})
    yield "leaving pods", [node("n0"), leaving, pod("other", on="n0", cpu="1", priority=1, started=at(1))], [
        pod("first", cpu="2", priority=10), pod("again", cpu="2", priority=10, status={"nominatedNodeName": "n0"}),
        pod("large-again", cpu="4", priority=10, status={"nominatedNodeName": "n0"})]
    gone = dict(leaving, status={"phase": "Running", "startTime": at(1)})
    yield "pods that leave by themselves", [node("n0"), gone], [pod("again", cpu="2", priority=10, status={"nominatedNodeName": "n0"})]
    yield "nominated itself", [node("n0"), node("n1", taints=[taint("k", "PreferNoSchedule")])], [
        pod("fits", cpu="2", status={"nominatedNodeName": "n1"}), pod("too-large", cpu="5", status={"nominatedNodeName": "n1"}),
        pod("gone", cpu="1", status={"nominatedNodeName": "n9"})]


def random_preemption(random):
    for number in range(8):
        nodes = [node(f"n{i}", cpu="4", pods=random.choice(["3", "110"])) for i in range(4)]
        placed = [pod(f"on{i}", on=f"n{i % 4}", cpu=random.choice(["500m", "1", "2"]), priority=random.choice([0, 1, 2, 7]), started=at(i),
                      labels={"app": random.choice("ab")}) for i in range(14)]
        budgets = [budget("a", {"app": "a"}, random.randrange(3))]
        yield f"random preemption {number}", nodes + placed + budgets, [
            pod(f"p{i}", cpu=random.choice(["1", "2", "3", "4"]), priority=random.choice([1, 2, 5, 9])) for i in range(4)]


CLUSTERS = [choice, causes, nominated, random_preemption]
