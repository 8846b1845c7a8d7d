#include <windows.h>

#include "base/strings.h"
#include "cmd/self_check/machine.h"
#include "node_join/windows_node/host_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr const char* FolderVariable = "PORTHOLE_SELF_CHECK_SCRIPTS";

/// In the variable is the folder of this program, next to which the scripts are.
Result<std::string> powershell(Machine& machine, const std::string& text) {
    TRY(const CommandOutput ran, machine.world.run(machine.world.processes->run(
                                     {.arguments = {"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", text},
                                      .environment = {{FolderVariable, node_join::own_program().parent_path().string()}}})));
    return std::string(trim(ran.output));
}

Result<Value> version(Machine& machine) {
    TRY(const std::string major, powershell(machine, "$PSVersionTable.PSVersion.Major"));
    return Value::object({{"major", major}});
}

/// By PowerShell's own parser, which runs nothing.
Result<Value> syntax(Machine& machine) {
    constexpr const char* Count =
        "$all = 0; Get-ChildItem -LiteralPath $env:PORTHOLE_SELF_CHECK_SCRIPTS -Recurse -Depth 2 -Include *.ps1,*.psm1 | ForEach-Object { "
        "$errors = $null; "
        "[void][System.Management.Automation.Language.Parser]::ParseFile($_.FullName, [ref]$null, [ref]$errors); "
        "$all += $errors.Count }; $all";
    TRY(const std::string errors, powershell(machine, Count));
    return Value::object({{"errors", errors}});
}

}  // namespace

Area area_scripts() { return {.probes = {{"powershell-version", version}, {"script-syntax", syntax}}, .parts = {}}; }

}  // namespace porthole::cmd::self_check
