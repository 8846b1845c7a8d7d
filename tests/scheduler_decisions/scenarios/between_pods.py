"""Affinity, anti-affinity and spreading: where other pods are."""

from .build import (between_pods, expression, node, node_affinity, node_term, object_of, pod, pod_term, selector, spread, taint, toleration, zone)

HOST = "kubernetes.io/hostname"


def six_nodes(**rest):
    """Two zones of two nodes, one of one, and a node without a zone."""
    return [node(f"n{i}", labels=zone(name) if name else None, **rest) for i, name in enumerate(["a", "a", "b", "b", "c", None])]


def affinity(_):
    objects = [*six_nodes(), object_of("Namespace", "default", labels={"team": "x"}), object_of("Namespace", "other", labels={"team": "y"}),
               object_of("Namespace", "third", labels={"team": "y", "tier": "1"}),
               pod("db", on="n0", labels={"app": "db", "version": "1"}), pod("cache", on="n2", labels={"app": "cache"}),
               pod("db-elsewhere", on="n4", namespace="other", labels={"app": "db"}),
               pod("web-elsewhere", on="n2", namespace="third", labels={"app": "web"}),
               pod("lost", on="n5", labels={"app": "lost"}),
               pod("leaving", on="n3", labels={"app": "leaving"}, deleted="2026-01-01T00:00:00Z"),
               pod("hostile", on="n4", labels={"app": "hostile"}, affinity=between_pods("podAntiAffinity", pod_term({"app": "victim"}))),
               pod("hostile-to-all", on="n1", labels={"app": "alone"}, affinity=between_pods(
                   "podAntiAffinity", pod_term({"app": "guest"}, HOST, namespaceSelector={}))),
               pod("fond", on="n3", labels={"app": "fond"}, affinity=between_pods("podAffinity", pod_term({"app": "friend"}), preferred=[
                   (50, pod_term({"app": "acquaintance"}))])),
               pod("shy", on="n1", labels={"app": "shy"}, affinity=between_pods("podAntiAffinity", preferred=[(30, pod_term({"app": "acquaintance"}))]))]
    near, far = "podAffinity", "podAntiAffinity"

    def asks(name, kind, *required, labels=None, preferred=None, **rest):
        return pod(name, labels=labels, affinity=between_pods(kind, *required, preferred=preferred), **rest)
    yield "affinity between pods", objects, [
        asks("near-db", near, pod_term({"app": "db"})), asks("near-db-host", near, pod_term({"app": "db"}, HOST)),
        asks("near-lost", near, pod_term({"app": "lost"})), asks("near-nothing", near, pod_term({"app": "none"})),
        asks("near-own-kind", near, pod_term({"app": "first"}), labels={"app": "first"}),
        asks("near-own-kind-host", near, pod_term({"app": "first"}, HOST), labels={"app": "first"}),
        asks("near-two", near, pod_term({"app": "db"}), pod_term({"app": "cache"})),
        asks("near-one-pod-of-two-terms", near, pod_term({"app": "db"}), pod_term({"version": "1"}, HOST)),
        asks("near-leaving", near, pod_term({"app": "leaving"})),
        asks("near-other-namespace", near, pod_term({"app": "db"}, namespaces=["other"])),
        asks("near-both-namespaces", near, pod_term({"app": "db"}, namespaces=["other", "default"])),
        asks("near-selected-namespace", near, pod_term({"app": "web"}, namespaceSelector=selector({"team": "y"}))),
        asks("near-selected-or-named", near, pod_term({"app": "db"}, namespaces=["default"], namespaceSelector=selector({"tier": "1"}))),
        asks("near-all-namespaces", near, pod_term({"app": "db"}, namespaceSelector={})),
        asks("near-expression", near, pod_term(selector(None, expression("app", "In", "db", "cache"), expression("version", "DoesNotExist")))),
        asks("near-any", near, pod_term({})), asks("near-null", near, pod_term(None)),
        asks("near-merged-keys", near, pod_term(selector({"app": "db"}, expression("version", "In", "1")), matchLabelKeys=["version"]),
             labels={"version": "1"}),
        asks("far-from-db", far, pod_term({"app": "db"})), asks("far-from-db-host", far, pod_term({"app": "db"}, HOST)),
        asks("far-from-everything", far, pod_term(selector(None, expression("app", "Exists")))),
        asks("far-from-all-namespaces", far, pod_term(selector(None, expression("app", "Exists")), HOST, namespaceSelector={})),
        asks("far-from-null", far, pod_term(None)), asks("far-from-leaving", far, pod_term({"app": "leaving"}, HOST)),
        pod("victim", labels={"app": "victim"}), pod("guest", labels={"app": "guest"}), pod("guest-elsewhere", namespace="third", labels={"app": "guest"}),
        asks("victim-near-db-elsewhere", near, pod_term({"app": "db"}, namespaces=["other"]), labels={"app": "victim"}),
        pod("near-and-far", affinity={**between_pods(near, pod_term({"app": "cache"})), **between_pods(far, pod_term({"app": "web"}, HOST, namespaces=["third"]))}),
        pod("friend", labels={"app": "friend"}), pod("acquaintance", labels={"app": "acquaintance"}),
        asks("prefers-db", near, preferred=[(10, pod_term({"app": "db"})), (100, pod_term({"app": "cache"}, HOST))]),
        asks("avoids-db", far, preferred=[(10, pod_term({"app": "db"})), (1, pod_term({"app": "cache"}))]),
        asks("prefers-nothing", near, preferred=[(10, pod_term({"app": "none"}))]),
        asks("prefers-selected-namespace", near, preferred=[(10, pod_term({"app": "web"}, namespaceSelector=selector({"team": "y"})))]),
        pod("torn", labels={"app": "acquaintance"}, affinity={**between_pods(near, preferred=[(60, pod_term({"app": "cache"}))]),
                                                               **between_pods(far, preferred=[(60, pod_term({"app": "db"}))])}),
        asks("key-of-none", near, pod_term({"app": "db"}, "rack")), asks("far-by-key-of-none", far, pod_term({"app": "db"}, "rack")),
        asks("own-kind-by-key-of-none", near, pod_term({"app": "first"}, "rack"), labels={"app": "first"}),
    ]


def random_affinity(random):
    apps = ["a", "b", "c"]
    for number in range(6):
        def terms(count):
            return [pod_term({"app": random.choice(apps)}, random.choice([HOST, "topology.kubernetes.io/zone"])) for _ in range(count)]

        def any_affinity():
            made = {}
            for kind in ("podAffinity", "podAntiAffinity"):
                weights = [(random.randrange(1, 101), term) for term in terms(random.randrange(2))]
                made.update(between_pods(kind, *terms(random.random() < 0.2), preferred=weights or None))
            return {kind: value for kind, value in made.items() if value} or None
        placed = [pod(f"on{i}", on=f"n{random.randrange(6)}", labels={"app": random.choice(apps)}, affinity=any_affinity()) for i in range(10)]
        yield f"random affinity {number}", six_nodes() + placed, [
            pod(f"p{i}", labels={"app": random.choice(apps)}, affinity=any_affinity(), cpu=random.choice([None, "1"])) for i in range(6)]


def spreading(_):
    nodes = [*six_nodes(), node("tainted", labels=zone("d"), taints=[taint("k")]), node("cordoned", labels=zone("e"), unschedulable=True)]
    nodes[4]["metadata"]["labels"]["disk"] = nodes[0]["metadata"]["labels"]["disk"] = "ssd"
    web = {"app": "web"}
    objects = [*nodes, pod("w0", on="n0", labels={**web, "hash": "1"}), pod("w1", on="n1", labels={**web, "hash": "1"}),
               pod("w2", on="n2", labels={**web, "hash": "2"}), pod("w3", on="n5", labels=web), pod("w4", on="n4", namespace="other", labels=web),
               pod("w5", on="n3", labels=web, deleted="2026-01-01T00:00:00Z"), pod("x", on="n4", labels={"app": "x"})]

    def spreads(name, *constraints, labels=None, **rest):
        return pod(name, labels=labels or web, topologySpreadConstraints=list(constraints), **rest)
    tolerates = [toleration("k", "Exists")]
    yield "spreading", objects, [
        spreads("zone-1", spread(web)), spreads("zone-2", spread(web, skew=2)), spreads("zone-3", spread(web, skew=3)),
        spreads("host", spread(web, HOST)), spreads("host-2", spread(web, HOST, 2)), spreads("both", spread(web), spread(web, HOST)),
        spreads("not-itself", spread(web), labels={"app": "y"}), spreads("tolerates", spread(web), tolerations=tolerates),
        spreads("honors-taints", spread(web, nodeTaintsPolicy="Honor")), spreads("ignores-taints", spread(web, nodeTaintsPolicy="Ignore")),
        spreads("honors-taints-and-tolerates", spread(web, nodeTaintsPolicy="Honor"), tolerations=tolerates),
        spreads("selector", spread(web), nodeSelector={"disk": "ssd"}),
        spreads("ignores-selector", spread(web, nodeAffinityPolicy="Ignore"), nodeSelector={"disk": "ssd"}),
        spreads("honors-selector", spread(web, nodeAffinityPolicy="Honor"), nodeSelector={"disk": "ssd"}),
        spreads("affinity", spread(web), affinity=node_affinity(node_term(expression("topology.kubernetes.io/zone", "NotIn", "c")))),
        spreads("domains-3", spread(web, minDomains=3)), spreads("domains-6", spread(web, minDomains=6)),
        spreads("domains-6-skew-2", spread(web, skew=2, minDomains=6)),
        spreads("keys", spread(web, matchLabelKeys=["hash"]), labels={**web, "hash": "2"}),
        spreads("keys-of-none", spread(web, matchLabelKeys=["hash"])),
        spreads("merged-keys", spread(web, matchLabelKeys=["hash"]) | {"labelSelector": selector(web, expression("hash", "In", "1"))},
                labels={**web, "hash": "1"}),
        spreads("all-pods", spread({})), spreads("all-pods-host", spread({}, HOST)), spreads("no-selector", spread(None)),
        spreads("key-of-none", spread(web, "rack")), spreads("other-namespace", spread(web), namespace="other"),
        spreads("prefers-zone", spread(web, required=False)), spreads("prefers-host", spread(web, HOST, required=False)),
        spreads("prefers-both", spread(web, required=False), spread(web, HOST, required=False)),
        spreads("prefers-skew", spread(web, skew=5, required=False), spread(web, HOST, 3, required=False)),
        spreads("prefers-by-key-of-none", spread(web, "rack", required=False)),
        spreads("prefers-honoring-taints", spread(web, required=False, nodeTaintsPolicy="Honor"), tolerations=tolerates),
        spreads("prefers-ignoring-selector", spread(web, required=False, nodeAffinityPolicy="Ignore"), nodeSelector={"disk": "ssd"}),
        spreads("prefers-all-pods", spread({}, required=False)), spreads("prefers-keys", spread(web, required=False, matchLabelKeys=["hash"]),
                                                                         labels={**web, "hash": "1"}),
        spreads("required-and-preferred", spread(web, skew=2), spread(web, HOST, required=False)),
        spreads("and-large", spread(web), cpu="5"),
    ]


def random_spreading(random):
    for number in range(6):
        nodes = [node(f"n{i}", labels=zone(random.choice("abc")) if random.random() < 0.85 else None) for i in range(8)]
        placed = [pod(f"on{i}", on=f"n{random.randrange(8)}", labels={"app": random.choice("xy")}) for i in range(14)]

        def constraint():
            return spread({"app": random.choice("xy")}, random.choice([HOST, "topology.kubernetes.io/zone"]), random.randrange(1, 4),
                          random.random() < 0.5)
        yield f"random spreading {number}", nodes + placed, [
            pod(f"p{i}", labels={"app": random.choice("xy")}, topologySpreadConstraints=[constraint() for _ in range(random.randrange(1, 4))])
            for i in range(6)]


def default_spreading(_):
    """Without constraints of its own, a pod of a set is spread by the set's selector."""
    def of_set(name, on=None, kind="ReplicaSet", **rest):
        return pod(name, on=on, labels={"app": "web", "pod-template-hash": "1"}, owner=(kind, "web"), **rest)
    chosen = {"app": "web", "pod-template-hash": "1"}
    sets = [object_of("ReplicaSet", "web", "apps/v1", "default", spec={"replicas": 5, "selector": selector(chosen), "template": {
        "metadata": {"labels": chosen}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}})]
    placed = [of_set("w0", "n0"), of_set("w1", "n0"), of_set("w2", "n2"), of_set("w3", "n5")]
    yield "default spreading", six_nodes() + sets + placed, [of_set("p"), pod("alone", labels=chosen, owner=("Job", "web")), pod("unowned")]
    service = object_of("Service", "web", namespace="default", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    yield "default spreading by a Service", [*six_nodes(), service, *placed], [pod("p", labels=chosen), pod("other", labels={"app": "other"})]
    yield "default spreading by a Service and a set", [*six_nodes(), service, *sets, *placed, pod("older", on="n3", labels={"app": "web"})], [of_set("p")]
    stateful = object_of("StatefulSet", "web", "apps/v1", "default", spec={"replicas": 5, "serviceName": "web", "selector": selector({"app": "web"}),
                                                                           "template": sets[0]["spec"]["template"]})

    def of_stateful(name, on=None):
        own = {"app": "web", "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": name[-1], "controller-revision-hash": "web-1"}
        return pod(name, on=on, labels=own, owner=("StatefulSet", "web"))
    yield "default spreading of a StatefulSet", [*six_nodes(), stateful, of_stateful("web-0", "n0"), of_stateful("web-1", "n3")], [of_stateful("web-2")]


CLUSTERS = [affinity, random_affinity, spreading, random_spreading, default_spreading]
