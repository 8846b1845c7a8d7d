"""What every Node.js of the catalogue serves: files, the file system's and the network's APIs, a child process, TLS' random numbers, console.log."""

import program_case

SERVER = r"""
const fs = require('fs'), http = require('http'), os = require('os'), crypto = require('crypto'), { execFile } = require('child_process');
const settings = JSON.parse(fs.readFileSync('C:\\config\\settings.json', 'utf8'));
const server = http.createServer((request, response) => {
  if (request.headers.authorization !== 'Bearer ' + process.env.TOKEN) { response.writeHead(401); return response.end(); }
  if (request.method === 'PUT') {
    const file = fs.createWriteStream('C:\\data\\kept');
    request.pipe(file);
    file.on('finish', () => { console.log('kept a file'); response.writeHead(201); response.end(); });
  } else if (request.url === '/kept') {
    fs.readFile('C:\\data\\kept', (error, data) => { response.writeHead(error ? 404 : 200); response.end(data); });
  } else if (request.url === '/child') {
    execFile('cmd', ['/c', 'echo', 'from a child'], (error, out) => response.end(String(error || out)));
  } else {
    response.end(JSON.stringify({ greeting: settings.greeting, host: os.hostname(), version: process.version, platform: process.platform,
                                  random: crypto.randomBytes(8).toString('hex') }));
  }
});
server.listen(8080, () => console.log('listening on', server.address().port));
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM', 'SIGBREAK'])
  process.on(signal, () => { console.log('ends after', signal); server.close(() => process.exit(0)); server.closeAllConnections?.(); });
"""

TALK = program_case.ASK + """
import json
status, text = ask("GET", "/")
told = json.loads(text)
assert told["greeting"] == "from a ConfigMap" and told["platform"] == "win32", told
status, text = ask("GET", "/child")
assert b"from a child" in text, text
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 10000)[0] == 201
    assert ask("GET", "/kept") == (200, b"0123456789" * 10000)
"""
