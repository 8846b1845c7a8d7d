"""The runtime of .NET Core with a server of our own, and Microsoft's own server for .NET 10, which has its runtime in it."""

import program_case
from sources import CsharpProgram, Npm, Wheel

SERVER = r"""
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

static class Server {
    static readonly string greeting = File.ReadAllText(@"C:\config\greeting.txt");

    delegate bool ControlHandler(int control);
    static readonly ControlHandler atControl = control => {
        Console.WriteLine("ends after event " + control);
        Environment.Exit(0);
        return true;
    };

    // .NET itself hears of Ctrl+C and Ctrl+Break only, before version 6.
    [DllImport("kernel32.dll")] static extern bool SetConsoleCtrlHandler(ControlHandler handler, bool add);

    static void Main() {
        SetConsoleCtrlHandler(atControl, true);
        var listener = new TcpListener(IPAddress.Any, 8080);
        listener.Start();
        Console.WriteLine("listening on 8080");
        Accept(listener).Wait();
    }

    static async Task Accept(TcpListener listener) {
        while (true) {
            var serving = Serve(await listener.AcceptTcpClientAsync());
            serving = serving.ContinueWith(done => Console.WriteLine(done.Exception.InnerException), TaskContinuationOptions.OnlyOnFaulted);
        }
    }

    static async Task Serve(TcpClient client) {
        using (client) {
            var stream = client.GetStream();
            var reader = new StreamReader(stream, Encoding.UTF8);
            var first = (await reader.ReadLineAsync() ?? "").Split(' ');
            if (first.Length < 2) return;
            var headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
            for (string line; !string.IsNullOrEmpty(line = await reader.ReadLineAsync());)
                headers[line.Substring(0, line.IndexOf(':'))] = line.Substring(line.IndexOf(':') + 1).Trim();
            var status = 200;
            var answer = "";
            if (!headers.ContainsKey("Authorization") || headers["Authorization"] != "Bearer " + Environment.GetEnvironmentVariable("TOKEN")) status = 401;
            else if (first[0] == "PUT") await Keep(reader, int.Parse(headers["Content-Length"]));
            else if (first[1] == "/kept") using (var kept = new StreamReader(@"C:\data\kept")) answer = await kept.ReadToEndAsync();
            else if (first[1] == "/child") answer = Child();
            else answer = Greeting();
            var bytes = Encoding.UTF8.GetBytes("HTTP/1.1 " + status + " -\r\nContent-Length: " + answer.Length + "\r\nConnection: close\r\n\r\n" + answer);
            await stream.WriteAsync(bytes, 0, bytes.Length);
        }
    }

    static async Task Keep(TextReader body, int length) {
        var kept = new char[length];
        for (int have = 0, part = 1; have < length && part > 0; have += part) part = await body.ReadAsync(kept, have, length - have);
        using (var file = new StreamWriter(@"C:\data\kept")) await file.WriteAsync(kept);
    }

    static string Child() {
        var start = new ProcessStartInfo("cmd", "/c echo from a child") { RedirectStandardOutput = true, UseShellExecute = false };
        using (var child = Process.Start(start)) return child.StandardOutput.ReadToEnd();
    }

    static string Greeting() {
        var random = new byte[8];
        using (var source = RandomNumberGenerator.Create()) source.GetBytes(random);
        return greeting + " by " + RuntimeInformation.FrameworkDescription + " on " + RuntimeInformation.OSDescription + " " + BitConverter.ToString(random);
    }
}
"""

TALK = program_case.ASK + """
status, text = ask("GET", "/")
assert text.startswith(b"from a ConfigMap by .NET Core 3.1.23 on Microsoft Windows"), text
assert b"from a child" in ask("GET", "/child")[1]
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 10000)[0] == 200
    assert ask("GET", "/kept") == (200, b"0123456789" * 10000)
"""

RUNTIME = Wheel("dotnetcore2", "3.1.23", "e2528813677d7a080522336cb530442408d1e2aea76fa8657018fb532c03c252", (("dotnetcore2/bin", "dotnet"),))
SETTINGS = '{"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}}}'


class DotnetCore31(program_case.ProgramCase):
    program = ".NET Core 3.1.23"
    sources = (RUNTIME, CsharpProgram("Server", SERVER, "app"))
    command = ("C:\\dotnet\\dotnet.exe", "exec", "--runtimeconfig", "C:\\config\\server.json", "C:\\app\\Server.dll")
    port = 8080
    config = {"greeting.txt": "from a ConfigMap", "server.json": SETTINGS}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    memory = "512Mi"
    check = ("C:\\dotnet\\dotnet.exe", "--list-runtimes")
    check_prints = "Microsoft.NETCore.App 3.1.23"
    says = "listening on 8080"
    says_at_stop = "ends after event 6"
    talk = TALK

ASK = """
import http.client, json
def ask(method, session=None, number=1, **parameters):
    connection = http.client.HTTPConnection(HOST, 8080, timeout=50)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **({"Mcp-Session-Id": session} if session else {})}
    message = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({"id": number} if number else {})
    connection.request("POST", "/", json.dumps(message), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status in (200, 202), (answer.status, text)
    told = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    return told[0] if told else json.loads(text or "{}"), answer.getheader("Mcp-Session-Id")
told, session = ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
assert told["result"]["serverInfo"]["name"] == "Azure MCP Server", told
ask("notifications/initialized", session, number=None)
told, _ = ask("tools/list", session, 2)
assert len(told["result"]["tools"]) > 3, told
"""


class AzureMcp(program_case.ProgramCase):
    program = "Azure MCP Server 2.0.5"
    sources = (Npm("@azure/mcp-win32-x64", "2.0.5", "813ec4c8cda4a802f16ef525a3a2c210415fcca445b72a154629dea940f5e7ab", (("package/dist", "azmcp"),)),)
    command = ("C:\\azmcp\\azmcp.exe", "server", "start", "--transport", "http", "--dangerously-disable-http-incoming-auth",
               "--dangerously-write-support-logs-to-dir", "C:\\data")
    port = 8080
    config = {"greeting.txt": "from a ConfigMap"}
    environment = {"ASPNETCORE_URLS": "http://0.0.0.0:8080", "ALLOW_INSECURE_EXTERNAL_BINDING": "true", "AZURE_MCP_COLLECT_TELEMETRY": "false",
                   "ASPNETCORE_SHUTDOWNTIMEOUTSECONDS": "5"}  # it lasts that long after "Hosting stopped"
    memory = "768Mi"
    check = ("C:\\azmcp\\azmcp.exe", "--version")
    check_prints = "2.0.5"
    says = "Content root path"
    says_at_stop = "Hosting stopped"
    talk = ASK
