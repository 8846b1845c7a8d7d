"""Bun, the build for processors without AVX2: the server of the Node.js entries, which it runs as it is."""

import test_node as node
from sources import Npm


class Bun(node.Node22):
    program = "Bun 1.4.5"
    sources = (Npm("@oven/bun-windows-x64-baseline", "1.4.5", "a1ff85b3016f55d7bf28cc12284fc7d445f3e2601211a898d7c6b33e07b2e0e8",
                   (("package/bin/bun.exe", "bun/bun.exe"),)),)
    command = ("C:\\bun\\bun.exe", "C:\\config\\server.js")
    check = ("C:\\bun\\bun.exe", "--version")
    check_prints = "1.4.5"
    memory = "512Mi"
