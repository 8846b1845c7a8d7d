"""Dynamic resources: claims for devices."""

from .build import container, node, object_of, pod, requests, taint, without_none

GROUP = "resource.k8s.io/v1"


def device(name, model="a", memory="10Gi", **rest):
    return {"name": name, "attributes": {"model": {"string": model}, "index": {"int": int(name[-1])}}, "capacity": {"memory": {"value": memory}}, **rest}


def slice_of(name, on, *devices, driver="gpu.example.com", **where):
    return object_of("ResourceSlice", name, GROUP, spec=without_none({
        "driver": driver, "pool": {"name": on or name, "generation": 1, "resourceSliceCount": 1}, "nodeName": on, "devices": list(devices), **where}))


def device_class(name, *expressions, **rest):
    return object_of("DeviceClass", name, GROUP, spec={"selectors": [{"cel": {"expression": one}} for one in expressions], **rest})


def request(name="gpu", of="gpu", *expressions, count=1, mode="ExactCount", **rest):
    exactly = {"deviceClassName": of, "allocationMode": mode, **rest}
    if mode == "ExactCount":
        exactly["count"] = count
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return {"name": name, "exactly": exactly}


def device_claim(name, *asked, allocated=None, reserved=None, **rest):
    """`allocated`: node and devices. `reserved`: names of pods."""
    made = object_of("ResourceClaim", name, GROUP, "default", spec={"devices": {"requests": list(asked or [request()]), **rest}})
    made["metadata"]["uid"] = name
    if allocated:
        on, *devices = allocated
        made["status"] = without_none({"allocation": {"devices": {"results": [
            {"request": "gpu", "driver": "gpu.example.com", "pool": on, "device": one} for one in devices]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]}},
            "reservedFor": [{"resource": "pods", "name": pod_name, "uid": pod_name} for pod_name in reserved or []] or None})
    return made


def uses(name, *named, cpu=None, **rest):
    one = container(requests=requests(cpu))
    one["resources"] = {**one["resources"], "claims": [{"name": f"c{i}"} for i in range(len(named))]}
    return pod(name, containers=[one], resourceClaims=[{"name": f"c{i}", "resourceClaimName": of} for i, of in enumerate(named)], **rest)


def devices(_):
    objects = [node("n0"), node("n1"), node("n2"), node("closed", taints=[taint("k")]),
               device_class("gpu", 'device.driver == "gpu.example.com"'),
               device_class("large", 'device.driver == "gpu.example.com" && device.capacity["gpu.example.com"].memory.compareTo(quantity("20Gi")) >= 0'),
               device_class("broken", 'device.attributes["gpu.example.com"].unknown == "x"'), device_class("any"),
               slice_of("s0", "n0", device("gpu-0"), device("gpu-1", "b")), slice_of("s1", "n1", device("gpu-0", "b", "40Gi")),
               slice_of("s-closed", "closed", device("gpu-0"), device("gpu-1"), device("gpu-2")),
               device_claim("one"), device_claim("two", request(count=2)), device_claim("three", request(count=3)),
               device_claim("large", request("gpu", "large")), device_claim("model-b", request("gpu", "gpu", 'device.attributes["gpu.example.com"].model == "b"')),
               device_claim("all", request(mode="All")), device_claim("of-missing-class", request("gpu", "missing")),
               device_claim("of-broken-class", request("gpu", "broken")), device_claim("several", request("x"), request("y", "large")),
               device_claim("same-model", request(count=2), constraints=[{"requests": ["gpu"], "matchAttribute": "gpu.example.com/model"}]),
               device_claim("first-of", {"name": "gpu", "firstAvailable": [
                   {"name": "large", "deviceClassName": "large", "allocationMode": "ExactCount", "count": 1},
                   {"name": "small", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}]}),
               device_claim("taken", allocated=("n0", "gpu-0"), reserved=["owner"]), uses("owner", "taken", on="n0"),
               device_claim("ready", allocated=("n0", "gpu-1"))]
    yield "devices", objects, [
        *(uses("of-" + name, name) for name in ("one", "two", "three", "large", "model-b", "all", "of-missing-class", "of-broken-class", "several",
                                                "same-model", "first-of", "taken", "ready", "missing")),
        uses("of-one-and-large", "one", "large"), uses("of-taken-and-one", "taken", "one"), uses("of-one-and-cpu", "one", cpu="9"),
        uses("of-three-tolerating", "three", tolerations=[{"operator": "Exists"}]),
        pod("of-template", containers=[container()], resourceClaims=[{"name": "c0", "resourceClaimTemplateName": "t"}])]
    yield "devices that others hold", [*objects[:4], *objects[4:11], device_claim("held-0", allocated=("n0", "gpu-0"), reserved=["owner"]),
                                       uses("owner", "held-0", on="n0"), device_claim("idle", allocated=("n1", "gpu-0")),
                                       device_claim("one"), device_claim("two", request(count=2)), device_claim("large", request("gpu", "large"))], [
        uses("of-one", "one"), uses("of-two", "two"), uses("of-large", "large")]


def deleted(_):
    gone = device_claim("gone", allocated=("n0", "gpu-0"))
    gone["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["resource.kubernetes.io/delete-protection"])
    owned = device_claim("owned")
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "another", "uid": "another", "controller": True}]
    yield "claims that cannot be used", [node("n0"), device_class("gpu"), slice_of("s0", "n0", device("gpu-0")), gone, owned], [
        uses("of-deleted", "gone"),
        pod("of-another", resourceClaims=[{"name": "c0", "resourceClaimTemplateName": "t"}],
            status={"resourceClaimStatuses": [{"name": "c0", "resourceClaimName": "owned"}]})]


def shared(_):
    """Devices that no single node has."""
    network = slice_of("net", None, device("net-0"), device("net-1"), driver="net.example.com", allNodes=True)
    zonal = slice_of("zonal", None, device("disk-0"), driver="disk.example.com", nodeSelector={"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]})
    yield "devices of several nodes", [node("n0", labels={"zone": "a"}), node("n1", labels={"zone": "a"}), node("n2"), network, zonal, device_class("any"),
                                       device_class("net", 'device.driver == "net.example.com"'), device_class("disk", 'device.driver == "disk.example.com"'),
                                       device_claim("net", request("r", "net")), device_claim("disk", request("r", "disk")),
                                       device_claim("all", request("r", "any", mode="All"))], [
        uses("of-net", "net"), uses("of-disk", "disk"), uses("of-both", "net", "disk"), uses("of-all", "all")]


def extended(_):
    """Devices by the name of an extended resource."""
    with_name = device_class("gpu", 'device.driver == "gpu.example.com"', extendedResourceName="example.com/gpu")

    def asks(name, count, **rest):
        named = {"example.com/gpu": str(count)}
        return pod(name, containers=[container(requests=named, limits=named)], **rest)
    yield "devices as extended resources", [node("n0"), node("n1"), node("plugin", **{"example.com/gpu": "2"}), with_name,
                                            slice_of("s0", "n0", device("gpu-0")), slice_of("s1", "n1", device("gpu-0"), device("gpu-1"))], [
        asks("one", 1), asks("two", 2), asks("three", 3), asks("none", 0),
        pod("implicit", containers=[container(requests={"deviceclass.resource.kubernetes.io/gpu": "1"}, limits={
            "deviceclass.resource.kubernetes.io/gpu": "1"})])]


def tainted(_):
    taints = [{"key": "worn", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]
    watched = [{"key": "worn", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]
    yield "devices with taints", [node("n0"), node("n1"), node("n2"), device_class("gpu", 'device.driver == "gpu.example.com"'),
                                  slice_of("s0", "n0", device("gpu-0", taints=taints)), slice_of("s1", "n1", device("gpu-0", taints=watched), device("gpu-1")),
                                  device_claim("one"), device_claim("two", request(count=2)), device_claim("all", request(mode="All")),
                                  device_claim("tolerates", request(count=1, tolerations=[{"key": "worn", "operator": "Exists", "effect": "NoSchedule"}])),
                                  device_claim("tolerates-two", request(count=2, tolerations=[{"operator": "Exists"}]))], [
        *(uses("of-" + name, name) for name in ("one", "two", "all", "tolerates", "tolerates-two"))]


def counted(_):
    """Devices that are parts of one, and devices that several claims share."""
    counters = [{"name": "board", "counters": {"memory": {"value": "40Gi"}}}]

    def part(name, memory):
        return device(name, memory=memory, consumesCounters=[{"counterSet": "board", "counters": {"memory": {"value": memory}}}])
    parts = slice_of("parts", "n0", part("half-0", "20Gi"), part("half-1", "20Gi"), part("whole-0", "40Gi"))
    parts["spec"]["pool"]["resourceSliceCount"] = 2
    sets = slice_of("sets", "n0")
    sets["spec"]["pool"]["resourceSliceCount"] = 2
    del sets["spec"]["devices"]
    sets["spec"]["sharedCounters"] = counters
    held = device_claim("held", allocated=("n0", "half-0"), reserved=["owner"])

    def of_size(name, size, count=1):
        return device_claim(name, request("gpu", "gpu", f'device.capacity["gpu.example.com"].memory.compareTo(quantity("{size}")) >= 0', count=count))
    objects = [node("n0"), node("n1"), device_class("gpu", 'device.driver == "gpu.example.com"'), parts, sets, of_size("half", "20Gi"),
               of_size("halves", "20Gi", 2), of_size("three", "20Gi", 3), of_size("whole", "40Gi")]
    asks = [uses("of-" + name, name) for name in ("half", "halves", "three", "whole")]
    yield "parts of devices", objects, [*asks, uses("of-half-and-whole", "half", "whole")]
    yield "parts of devices that others hold", [*objects, held, uses("owner", "held", on="n0")], asks

    shared = device("nic-0", memory="10Gi", allowMultipleAllocations=True)
    shared["capacity"]["memory"]["requestPolicy"] = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}

    def share(name, size=None):
        return device_claim(name, request("gpu", "gpu", **({"capacity": {"requests": {"memory": size}}} if size else {})))
    taken = share("taken", "6Gi")
    taken["status"] = {"allocation": {"devices": {"results": [
        {"request": "gpu", "driver": "gpu.example.com", "pool": "n0", "device": "nic-0", "shareID": "11111111-1111-1111-1111-111111111111",
         "consumedCapacity": {"memory": "6Gi"}}]}}, "reservedFor": [{"resource": "pods", "name": "owner", "uid": "owner"}]}
    yield "shares of devices", [node("n0"), node("n1"), device_class("gpu", 'device.driver == "gpu.example.com"'), slice_of("s0", "n0", shared), taken,
                                uses("owner", "taken", on="n0"), share("small", "4Gi"), share("large", "5Gi"), share("default"), share("odd", "3500Mi")], [
        *(uses("of-" + name, name) for name in ("small", "large", "default", "odd")), uses("of-two", "small", "default")]


def prioritized(_):
    def either(name, *classes):
        return device_claim(name, {"name": "gpu", "firstAvailable": [
            {"name": f"r{i}", "deviceClassName": of, "allocationMode": "ExactCount", "count": count} for i, (of, count) in enumerate(classes)]})
    yield "alternatives of devices", [node("n0"), node("n1"), node("n2"), device_class("fast", 'device.attributes["gpu.example.com"].model == "fast"'),
                                      device_class("slow", 'device.attributes["gpu.example.com"].model == "slow"'),
                                      slice_of("s0", "n0", device("gpu-0", "fast")), slice_of("s1", "n1", device("gpu-0", "slow"), device("gpu-1", "slow")),
                                      slice_of("s2", "n2", device("gpu-0", "fast"), device("gpu-1", "slow"), device("gpu-2", "slow")),
                                      either("fast-or-slow", ("fast", 1), ("slow", 2)), either("slow-or-fast", ("slow", 2), ("fast", 1)),
                                      either("three-ways", ("fast", 2), ("slow", 3), ("slow", 1))], [
        *(uses("of-" + name, name) for name in ("fast-or-slow", "slow-or-fast", "three-ways")), uses("of-two", "fast-or-slow", "three-ways")]


CLUSTERS = [devices, deleted, shared, extended, tainted, counted, prioritized]
