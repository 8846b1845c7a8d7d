"""Deno with the permissions that the server needs and no other: the server of the Node.js entries, as a CommonJS module."""

import node_server
import program_case
from sources import Npm


class Deno(program_case.ProgramCase):
    program = "Deno 2.9.6"
    sources = (Npm("@deno/win32-x64", "2.9.6", "559b622e642210e0f0af0e4581953a0a9679a21968a57b7dc8a1b1a91d09b67f", (("package/deno.exe", "deno/deno.exe"),)),)
    command = ("C:\\deno\\deno.exe", "run", "--allow-net", "--allow-read", "--allow-write=C:\\data", "--allow-env", "--allow-run", "--allow-sys",
               "C:\\config\\server.cjs")
    port = 8080
    config = {"server.cjs": node_server.SERVER, "settings.json": '{"greeting": "from a ConfigMap"}'}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token", "DENO_DIR": "C:\\data\\deno"}
    memory = "512Mi"
    check = ("C:\\deno\\deno.exe", "--version")
    check_prints = "deno 2.9.6"
    says = "listening on 8080"
    talk = node_server.TALK
