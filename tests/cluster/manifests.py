"""The few objects that the tests are made of. Everything ends within a second: the programs do not handle SIGTERM."""

from harness import IMAGE

PAGE = "mkdir -p /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"
SLEEP = "trap 'exit 0' TERM; while :; do sleep 0.2; done"

PROBE_SECONDS = 10  # for which a busy machine may keep a probe waiting


def container(name="main", script=SLEEP, image=IMAGE, **fields):
    return {"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script], **fields}


def pod_spec(*containers, **fields):
    return {"terminationGracePeriodSeconds": 1, "containers": list(containers) or [container()], **fields}


def pod(name, *containers, labels=None, **fields):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {"app": name}},
            "spec": pod_spec(*containers, **fields)}


def web_pod(name, labels=None, script=PAGE, **fields):
    """Serves its own host name on port 8080."""
    serving = container(script=script, ports=[{"containerPort": 8080}],
                        readinessProbe={"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1, "timeoutSeconds": PROBE_SECONDS})
    return pod(name, serving, labels=labels, **fields)


def deployment(name, replicas=1, *containers, strategy=None, pod_fields=None, **fields):
    labels = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(*containers, **(pod_fields or {}))}, **fields}
    if strategy:
        spec["strategy"] = strategy
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def web_deployment(name, replicas=1, **fields):
    serving = web_pod(name)["spec"]["containers"][0]
    return deployment(name, replicas, serving, **fields)


def service(name, selector=None, port=80, target=8080, protocol="TCP", **fields):
    spec = {"ports": [{"name": "main", "port": port, "targetPort": target, "protocol": protocol}], **fields}
    if selector:
        spec["selector"] = selector
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name, **data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


KUBELET = "C:\\var\\lib\\kubelet"


def csi_proxy_pipe(group):
    return f"\\\\.\\pipe\\csi-proxy-{group}-v1"


def windows_csi_driver(driver, node, socket="reg", groups=("filesystem",), **words):
    """Volumes of a pod with the node's half of a driver for Windows (tests/csi/windows_driver.cc, in the host's C:\\k), and fields of its container:
    what upstream's drivers mount, the host's pipes and the folders of its sockets."""
    own = f"{KUBELET}\\plugins\\{driver}"
    folders = {"plugin": (own, "C:\\csi"), "registry": (KUBELET + "\\plugins_registry", "C:\\registry"), "programs": ("C:\\k", "C:\\k")}
    volumes = [{"name": key, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for key, (path, _) in folders.items()]
    mounts = [{"name": key, "mountPath": path} for key, (_, path) in folders.items()]
    words = {"name": driver, "node": node, "endpoint": "C:\\csi\\csi.sock", "published": own + "\\csi.sock",
             "registration": f"C:\\registry\\{socket}.sock", "storage": own + "\\volumes", **words}
    return ([*volumes, *({"name": group, "hostPath": {"path": csi_proxy_pipe(group)}} for group in groups)],
            {"volumeMounts": [*mounts, *({"name": group, "mountPath": csi_proxy_pipe(group)} for group in groups)],
             "command": ["C:\\k\\csi_windows_driver.exe", *(f"{key}={value}" for key, value in words.items())]})
