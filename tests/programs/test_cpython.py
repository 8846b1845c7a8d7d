"""CPython as bytedeco builds it for programs in Java: a threaded HTTP server, SQLite on the volume, a child process, random numbers."""

import program_case
from sources import Jar

SERVER = r"""
import http.server, os, pathlib, platform, secrets, sqlite3, subprocess, threading

GREETING = pathlib.Path(r"C:\config\greeting.txt").read_text()
KEPT = sqlite3.connect(r"C:\data\kept.db", check_same_thread=False)
KEPT.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, body BLOB)")
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/kept":
            with LOCK:
                body = KEPT.execute("SELECT body FROM kept WHERE name = ?", ("page",)).fetchone()[0]
        elif self.path == "/child":
            body = subprocess.run(["cmd", "/c", "echo", "from a child"], capture_output=True, check=True).stdout
        elif self.path == "/together":
            TOGETHER.wait(20)
            body = b"all have come"
        else:
            body = f"{GREETING} on {platform.system()} by {platform.python_version()} {secrets.token_hex()}".encode()
        self.answer(body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with LOCK, KEPT:
            KEPT.execute("REPLACE INTO kept VALUES (?, ?)", ("page", body))
        self.answer(b"")

    def answer(self, body):
        allowed = self.headers["Authorization"] == "Bearer " + os.environ["TOKEN"]
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body) * allowed))
        self.end_headers()
        self.wfile.write(body * allowed)


TOGETHER = threading.Barrier(20)
server = http.server.ThreadingHTTPServer(("", 8080), Handler)
print("listening on", server.server_port)
server.serve_forever()
"""

TALK = """
import concurrent.futures, http.client
def ask(method, path, body=None, token="correct-horse"):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=25)
    connection.request(method, path, body, {"Authorization": "Bearer " + token})
    answer = connection.getresponse()
    return answer.status, answer.read()
assert ask("GET", "/", token="wrong")[0] == 401
status, text = ask("GET", "/")
assert text.startswith(b"from a ConfigMap on Windows by 3.14.3"), text
assert b"from a child" in ask("GET", "/child")[1]
if "-service" not in HOST:
    with concurrent.futures.ThreadPoolExecutor(20) as pool:  # each is answered when all have asked
        assert set(pool.map(lambda _: ask("GET", "/together"), range(20))) == {(200, b"all have come")}
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 10000)[0] == 200
    assert ask("GET", "/kept") == (200, b"0123456789" * 10000)
"""


class Cpython(program_case.ProgramCase):
    program = "CPython 3.14.3"
    sources = (Jar("org.bytedeco:cpython:jar:windows-x86_64", "3.14.3-1.5.13", "3291bf3d8f405335ac21dbe55780521fdfd295b0f9f43f7e6e8c55bedd709cb3",
                   tuple((f"org/bytedeco/cpython/windows-x86_64/{name}", f"python/{name}") for name in ("python.exe", "python314.dll", "lib"))),)
    command = ("C:\\python\\python.exe", "-u", "C:\\config\\server.py")
    port = 8080
    config = {"server.py": SERVER, "greeting.txt": "from a ConfigMap"}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    check = ("C:\\python\\python.exe", "-c", "import ssl, ctypes, asyncio; print(ssl.OPENSSL_VERSION)")
    check_prints = "OpenSSL 3"
    says = "listening on 8080"
    talk = TALK
