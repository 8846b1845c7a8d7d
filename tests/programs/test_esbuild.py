"""esbuild's own server: TypeScript of the ConfigMap, bundled when it is asked for."""

import program_case
from sources import Npm

TALK = """
import http.client
connection = http.client.HTTPConnection(HOST, 8000, timeout=20)
connection.request("GET", "/main.js", headers={"Host": "localhost:8000"})  # it refuses names that it does not know
answer = connection.getresponse()
text = answer.read().decode()
assert answer.status == 200 and "from a ConfigMap" in text and "interface" not in text and "import" not in text, text
"""


class Esbuild(program_case.ProgramCase):
    program = "esbuild 0.28.2"
    sources = (Npm("@esbuild/win32-x64", "0.28.2", "7286c3611b6f1f4c4d9ec90adcbc478407ff0d28ead96567f361d53e67613e19",
                   (("package/esbuild.exe", "esbuild/esbuild.exe"),)),)
    command = ("C:\\esbuild\\esbuild.exe", "C:\\config\\main.ts", "--bundle", "--outdir=C:\\data\\out", "--serve=0.0.0.0:8000")
    stdin = True  # it ends when that does
    port = 8000
    config = {"main.ts": 'import { greeting } from "./part";\nconsole.log(greeting);\n',
              "part.ts": 'interface Named { name: string }\nconst part: Named = { name: "from a ConfigMap" };\nexport const greeting = part.name;\n'}
    check = ("C:\\esbuild\\esbuild.exe", "--version")
    check_prints = "0.28.2"
    talk = TALK
