"""Pods that ask for many things at a time: which plugin answers first, and how scores add up."""

from .build import (between_pods, container, expression, node, node_affinity, node_term, pod, pod_term, spread, taint, toleration, zone)

KEYS = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


def mixed(random):
    for number in range(10):
        nodes = [node(f"n{i}", cpu=random.choice(["2", "4", "8"]), memory=random.choice(["4Gi", "16Gi"]), pods=random.choice(["4", "110"]),
                      labels={**zone(random.choice("abc")), "disk": random.choice(["ssd", "hdd"])},
                      taints=random.choice([None, None, [taint("k", random.choice(["NoSchedule", "PreferNoSchedule"]))]]),
                      unschedulable=random.choice([None] * 9 + [True]),
                      images=random.choice([None, [{"names": ["app:1"], "sizeBytes": 400 << 20}]]),
                      features=random.choice([None, ["RestartAllContainersOnContainerExits"]])) for i in range(7)]
        placed = [pod(f"on{i}", on=f"n{random.randrange(7)}", cpu=random.choice([None, "200m", "1"]), memory=random.choice([None, "1Gi"]),
                      labels={"app": random.choice("xy")}, priority=random.choice([0, 3]), started=f"2026-01-01T00:{i:02}:00Z") for i in range(16)]
        yield f"mixed {number}", nodes + placed, [asks(random, f"p{i}") for i in range(8)]


def asks(random, name):
    def maybe(value, share=0.4):
        return value if random.random() < share else None
    affinity = {}
    if random.random() < 0.5:
        affinity.update(node_affinity(*([node_term(expression("disk", "In", "ssd"))] if random.random() < 0.3 else []),
                                      preferred=[(random.randrange(1, 101), node_term(expression("disk", "In", random.choice(["ssd", "hdd"]))))]))
    if random.random() < 0.6:
        kind = random.choice(["podAffinity", "podAntiAffinity"])
        term = pod_term({"app": random.choice("xy")}, random.choice(KEYS))
        affinity.update(between_pods(kind, *([term] if random.random() < 0.3 else []), preferred=[(random.randrange(1, 101), term)]))
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}]
    one = container(requests={"cpu": random.choice(["100m", "1", "3"]), "memory": random.choice(["128Mi", "2Gi"])},
                    ports=maybe([{"containerPort": 80, "protocol": "TCP", "hostPort": 80}], 0.2))
    if random.random() < 0.2:
        one.update(restartPolicy="Never", restartPolicyRules=rules)
    return pod(name, containers=[one], labels={"app": random.choice("xy")}, affinity=affinity or None, priority=random.choice([0, 5]),
               tolerations=maybe([toleration("k", "Exists")]),
               topologySpreadConstraints=maybe([spread({"app": random.choice("xy")}, random.choice(KEYS), random.randrange(1, 4), random.random() < 0.5)]))


CLUSTERS = [mixed]
