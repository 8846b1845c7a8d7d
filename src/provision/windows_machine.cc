#include <algorithm>
#include <utility>

#include "provision/machine.h"
#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

constexpr Duration WindowsShort = 2min, WindowsLong = 15min;
constexpr const char* RemoteZip = "porthole-provision.zip";  ///< in the user's folder, where scp begins

constexpr std::size_t LongestCommand = 8000;  ///< sshd for Windows starts cmd.exe, which takes 8,191 characters

// The scripts are constants; what varies stands before them, in variables of literals.

/// An error that PowerShell prints itself is XML where the command was encoded, so it is caught and printed as text. `exit` in a script
/// that is called ends that script alone and only leaves its code.
constexpr const char* BeginScript = R"ps($ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'
function Invoke-Script([string] $File) {
  $global:LASTEXITCODE = 0
  & $File @args
  if ($LASTEXITCODE -ne 0) { throw "$File ended with $LASTEXITCODE" }
}
try {
)ps";
constexpr const char* EndScript = "} catch { [Console]::Error.WriteLine($_.Exception.Message); exit 1 }\n";

constexpr const char* AskScript = R"ps("system=$([Environment]::OSVersion.Platform)"
"architecture=$env:PROCESSOR_ARCHITECTURE"
$me = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
if ($me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) { 'administrator=yes' }
if ([IO.Directory]::GetFiles('\\.\pipe\') -contains '\\.\pipe\containerd-containerd') { 'runtime=yes' }
if (Test-Path C:\k\payload.sha256) { "program=$(Get-Content C:\k\payload.sha256)" }
if (Test-Path C:\k\previous) { 'previous=yes' }
if (Test-Path C:\k\pki\servers) {
  $servers = Select-String -Path C:\k\pki\servers -Pattern '^[a-z]+ (\S+)' | Select-Object -First 20
  "server=$(($servers | ForEach-Object { $_.Matches[0].Groups[1].Value }) -join ',')"
}
elseif (Test-Path C:\k\config) { "server=$((Select-String -Path C:\k\config -Pattern '^\s*server:\s*(\S+)').Matches[0].Groups[1].Value)" }
$kubelet = Get-Service kubelet -ErrorAction SilentlyContinue
if ($kubelet -and $kubelet.Status -eq 'Running') { 'agent=active' }
)ps";

/// $zip, $hash. The user's own folder is nobody else's: what is run from there as an administrator, other users of the machine cannot
/// change, as they could in a folder below C:\.
constexpr const char* UnpackScript = R"ps($file = Join-Path $HOME $zip; $new = Join-Path $HOME 'porthole-provision.new'
if (Test-Path $new) { Remove-Item -Recurse -Force $new }
$arrived = (Get-FileHash -Algorithm SHA256 $file).Hash
if ($arrived -ne $hash) { Remove-Item $file; throw 'the zip arrived changed' }
Expand-Archive -Path $file -DestinationPath $new
Remove-Item $file
& $new\porthole\porthole.exe --version
if ($LASTEXITCODE -ne 0) { throw "porthole.exe does not run there: $LASTEXITCODE" }
Set-Content -NoNewline $new\payload.sha256 $hash
)ps";

/// $keep: whether the programs that are there can be put back. Their copy gets its name when it is whole.
constexpr const char* PlaceScript = R"ps($new = Join-Path $HOME 'porthole-provision.new'
if ($keep -eq 'yes') {
  foreach ($old in 'C:\k\previous', 'C:\k\previous.part') { if (Test-Path $old) { Remove-Item -Recurse -Force $old } }
  New-Item -ItemType Directory C:\k\previous.part, C:\k\previous.part\cni | Out-Null
  Copy-Item C:\k\*.exe, C:\k\*.ps1, C:\k\*.psm1, C:\k\payload.sha256 C:\k\previous.part
  Copy-Item C:\k\cni\*.exe C:\k\previous.part\cni
  Rename-Item C:\k\previous.part previous
}
Invoke-Script $new\porthole\scripts\install.ps1
Copy-Item -Force $new\payload.sha256 C:\k\payload.sha256
Remove-Item -Recurse -Force $new
)ps";

/// $arguments; the token is the first line of standard input.
constexpr const char* JoinScript = R"ps($token = [Console]::In.ReadLine()
$token | & C:\k\porthole.exe @arguments
exit $LASTEXITCODE
)ps";

constexpr const char* StopScript = "Invoke-Script C:\\k\\stop.ps1\n";
constexpr const char* StartScript = "Start-Service flanneld, kubelet, kube-proxy\n";

constexpr const char* PutBackScript = R"ps(if (Test-Path C:\k\previous) {
  Copy-Item -Force C:\k\previous\* C:\k -Exclude cni
  Copy-Item -Force C:\k\previous\cni\*.exe C:\k\cni
  Remove-Item -Recurse -Force C:\k\previous
}
)ps";

constexpr const char* ForgetPreviousScript = "if (Test-Path C:\\k\\previous) { Remove-Item -Recurse -Force C:\\k\\previous }\n";

constexpr const char* RemoveScript = R"ps(if (Test-Path C:\k\remove.ps1) { Invoke-Script C:\k\remove.ps1 -Programs }
$new = Join-Path $HOME 'porthole-provision.new'
if (Test-Path $new) { Remove-Item -Recurse -Force $new }
)ps";

std::string literals(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + quote_for_powershell(word);
    return "@(" + list + ")";
}

std::string variable(const char* name, const std::string& value) {
    return "$" + std::string(name) + " = " + quote_for_powershell(value) + "\n";
}

class WindowsMachine final : public Machine {
public:
    WindowsMachine(Transport& transport, MachineDescription description) : transport_(transport), description_(std::move(description)) {}

    Task<MachineFacts> ask() override {
        CO_TRY(const std::string output, co_await run("asking the machine", AskScript, WindowsShort));
        const auto answers = parse_answers(output);
        const auto answer = [&](const char* key) { return answers.contains(key) ? answers.at(key) : std::string(); };
        if (answer("system") != "Win32NT" || answer("architecture") != "AMD64")
            co_return Error(Reason::BadRequest, "the machine does not run a 64-bit Windows: its pool needs another `os`");
        if (answer("administrator") != "yes")
            co_return Error(Reason::BadRequest, "the user is not an administrator of the machine: give the pool another `user`");
        if (answer("runtime") != "yes")
            co_return Error(Reason::BadRequest,
                            "containerd is not available: run install-containerd.ps1 of the Windows zip on the machine");
        co_return MachineFacts{.program_sha256 = answer("program"),
                               .server = answer("server"),
                               .is_agent_running = answer("agent") == "active",
                               .has_previous = answer("previous") == "yes"};
    }

    Task<> upload(Payload payload) override {
        CO_TRY_VOID(co_await transport_.copy(description_.ssh, payload.file, RemoteZip));
        co_return co_await quiet("unpacking the zip", variable("zip", RemoteZip) + variable("hash", payload.sha256) + UnpackScript);
    }
    Task<> place(bool keep) override { return quiet("installing the programs", variable("keep", keep ? "yes" : "no") + PlaceScript); }

    Task<> join(JoinOrder order) override {
        std::vector<std::string> words = {"join",        order.server,  "--token-file",   "-", "--discovery-token-ca-cert-hash",
                                          order.ca_hash, "--node-name", description_.name};
        for (const std::string& taint : description_.taints) words.insert(words.end(), {"--taint", taint});
        words.insert(words.end(), description_.join_flags.begin(), description_.join_flags.end());
        CO_TRY_VOID(
            co_await run("porthole.exe join", "$arguments = " + literals(words) + "\n" + JoinScript, WindowsLong, order.token + "\n"));
        co_return {};
    }

    Task<> stop() override { return quiet("stopping the services", StopScript); }
    Task<> start() override { return quiet("starting the services", StartScript); }
    Task<> roll_back() override { return quiet("putting the old programs back", std::string(StopScript) + PutBackScript + StartScript); }
    Task<> forget_previous() override { return quiet("deleting the old programs", ForgetPreviousScript); }
    Task<> remove() override { return quiet("porthole.exe leave", RemoveScript); }

private:
    Task<std::string> run(std::string what, std::string script, Duration limit, std::string input = "") {
        std::string command = powershell_command(BeginScript + script + EndScript);
        if (command.size() > LongestCommand) co_return Error(Reason::BadRequest, what + ": joinFlags and taints are too long for cmd.exe");
        CO_TRY(CommandOutput done, co_await transport_.run(description_.ssh, std::move(command), std::move(input), limit));
        CO_TRY_VOID(check_output(done, what));
        co_return std::move(done.output);
    }
    Task<> quiet(std::string what, std::string script) {
        CO_TRY_VOID(co_await run(std::move(what), std::move(script), WindowsLong));
        co_return {};
    }

    Transport& transport_;
    const MachineDescription description_;
};

}  // namespace

std::unique_ptr<Machine> make_windows_machine(Transport& transport, MachineDescription description) {
    return std::make_unique<WindowsMachine>(transport, std::move(description));
}

}  // namespace porthole::provision
