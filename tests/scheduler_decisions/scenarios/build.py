"""Objects of scenarios, as short as the scheduler can read them: what the API server fills in and the scheduler does not look at is left out."""


def without_none(value):
    return {key: item for key, item in value.items() if item is not None}


def object_of(kind, name, version="v1", namespace=None, labels=None, **rest):
    metadata = without_none({"name": name, "namespace": namespace, "labels": labels})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **without_none(rest)}


def node(name, cpu="4", memory="8Gi", pods="110", labels=None, taints=None, unschedulable=None, images=None, features=None, **extended):
    """`extended`: other resources."""
    allocatable = {"cpu": cpu, "memory": memory, "ephemeral-storage": "50Gi", "pods": pods, **extended}
    status = without_none({"allocatable": allocatable, "images": images, "declaredFeatures": features})
    return object_of("Node", name, labels={"kubernetes.io/hostname": name, **(labels or {})},
                     spec=without_none({"taints": taints, "unschedulable": unschedulable}), status=status)


def taint(key, effect="NoSchedule", value=None):
    return without_none({"key": key, "value": value, "effect": effect})


def toleration(key=None, operator=None, value=None, effect=None, seconds=None):
    return without_none({"key": key, "operator": operator, "value": value, "effect": effect, "tolerationSeconds": seconds})


def container(name="main", image="app:1", requests=None, limits=None, ports=None, **rest):
    resources = without_none({"requests": requests, "limits": limits})
    return without_none({"name": name, "image": image, "resources": resources, "ports": ports, **rest})


def requests(cpu=None, memory=None):
    return without_none({"cpu": cpu, "memory": memory}) or None


def pod(name, on=None, cpu=None, memory=None, labels=None, namespace="default", containers=None, started=None, status=None, deleted=None,
        owner=None, annotations=None, **spec):
    """`on`: the node that it is on; otherwise it is to be scheduled. `owner`: kind and name of the controller."""
    made = object_of("Pod", name, namespace=namespace, labels=labels)
    if annotations:
        made["metadata"]["annotations"] = annotations
    if deleted:
        made["metadata"].update(deletionTimestamp=deleted, deletionGracePeriodSeconds=30, finalizers=["example.com/kept"])
    if owner:
        kind, of = owner
        version = "v1" if kind == "ReplicationController" else "apps/v1"
        made["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": of, "uid": of, "controller": True}]
    made["spec"] = without_none({"nodeName": on, "containers": containers or [container(requests=requests(cpu, memory))],
                                 "schedulerName": "default-scheduler", **spec})
    state = without_none({"phase": "Running" if on else "Pending", "startTime": started, **(status or {})})
    made["status"] = state
    return made


def expression(key, operator, *values):
    return without_none({"key": key, "operator": operator, "values": list(values) or None})


def node_term(*expressions, fields=None):
    return without_none({"matchExpressions": list(expressions) or None, "matchFields": fields})


def node_affinity(*required, preferred=None):
    """`preferred`: weights and terms."""
    affinity = {}
    if required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(required)}
    if preferred:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": weight, "preference": term} for weight, term in preferred]
    return {"nodeAffinity": affinity}


def selector(labels=None, *expressions):
    return without_none({"matchLabels": labels, "matchExpressions": list(expressions) or None})


def pod_term(labels, key="topology.kubernetes.io/zone", **rest):
    """`labels`: matchLabels, or a whole selector."""
    chosen = labels if labels is None or {"matchLabels", "matchExpressions"} & labels.keys() or not labels else selector(labels)
    return without_none({"labelSelector": chosen, "topologyKey": key, **rest})


def between_pods(kind, *required, preferred=None):
    """`kind`: podAffinity or podAntiAffinity."""
    affinity = {}
    if required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = list(required)
    if preferred:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": weight, "podAffinityTerm": term} for weight, term in preferred]
    return {kind: affinity}


def spread(labels, key="topology.kubernetes.io/zone", skew=1, required=True, **rest):
    return without_none({"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule" if required else "ScheduleAnyway",
                         "labelSelector": selector(labels) if labels is not None else None, **rest})


def zone(name, region=None):
    return without_none({"topology.kubernetes.io/zone": name, "topology.kubernetes.io/region": region})


def claim(name, volume=None, storage_class="late", size="5Gi", modes=("ReadWriteOnce",), namespace="default", annotations=None, chosen=None,
          **spec):
    """`volume`: it is bound to that. `chosen`: it names that volume, but is not bound."""
    made = object_of("PersistentVolumeClaim", name, namespace=namespace)
    marks = dict(annotations or {})
    if volume:
        marks["pv.kubernetes.io/bind-completed"] = "yes"
    if marks:
        made["metadata"]["annotations"] = marks
    made["spec"] = without_none({"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "storageClassName": storage_class,
                                 "volumeMode": "Filesystem", "volumeName": volume or chosen, **spec})
    made["status"] = {"phase": "Bound" if volume else "Pending"}
    return made


def volume(name, source=None, storage_class="late", size="5Gi", modes=("ReadWriteOnce",), claimed_by=None, nodes=None, labels=None, phase=None,
           **spec):
    """`claimed_by`: the claim in the namespace "default" that it is bound to. `nodes`: terms of its node affinity."""
    reference = claimed_by and {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": claimed_by, "uid": claimed_by}
    return object_of("PersistentVolume", name, labels=labels, spec=without_none({
        "capacity": {"storage": size}, "accessModes": list(modes), "storageClassName": storage_class, "volumeMode": "Filesystem",
        "claimRef": reference, "nodeAffinity": nodes and {"required": {"nodeSelectorTerms": nodes}}, **(source or {"csi": {
            "driver": "disks.example.com", "volumeHandle": name}}), **spec}),
        status={"phase": phase or ("Bound" if claimed_by else "Available")})


def storage_class(name, provisioner="disks.example.com", late=True, **rest):
    return object_of("StorageClass", name, "storage.k8s.io/v1", provisioner=provisioner, reclaimPolicy="Delete",
                     volumeBindingMode="WaitForFirstConsumer" if late else "Immediate", **rest)


def with_claim(*names):
    return [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}} for number, name in enumerate(names)]
