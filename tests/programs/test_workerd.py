"""workerd, the runtime of Cloudflare's workers: a worker of the ConfigMap with a secret of its environment and the volume as a disk service."""

import program_case
from sources import Npm

SETTINGS = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ( name = "main", worker = (
      modules = [ ( name = "worker", esModule = embed "worker.js" ) ],
      compatibilityDate = "2024-01-01",
      bindings = [ ( name = "TOKEN", fromEnvironment = "TOKEN" ), ( name = "disk", service = "disk" ) ] ) ),
    ( name = "disk", disk = ( path = "C:/data", writable = true ) ) ],
  sockets = [ ( name = "http", address = "*:8080", http = (), service = "main" ) ]
);
"""

WORKER = """
export default { async fetch(request, env) {
  if (request.headers.get("authorization") !== "Bearer " + env.TOKEN) return new Response("", { status: 401 });
  const path = new URL(request.url).pathname;
  if (request.method === "PUT") return env.disk.fetch("http://disk" + path, { method: "PUT", body: await request.arrayBuffer() });
  if (path === "/kept") return env.disk.fetch("http://disk/kept");
  return new Response("from a ConfigMap");
} };
"""

TALK = program_case.ASK + """
assert ask("GET", "/") == (200, b"from a ConfigMap")
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 1000)[0] in (200, 201, 204)
    assert ask("GET", "/kept") == (200, b"0123456789" * 1000)
"""


class Workerd(program_case.ProgramCase):
    program = "workerd 1.20261117.1"
    sources = (Npm("@cloudflare/workerd-windows-64", "1.20261117.1", "6396d98d239b0ad96076b4bb9476414b9c09df58446af19918997e0928f07adb",
                   (("package/bin/workerd.exe", "workerd/workerd.exe"),)),)
    # It asks for details of the folder that it starts in, by a name that is the volume's where that is the root of a drive.
    working_dir = "C:\\workerd"
    command = ("C:\\workerd\\workerd.exe", "serve", "C:\\config\\config.capnp")
    port = 8080
    config = {"config.capnp": SETTINGS, "worker.js": WORKER}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    memory = "512Mi"
    check = ("C:\\workerd\\workerd.exe", "--version")
    check_prints = "workerd 2026"
    talk = TALK
