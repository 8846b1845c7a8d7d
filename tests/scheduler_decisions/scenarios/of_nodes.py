"""What a pod asks of a node itself: name, taints, labels, ports, images, features."""

from .build import (container, expression, node, node_affinity, node_term, pod, taint, toleration)


def unschedulable(_):
    nodes = [node("open"), node("cordoned", unschedulable=True),
             node("cordoned-with-taint", unschedulable=True, taints=[taint("node.kubernetes.io/unschedulable")]),
             node("full", pods="0")]
    yield "cordoned nodes", nodes, [
        pod("plain"),
        pod("tolerates-all", tolerations=[toleration(operator="Exists")]),
        pod("tolerates-key", tolerations=[toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule")]),
        pod("tolerates-other-effect", tolerations=[toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoExecute")]),
    ]
    yield "no nodes", [], [pod("plain")]
    yield "all cordoned", nodes[1:], [pod("plain"), pod("large", cpu="5", tolerations=[toleration(operator="Exists")])]


def taints(random):
    keys, values, effects = ["dedicated", "gpu", "node.kubernetes.io/not-ready"], [None, "a", "b"], ["NoSchedule", "PreferNoSchedule", "NoExecute"]

    def any_toleration():
        operator = random.choice([None, "Equal", "Exists"])
        key = random.choice(keys + ([None] if operator == "Exists" else []))
        value = None if operator == "Exists" else random.choice(values)
        effect = random.choice(effects + [None])
        return toleration(key, operator, value, effect, 300 if effect == "NoExecute" and random.random() < 0.5 else None)

    for number in range(8):
        nodes = [node(f"n{i}", taints=[taint(random.choice(keys), random.choice(effects), random.choice(values))
                                       for _ in range(random.randrange(4))] or None) for i in range(6)]
        yield f"taints {number}", nodes, [pod(f"p{i}", tolerations=[any_toleration() for _ in range(i)] or None) for i in range(5)]
    yield "only discouraged nodes", [node("a", taints=[taint("k", "PreferNoSchedule")]), node("b", taints=[
        taint("k", "PreferNoSchedule"), taint("l", "PreferNoSchedule", "v")]), node("c", taints=[taint("m", "PreferNoSchedule")])], [
            pod("none"), pod("k", tolerations=[toleration("k", "Exists")]),
            pod("l", tolerations=[toleration("l", "Equal", "v", "PreferNoSchedule")]),
            pod("all", tolerations=[toleration(operator="Exists")])]
    yield "numbers in taints", [node("low", taints=[taint("level", value="3")]), node("high", taints=[taint("level", value="9")])], [
        pod("equal", tolerations=[toleration("level", "Equal", "3")]), pod("exists", tolerations=[toleration("level", "Exists")])]


def names(_):
    nodes = [node("n1", labels={"disk": "ssd", "cores": "8"}), node("n2", labels={"disk": "hdd", "cores": "16"}),
             node("n3", labels={"cores": "many"}), node("n4", taints=[taint("closed")])]

    def named(*values, operator="In"):
        return node_term(fields=[expression("metadata.name", operator, *values)])
    yield "nodes by name and label", nodes, [
        pod("selector", nodeSelector={"disk": "ssd"}),
        pod("selector-of-none", nodeSelector={"disk": "tape"}),
        pod("in", affinity=node_affinity(node_term(expression("disk", "In", "ssd", "hdd")))),
        pod("not-in", affinity=node_affinity(node_term(expression("disk", "NotIn", "ssd")))),
        pod("exists", affinity=node_affinity(node_term(expression("disk", "Exists")))),
        pod("absent", affinity=node_affinity(node_term(expression("disk", "DoesNotExist")))),
        pod("gt", affinity=node_affinity(node_term(expression("cores", "Gt", "8")))),
        pod("lt", affinity=node_affinity(node_term(expression("cores", "Lt", "16")))),
        pod("gt-lt", affinity=node_affinity(node_term(expression("cores", "Gt", "7"), expression("cores", "Lt", "16")))),
        pod("selector-and-affinity", nodeSelector={"disk": "ssd"}, affinity=node_affinity(node_term(expression("cores", "Gt", "8")))),
        pod("two-terms", affinity=node_affinity(node_term(expression("disk", "In", "hdd")), node_term(expression("cores", "In", "many")))),
        pod("by-name", affinity=node_affinity(named("n2"))),
        pod("by-two-names", affinity=node_affinity(named("n2"), named("n3"))),
        pod("by-unknown-name", affinity=node_affinity(named("gone"))),
        pod("by-name-and-label", affinity=node_affinity(node_term(expression("disk", "In", "ssd"), fields=[expression("metadata.name", "In", "n2")]))),
        pod("by-contradicting-names", affinity=node_affinity(node_term(fields=[expression("metadata.name", "In", "n1"),
                                                                               expression("metadata.name", "In", "n2")]))),
        pod("by-name-or-label", affinity=node_affinity(named("n1"), node_term(expression("cores", "Exists")))),
        pod("not-by-name", affinity=node_affinity(named("n1", operator="NotIn"))),
        pod("by-tainted-name", affinity=node_affinity(named("n4"))),
        pod("empty-term", affinity=node_affinity(node_term())),
        pod("empty-or-other", affinity=node_affinity(node_term(), node_term(expression("disk", "In", "hdd")))),
        pod("preferred", affinity=node_affinity(preferred=[(80, node_term(expression("disk", "In", "ssd"))),
                                                           (30, node_term(expression("cores", "Gt", "10"))),
                                                           (7, node_term(expression("cores", "Exists")))])),
        pod("preferred-and-required", affinity=node_affinity(node_term(expression("cores", "Exists")),
                                                             preferred=[(1, node_term(expression("disk", "Exists")))])),
        pod("preferred-by-name", affinity=node_affinity(preferred=[(5, named("n3")), (3, node_term(expression("disk", "NotIn", "ssd")))])),
        pod("preferred-empty", affinity=node_affinity(preferred=[(5, node_term()), (3, node_term(expression("disk", "In", "ssd")))])),
    ]


def ports(_):
    def port(number, protocol="TCP", ip=None, inner=80):
        return {"containerPort": inner, "protocol": protocol, "hostPort": number, **({"hostIP": ip} if ip else {})}

    def with_ports(name, *given, on=None, **spec):
        return pod(name, on=on, containers=[container(ports=list(given))], **spec)
    sidecar = container("side", restartPolicy="Always", ports=[port(7070)])
    objects = [node("n1"), node("n2"), node("n3"),
               with_ports("a", port(8080), on="n1"), with_ports("b", port(8080, ip="10.0.0.1"), port(53, "UDP"), on="n2"),
               pod("c", on="n3", initContainers=[sidecar]),
               pod("d", on="n3", initContainers=[container("once", ports=[port(9090)])])]
    yield "host ports", objects, [
        with_ports("same", port(8080)), with_ports("other-address", port(8080, ip="10.0.0.2")),
        with_ports("same-address", port(8080, ip="10.0.0.1")), with_ports("udp", port(8080, "UDP")), with_ports("dns", port(53, "UDP")),
        with_ports("sidecar", port(7070)), with_ports("init", port(9090)), with_ports("sctp", port(8080, "SCTP", "0.0.0.0")),
        with_ports("two", port(8080), port(7070, inner=81)),
        with_ports("none", {"containerPort": 8080, "protocol": "TCP"}),
        pod("own-sidecar", initContainers=[container("side", restartPolicy="Always", ports=[port(8080)])]),
        pod("own-init", initContainers=[container("once", ports=[port(8080)])]),
    ]
    closed = [node("n1", taints=[taint("k")]), node("n2"), with_ports("a", port(80), on="n2")]
    yield "ports and taints", closed, [with_ports("p", port(80)), with_ports("q", port(80), nodeSelector={"no": "where"})]


def images(_):
    def image(size, *listed):
        return {"names": list(listed), "sizeBytes": size << 20}
    nodes = [node("n1", images=[image(700, "registry.example/big:1", "registry.example/big@sha256:" + "a" * 64), image(20, "small:latest")]),
             node("n2", images=[image(700, "registry.example/big:1"), image(300, "docker.io/library/middle:v2")]),
             node("n3", images=[image(2000, "huge:3")]), node("n4")]

    def with_images(name, *listed, init=()):
        return pod(name, containers=[container(f"c{i}", one) for i, one in enumerate(listed)],
                   initContainers=[container(f"i{i}", one) for i, one in enumerate(init)] or None)
    yield "images", nodes, [
        with_images("big", "registry.example/big:1"), with_images("digest", "registry.example/big@sha256:" + "a" * 64),
        with_images("untagged", "small"), with_images("huge", "huge:3"), with_images("full-name", "docker.io/library/middle:v2"),
        with_images("short-name", "middle:v2"), with_images("several", "huge:3", "registry.example/big:1", "unknown:1"),
        with_images("init", "unknown", init=["huge:3"]), with_images("port", "registry.example:5000/big"),
        with_images("twice", "registry.example/big:1", "registry.example/big:1"),
        pod("volume", volumes=[{"name": "v", "image": {"reference": "huge:3", "pullPolicy": "IfNotPresent"}}]),
        pod("volume-untagged", volumes=[{"name": "v", "image": {"reference": "small", "pullPolicy": "Always"}}])]


def features(_):
    restarts = {"restartPolicy": "Never", "restartPolicyRules": [
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}]}
    yield "declared features", [node("none"), node("one", features=["RestartAllContainersOnContainerExits"]),
                                node("both", features=["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"]),
                                node("closed", taints=[taint("k")])], [
        pod("plain"), pod("restarts", containers=[container(**restarts)]),
        pod("restarts-init", initContainers=[container("i", **restarts)]),
        pod("mapped", hostNetwork=True, hostUsers=False), pod("unmapped", hostNetwork=True, hostUsers=True),
        pod("both", hostNetwork=True, hostUsers=False, containers=[container(**restarts)]),
        pod("and-large", cpu="5", containers=[container(requests={"cpu": "5"}, **restarts)]),
        pod("and-many", hostNetwork=True, hostUsers=False, nodeSelector={"no": "where"})]


CLUSTERS = [unschedulable, taints, names, ports, images, features]
