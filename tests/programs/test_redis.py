"""Redis as Microsoft's port for Windows continues it, with the append-only file that its users turn on for data that must last."""

import program_case
from sources import Jar

SETTINGS = """
port 6379
bind 0.0.0.0
dir C:/data
persistence-available yes
appendonly yes
appendfsync everysec
save ""
maxmemory 64mb
maxmemory-policy noeviction
"""

TALK = """
import redis
def connect(password="correct-horse"):
    return redis.Redis(HOST, password=password, socket_timeout=10, protocol=2)  # Redis 5 knows no other
try:
    connect("wrong").ping()
    raise SystemExit("a wrong password is taken")
except redis.AuthenticationError:
    pass
server = connect()
assert server.config_get("maxmemory")["maxmemory"] == str(64 << 20)
if "-service" not in HOST:
    if PHASE == "use":
        with server.pipeline() as pipe:
            for number in range(1000):
                pipe.rpush("kept", number) if number else pipe.delete("kept").rpush("kept", number)
            pipe.execute()
        assert server.eval("return redis.call('llen', KEYS[1])", 1, "kept") == 1000
        heard = server.pubsub()
        heard.subscribe("news")
        heard.get_message(timeout=10)
        server.publish("news", "told")
        assert heard.get_message(timeout=10)["data"] == b"told"
        server.bgrewriteaof()
    assert [int(value) for value in server.lrange("kept", 0, -1)] == list(range(1000))
"""


class Redis(program_case.ProgramCase):
    program = "Redis 5.0.14.1"
    sources = (Jar("com.github.codemonstur:embedded-redis", "1.4.3", "ffbc63265c60d25dee453d6f656b527d98200d98657c6a0ab4dec4ea2c3a5cd6",
                   (("redis-server-5.0.14.1-windows-amd64.exe", "redis/redis-server.exe"),)),)
    command = ("cmd", "/c", "C:\\redis\\redis-server.exe C:\\config\\redis.conf --requirepass %PASSWORD%")
    port = 6379
    config = {"redis.conf": SETTINGS}
    secret = {"password": "correct-horse"}
    environment = {"PASSWORD": "secret:password"}
    check = ("C:\\redis\\redis-server.exe", "--version")
    check_prints = "v=5.0.14.1"
    says = "Ready to accept connections"
    talk = TALK
