"""Volumes: claims and what they are bound to, zones, access modes, limits."""

from .build import (claim, expression, node, node_term, object_of, pod, storage_class, volume, with_claim, zone)

ZONE = "topology.kubernetes.io/zone"
CLASSES = [storage_class("late"), storage_class("now", late=False), storage_class("static", "kubernetes.io/no-provisioner"),
           storage_class("zoned", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]),
           storage_class("measured", "measured.example.com")]


def three_nodes(**rest):
    return [node(f"n{i}", labels=zone(name, "r"), **rest) for i, name in enumerate("abc")]


def uses(name, *claims, **rest):
    return pod(name, volumes=with_claim(*claims), **rest)


def in_zone(*names):
    return [node_term(expression(ZONE, "In", *names))]


def on_host(name):
    return [node_term(expression("kubernetes.io/hostname", "In", name))]


def binding(_):
    capacity = [object_of("CSIStorageCapacity", f"c{i}", "storage.k8s.io/v1", "default", storageClassName="measured", capacity=size,
                          nodeTopology={"matchLabels": {ZONE: name}}, **({"maximumVolumeSize": most} if most else {}))
                for i, (name, size, most) in enumerate([("a", "100Gi", None), ("b", "1Gi", None), ("c", "100Gi", "2Gi")])]
    objects = [*three_nodes(), *CLASSES, *capacity,
               object_of("CSIDriver", "measured.example.com", "storage.k8s.io/v1", spec={"storageCapacity": True}),
               claim("bound", "vol-a"), volume("vol-a", claimed_by="bound", nodes=in_zone("a")),
               claim("bound-anywhere", "vol-any"), volume("vol-any", claimed_by="bound-anywhere"),
               claim("bound-to-host", "vol-host"), volume("vol-host", claimed_by="bound-to-host", nodes=on_host("n2")),
               claim("bound-nowhere", "vol-z"), volume("vol-z", claimed_by="bound-nowhere", nodes=in_zone("z")),
               claim("bound-to-missing", "vol-gone"), claim("waiting-now", storage_class="now"), claim("late"), claim("late-2"),
               claim("zoned", storage_class="zoned"), claim("of-unknown-class", storage_class="unknown"),
               claim("static", storage_class="static"), claim("static-large", storage_class="static", size="50Gi"),
               claim("static-many", storage_class="static", modes=["ReadWriteMany"]), claim("static-small", storage_class="static", size="1Gi"),
               claim("static-picky", storage_class="static", selector={"matchLabels": {"kind": "fast"}}),
               volume("s-0", storage_class="static", nodes=on_host("n0"), size="10Gi"),
               volume("s-1", storage_class="static", nodes=on_host("n1"), size="6Gi", labels={"kind": "fast"}),
               volume("s-taken", {"local": {"path": "/x"}}, "static", "100Gi", claimed_by="someone", nodes=on_host("n2")),
               volume("s-released", storage_class="static", nodes=on_host("n2"), size="20Gi", phase="Released"),
               claim("measured", storage_class="measured"), claim("measured-small", storage_class="measured", size="500Mi"),
               claim("measured-huge", storage_class="measured", size="500Gi"), claim("without-class", storage_class=""),
               claim("lost", "vol-any"), claim("named", storage_class="late", chosen="vol-free"), volume("vol-free")]
    objects[[one["metadata"]["name"] for one in objects].index("lost")]["status"]["phase"] = "Lost"
    deleted = claim("leaving", "vol-any")
    deleted["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["kubernetes.io/pvc-protection"])
    objects.append(deleted)
    yield "claims", objects, [
        *(uses("of-" + name, name) for name in (
            "bound", "bound-anywhere", "bound-to-host", "bound-nowhere", "bound-to-missing", "waiting-now", "late", "zoned", "of-unknown-class",
            "static", "static-large", "static-many", "static-small", "static-picky", "measured", "measured-small", "measured-huge", "without-class",
            "lost", "named", "leaving", "missing")),
        uses("of-two", "bound", "late"), uses("of-two-places", "bound", "bound-to-host"), uses("of-two-static", "static", "static-small"),
        uses("of-bound-and-static", "bound", "static"), uses("of-bound-and-waiting", "bound", "waiting-now"), uses("of-late-twice", "late", "late-2"),
        uses("of-static-and-large", "static", cpu="5"), pod("of-nothing", volumes=[{"name": "e", "emptyDir": {}}]),
    ]


def matching(_):
    """Which volumes unbound claims may have, when they compete."""
    def reserved(name, claim_name, **rest):
        made = volume(name, storage_class="static", **rest)
        made["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": claim_name}
        return made
    leaving = volume("a-leaving", storage_class="static", size="5Gi", nodes=on_host("n2"))
    leaving["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["kubernetes.io/pv-protection"])
    chosen = "volume.kubernetes.io/selected-node"
    objects = [*three_nodes(), *CLASSES, volume("a-large", storage_class="static", size="10Gi", nodes=on_host("n0")),
               volume("b-small", storage_class="static", size="2Gi", nodes=on_host("n0")),
               volume("c-large", storage_class="static", size="10Gi", nodes=on_host("n1")), leaving,
               reserved("d-reserved", "reserved", size="8Gi", nodes=in_zone("b")), reserved("e-reserved-small", "reserved-large", size="3Gi"),
               reserved("f-for-another", "another", size="5Gi", nodes=in_zone("c")),
               claim("large", storage_class="static", size="5Gi"), claim("small", storage_class="static", size="1Gi"),
               claim("reserved", storage_class="static", size="5Gi"), claim("reserved-large", storage_class="static", size="9Gi"),
               claim("block", storage_class="static", size="1Gi", volumeMode="Block"), claim("late"),
               claim("chosen", annotations={chosen: "n1"}), claim("chosen-gone", annotations={chosen: "n9"}), claim("chosen-too", annotations={chosen: "n2"})]
    yield "volumes for claims", objects, [
        *(uses("of-" + name, name) for name in ("large", "small", "reserved", "reserved-large", "block", "chosen", "chosen-gone")),
        uses("of-small-and-large", "small", "large"), uses("of-large-and-small", "large", "small"), uses("of-chosen-and-late", "chosen", "late"),
        uses("of-two-chosen", "chosen", "chosen-too"), uses("of-reserved-and-small", "reserved", "small"), uses("of-chosen-and-small", "chosen", "small")]


def ephemeral(_):
    """Claims that are made for pods."""
    def volumes(size="1Gi"):
        return [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": "late", "volumeMode": "Filesystem"}}}}]
    mine, others = claim("mine-scratch"), claim("others-scratch")
    mine["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "mine", "controller": True}]
    yield "claims of pods", [*three_nodes(), *CLASSES, mine, others], [
        pod("mine", volumes=volumes()), pod("others", volumes=volumes()), pod("not-yet", volumes=volumes())]


def zones(_):
    nodes = [*three_nodes(), node("old", labels={"failure-domain.beta.kubernetes.io/zone": "a"}), node("nowhere"),
             node("region-only", labels={"topology.kubernetes.io/region": "r"})]
    objects = [*nodes, *CLASSES]
    for name, labels in (("a", zone("a")), ("beta", {"failure-domain.beta.kubernetes.io/zone": "a"}), ("both", zone("b", "r")),
                         ("two", zone("a__b")), ("elsewhere", zone("z")), ("region", {"topology.kubernetes.io/region": "r"}),
                         ("odd", zone("a__"))):
        objects += [claim(name, f"vol-{name}"), volume(f"vol-{name}", claimed_by=name, labels=labels)]
    yield "zones of volumes", objects, [
        *(uses("of-" + name, name) for name in ("a", "beta", "both", "two", "elsewhere", "region", "odd")),
        uses("of-a-and-both", "a", "both"), uses("of-two-and-both", "two", "both")]


def restrictions(_):
    def gce(name, read_only=False):
        return [{"name": "d", "gcePersistentDisk": {"pdName": name, **({"readOnly": True} if read_only else {})}}]

    def rbd(pool, image, *monitors, read_only=False):
        return [{"name": "d", "rbd": {"monitors": list(monitors), "pool": pool, "image": image, **({"readOnly": True} if read_only else {})}}]

    def iscsi(iqn, lun=0, read_only=False):
        return [{"name": "d", "iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": iqn, "lun": lun, **({"readOnly": True} if read_only else {})}}]
    aws = [{"name": "d", "awsElasticBlockStore": {"volumeID": "vol-1"}}]
    objects = [node("n0"), node("n1"), node("n2"), *CLASSES,
               pod("g", on="n0", volumes=gce("one")), pod("h", on="n1", volumes=gce("shared", True)), pod("i", on="n1", volumes=iscsi("iqn.a")),
               pod("j", on="n2", volumes=rbd("p", "x", "m1", "m2")), pod("k", on="n2", volumes=aws),
               claim("alone", "vol-alone", modes=["ReadWriteOncePod"]), volume("vol-alone", claimed_by="alone", modes=["ReadWriteOncePod"]),
               claim("free", "vol-free", modes=["ReadWriteOncePod"]), volume("vol-free", claimed_by="free", modes=["ReadWriteOncePod"]),
               pod("user", on="n0", volumes=with_claim("alone"), priority=5)]
    yield "disks that one pod may have", objects, [
        pod("gce", volumes=gce("one")), pod("gce-read", volumes=gce("one", True)), pod("gce-shared", volumes=gce("shared", True)),
        pod("gce-shared-write", volumes=gce("shared")), pod("aws", volumes=aws), pod("rbd", volumes=rbd("p", "x", "m2", "m3")),
        pod("rbd-other", volumes=rbd("p", "x", "m3")), pod("rbd-pool", volumes=rbd("q", "x", "m1")), pod("rbd-read", volumes=rbd("p", "x", "m1", read_only=True)),
        pod("iscsi", volumes=iscsi("iqn.a", 1)), pod("iscsi-other", volumes=iscsi("iqn.b")),
        uses("alone", "alone"), uses("alone-higher", "alone", priority=10), uses("free", "free"), uses("alone-nowhere", "alone", nodeSelector={"no": "where"}),
        uses("alone-low", "alone", priority=1)]


def limits(_):
    def csi_node(name, *drivers):
        return object_of("CSINode", name, "storage.k8s.io/v1", spec={"drivers": [
            {"name": driver, "nodeID": name, "topologyKeys": [], "allocatable": {"count": count}} for driver, count in drivers]})
    objects = [*three_nodes(), *CLASSES, csi_node("n0", ("disks.example.com", 2)), csi_node("n1", ("disks.example.com", 3), ("other.example.com", 0))]
    for name in ("a", "b", "c", "d", "e"):
        objects += [claim(name, f"vol-{name}"), volume(f"vol-{name}", claimed_by=name)]
    objects += [claim("late"), claim("other", "vol-other"), volume("vol-other", {"csi": {"driver": "other.example.com", "volumeHandle": "o"}}, claimed_by="other"),
                uses("p0", "a", "b", on="n0"), uses("p1", "c", on="n1"), uses("p2", "a", on="n2")]
    objects += [object_of("VolumeAttachment", "at-1", "storage.k8s.io/v1", spec={
        "attacher": "disks.example.com", "nodeName": "n1", "source": {"persistentVolumeName": "vol-d"}}, status={"attached": True})]
    inline = [{"name": "i", "csi": {"driver": "disks.example.com"}}]
    yield "limits of volumes", objects, [
        uses("of-a", "a"), uses("of-c", "c"), uses("of-d", "d"), uses("of-e", "e"), uses("of-c-and-e", "c", "e"), uses("of-d-and-e", "d", "e"),
        uses("of-many", "a", "b", "c", "d", "e"), uses("of-late", "late"), uses("of-other", "other"), pod("inline", volumes=inline),
        uses("of-e-and-large", "e", cpu="5")]


CLUSTERS = [binding, matching, ephemeral, zones, restrictions, limits]
