"""agnhost, upstream's program for its own tests, which clusters with Windows nodes run: HTTP and UDP from one process, compiled with Go's newest."""

import program_case
from sources import GoProgram

TALK = """
import http.client, socket
def ask(path):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=20)
    connection.request("GET", path)
    return connection.getresponse().read().decode()
assert ask("/echo?msg=heard") == "heard"
name = ask("/hostname")
for number in range(20):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(10)
        asked.connect((HOST, 8081))
        asked.send(b"echo %d" % number)
        assert asked.recv(100) == b"%d" % number
        asked.send(b"hostname")
        told = asked.recv(100).decode()
        assert "-service" in HOST or told == name, (told, name)
"""


class Agnhost(program_case.ProgramCase):
    program = "agnhost of Kubernetes 1.36.3"
    sources = (GoProgram("agnhost", "conformance/upstream", "k8s.io/kubernetes/test/images/agnhost", "agnhost/agnhost.exe"),)
    command = ("C:\\agnhost\\agnhost.exe", "netexec", "--http-port=8080", "--udp-port=8081")
    port = 8080
    more_ports = ((8081, "UDP"),)
    config = {"greeting.txt": "from a ConfigMap"}
    check = ("cmd", "/c", "C:\\agnhost\\agnhost.exe --version && type C:\\config\\greeting.txt")
    check_prints = "from a ConfigMap"
    says = "Started UDP server"
    talk = TALK
