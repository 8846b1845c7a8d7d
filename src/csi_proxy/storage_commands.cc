#include "csi_proxy/storage_commands.h"

#include <charconv>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::csi_proxy {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr Duration Limit = 5min;  // a large disk takes long to format
constexpr std::size_t LongestMessage = 1024;
/// Errors end the script; progress bars would be among the errors.
constexpr const char* Preamble =
    "$ErrorActionPreference='Stop';$ProgressPreference='SilentlyContinue';"
    "[Console]::OutputEncoding=[Text.Encoding]::UTF8;";
constexpr const char* OfPortal = "Get-IscsiTargetPortal -TargetPortalAddress $Env:csi_portal -TargetPortalPortNumber $Env:csi_port";
constexpr const char* OfTarget = "|Get-IscsiTarget|Where-Object{$_.NodeAddress -eq $Env:csi_target}";
constexpr const char* OfVolume = "Get-Volume -UniqueId $Env:csi_volume";

/// Counts for as long as it is there.
class Counted {
public:
    explicit Counted(std::size_t& count) : count_(count) { ++count_; }
    Counted(const Counted&) = delete;
    ~Counted() { --count_; }

private:
    std::size_t& count_;
};

std::string text_of(const Value& value, const char* name) {
    const Value* found = value.find(name);
    if (!found) return "";
    if (found->is_string()) return std::string(trim(found->as_string()));
    return found->is_int() ? std::to_string(found->as_int()) : "";
}
std::int64_t number_of(const Value& value, const char* name) {
    const Value* found = value.find(name);
    return found && found->is_int() ? found->as_int() : 0;
}
std::string disk_text(DiskNumber disk) { return std::to_string(disk); }

Result<Value> parsed(const std::string& json) {
    auto value = schema::parse_json(json);
    if (!value) return Error(Reason::Io, "PowerShell does not answer with JSON");
    return value;
}

}  // namespace

Task<std::string> StorageCommands::run(std::string script, Variables variables) {
    if (asked_ == MostRunning + MostWaiting) co_return Error(Reason::Unavailable, "too many storage commands wait on this host");
    const Counted counted(asked_);
    CO_TRY(const auto permit, co_await permits_.acquire());
    Command command{.arguments = {"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", Preamble + std::move(script)},
                    .environment = std::move(variables),
                    .limit = Limit};
    auto output = co_await processes_.run(std::move(command));
    if (is_not_found(output)) co_return Error(Reason::NotFound, "this host has no Windows PowerShell");
    CO_TRY_VOID(output);
    if (output->exit_code != 0)
        co_return Error(Reason::Io,
                        "exit code " + std::to_string(output->exit_code) + ": " +
                            std::string(trim(output->errors.empty() ? output->output : output->errors)).substr(0, LongestMessage));
    co_return std::string(trim(output->output));
}

Task<> StorageCommands::change(std::string script, Variables variables) {
    CO_TRY_VOID(co_await run(std::move(script), std::move(variables)));
    co_return {};
}

Task<std::int64_t> StorageCommands::number(std::string script, Variables variables) {
    CO_TRY(const std::string text, co_await run(std::move(script), std::move(variables)));
    std::int64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size())
        co_return Error(Reason::Io, "PowerShell does not answer with a number: " + text.substr(0, LongestMessage));
    co_return value;
}

/// `script` sets $d to disks and $p to partitions. A volume's own name is among the paths of a partition, and is no place.
Task<HostUse> StorageCommands::use(std::string script, Variables variables) {
    CO_TRY(
        const std::string text,
        co_await run(std::move(script) + ";ConvertTo-Json -Compress @{Windows=[int][bool]($d|Where-Object{$_.IsBoot -or $_.IsSystem});"
                                         "Paths=@($p|ForEach-Object{$_.AccessPaths}|Where-Object{$_ -and $_ -notlike '\\\\`?\\Volume{*'})}",
                     std::move(variables)));
    CO_TRY(const Value found, parsed(text));
    const Value* paths = found.find("Paths");
    const Value* windows = found.find("Windows");
    if (!paths || !paths->is_array() || !windows || !windows->is_int())
        co_return Error(Reason::Io, "PowerShell did not report what is in use");
    HostUse use{.by_windows = windows->as_int() != 0};
    for (const Value& path : paths->as_array()) {
        if (!path.is_string()) co_return Error(Reason::Io, "PowerShell did not report where a volume is mounted");
        use.paths.push_back(path.as_string());
    }
    co_return use;
}

Task<std::vector<Disks::Disk>> StorageCommands::list() {
    CO_TRY(const std::string text,
           co_await run("ConvertTo-Json -Compress @(Get-Disk|Select-Object Number,Location,SerialNumber,UniqueId)"));
    CO_TRY(const Value rows, parsed(text));
    std::vector<Disk> disks;
    if (!rows.is_array()) co_return disks;
    for (const Value& row : rows.as_array())
        disks.push_back({.number = static_cast<DiskNumber>(number_of(row, "Number")),
                         .location = text_of(row, "Location"),
                         .serial_number = text_of(row, "SerialNumber"),
                         .unique_id = text_of(row, "UniqueId")});
    co_return disks;
}

Task<> StorageCommands::rescan() { return change("Update-HostStorageCache", {}); }

Task<> StorageCommands::partition(DiskNumber disk) {
    return change(
        "$d=Get-Disk -Number $Env:csi_disk;"
        "if($d.PartitionStyle -eq 'RAW'){Initialize-Disk -Number $Env:csi_disk -PartitionStyle GPT};"
        "if(-not (Get-Partition -DiskNumber $Env:csi_disk -ErrorAction SilentlyContinue|Where-Object Type -ne 'Reserved'))"
        "{$p=New-Partition -DiskNumber $Env:csi_disk -UseMaximumSize;"
        // Windows gives the volume no letter when the disk comes back, here or on another node. Not every disk can note that.
        "try{$p|Set-Partition -NoDefaultDriveLetter $true}catch{}}",
        {{"csi_disk", disk_text(disk)}});
}
Task<std::int64_t> StorageCommands::size(DiskNumber disk) {
    return number("(Get-Disk -Number $Env:csi_disk).Size", {{"csi_disk", disk_text(disk)}});
}
Task<bool> StorageCommands::is_online(DiskNumber disk) {
    CO_TRY(const std::int64_t offline, co_await number("[int](Get-Disk -Number $Env:csi_disk).IsOffline", {{"csi_disk", disk_text(disk)}}));
    co_return offline == 0;
}
Task<> StorageCommands::set_online(DiskNumber disk, bool online) {
    return change(std::string("Set-Disk -Number $Env:csi_disk -IsOffline ") + (online ? "$false" : "$true"),
                  {{"csi_disk", disk_text(disk)}});
}

/// A disk without partitions has none to list, which PowerShell calls an error.
Task<HostUse> StorageCommands::use_of(DiskNumber disk) {
    return use("$d=Get-Disk -Number $Env:csi_disk;$p=Get-Partition -DiskNumber $Env:csi_disk -ErrorAction SilentlyContinue",
               {{"csi_disk", disk_text(disk)}});
}

Task<std::vector<std::string>> StorageCommands::list(DiskNumber disk, std::uint32_t partition) {
    const std::string of_one = partition == 0 ? "" : " -PartitionNumber $Env:csi_partition";
    CO_TRY(const std::string text,
           co_await run("(Get-Partition -DiskNumber $Env:csi_disk" + of_one + "|Get-Volume -ErrorAction SilentlyContinue).UniqueId",
                        {{"csi_disk", disk_text(disk)}, {"csi_partition", std::to_string(partition)}}));
    std::vector<std::string> volumes;
    for (const std::string_view line : split_views(text, '\n'))
        if (!trim(line).empty()) volumes.emplace_back(trim(line));
    co_return volumes;
}
Task<> StorageCommands::mount(std::string volume, std::string path) {
    return change(std::string(OfVolume) + "|Get-Partition|Add-PartitionAccessPath -AccessPath $Env:csi_path",
                  {{"csi_volume", std::move(volume)}, {"csi_path", std::move(path)}});
}
Task<> StorageCommands::unmount(std::string volume, std::string path) {
    return change(
        std::string(OfVolume) + "|Write-VolumeCache;" + OfVolume + "|Get-Partition|Remove-PartitionAccessPath -AccessPath $Env:csi_path",
        {{"csi_volume", std::move(volume)}, {"csi_path", std::move(path)}});
}
Task<bool> StorageCommands::is_formatted(std::string volume) {
    CO_TRY(const std::string type, co_await run(std::string("(") + OfVolume + ").FileSystemType", {{"csi_volume", std::move(volume)}}));
    co_return !type.empty() && type != "Unknown";
}
Task<> StorageCommands::format(std::string volume) {
    return change(std::string(OfVolume) + "|Format-Volume -FileSystem NTFS -Confirm:$false|Out-Null", {{"csi_volume", std::move(volume)}});
}
Task<> StorageCommands::resize(std::string volume, std::int64_t bytes) {
    return change(std::string("$p=") + OfVolume +
                      "|Get-Partition;$most=($p|Get-PartitionSupportedSize).SizeMax;"
                      "$size=[int64]$Env:csi_size;if($size -eq 0 -or $size -gt $most){$size=$most};"
                      "if($p.Size -lt $size){$p|Resize-Partition -Size $size}",
                  {{"csi_volume", std::move(volume)}, {"csi_size", std::to_string(bytes)}});
}
Task<Volumes::Stats> StorageCommands::stats(std::string volume) {
    CO_TRY(const std::string text, co_await run(std::string(OfVolume) + "|Select-Object Size,SizeRemaining|ConvertTo-Json -Compress",
                                                {{"csi_volume", std::move(volume)}}));
    CO_TRY(const Value row, parsed(text));
    const std::int64_t total = number_of(row, "Size");
    co_return Stats{.total = total, .used = total - number_of(row, "SizeRemaining")};
}
Task<DiskNumber> StorageCommands::disk_of(std::string volume) {
    CO_TRY(const std::int64_t disk,
           co_await number(std::string("(") + OfVolume + "|Get-Partition).DiskNumber", {{"csi_volume", std::move(volume)}}));
    if (disk < 0 || disk > UINT32_MAX) co_return Error(Reason::Io, "PowerShell does not answer with the number of a disk");
    co_return static_cast<DiskNumber>(disk);
}
/// A pod's directory is a link to where the volume is mounted.
Task<std::string> StorageCommands::volume_at(std::string path) {
    CO_TRY(
        std::string volume,
        co_await run("$p=$Env:csi_path;for($i=0;$i -lt 8;$i++){$t=@((Get-Item -LiteralPath $p -Force).Target)[0];if(-not $t){break};$p=$t};"
                     "if($p -notlike '*Volume{*'){throw \"no volume is mounted at $Env:csi_path\"};"
                     "'\\\\?\\Volume{'+($p -split 'Volume{')[1]",
                     {{"csi_path", std::move(path)}}));
    if (!volume.ends_with('\\')) volume += '\\';
    co_return volume;
}
Task<> StorageCommands::flush(std::string volume) {
    return change(std::string(OfVolume) + "|Write-VolumeCache", {{"csi_volume", std::move(volume)}});
}
Task<HostUse> StorageCommands::use_of(std::string volume) {
    return use(std::string("$p=") + OfVolume + "|Get-Partition;if(-not $p){throw 'the volume is on no disk of its own'};$d=$p|Get-Disk",
               {{"csi_volume", std::move(volume)}});
}

Task<> StorageCommands::map(std::string remote, std::string user, std::string password) {
    return change(std::string("$m=Get-SmbGlobalMapping -RemotePath $Env:csi_remote -ErrorAction SilentlyContinue;"
                              "if($m){if($m.Status -eq 'OK' -and (Test-Path -LiteralPath $Env:csi_remote)){exit 0};"
                              "Remove-SmbGlobalMapping -RemotePath $Env:csi_remote -Force};"
                              "$s=ConvertTo-SecureString -String $Env:csi_password -AsPlainText -Force;"
                              "$c=New-Object Management.Automation.PSCredential -ArgumentList $Env:csi_user,$s;"
                              "New-SmbGlobalMapping -RemotePath $Env:csi_remote -Credential $c -RequirePrivacy ") +
                      (require_privacy_ ? "$true" : "$false") + "|Out-Null",
                  {{"csi_remote", std::move(remote)}, {"csi_user", std::move(user)}, {"csi_password", std::move(password)}});
}
Task<> StorageCommands::unmap(std::string remote) {
    return change("Remove-SmbGlobalMapping -RemotePath $Env:csi_remote -Force", {{"csi_remote", std::move(remote)}});
}

Task<std::string> StorageCommands::serial_number() { return run("(Get-CimInstance -ClassName Win32_BIOS).SerialNumber"); }
Task<Machine::Service> StorageCommands::service(std::string name) {
    CO_TRY(const std::string text,
           co_await run("$s=Get-Service -Name $Env:csi_service;ConvertTo-Json -Compress @{DisplayName=$s.DisplayName;"
                        "StartType=[int]$s.StartType;Status=[int]$s.Status}",
                        {{"csi_service", std::move(name)}}));
    CO_TRY(const Value row, parsed(text));
    Service service;
    service.display_name = text_of(row, "DisplayName");
    service.start_type = static_cast<api::csiproxy::v1alpha1::StartType>(number_of(row, "StartType"));
    service.status = static_cast<api::csiproxy::v1alpha1::ServiceStatus>(number_of(row, "Status"));
    co_return service;
}
Task<> StorageCommands::start_service(std::string name) {
    return change("Start-Service -Name $Env:csi_service", {{"csi_service", std::move(name)}});
}
Task<> StorageCommands::stop_service(std::string name, bool with_dependents) {
    return change(std::string("Stop-Service -Name $Env:csi_service") + (with_dependents ? " -Force" : ""),
                  {{"csi_service", std::move(name)}});
}

/// `script` is an expression whose values become an array, also if there is one or none.
Task<Value> StorageCommands::array(std::string script, Variables variables) {
    CO_TRY(const std::string text, co_await run("ConvertTo-Json -Compress @(" + std::move(script) + ")", std::move(variables)));
    CO_TRY(Value rows, parsed(text));
    if (!rows.is_array()) co_return Error(Reason::Io, "PowerShell does not answer with a list");
    co_return rows;
}
StorageCommands::Variables StorageCommands::of_target(Portal portal, std::string target) {
    return {{"csi_portal", std::move(portal.address)}, {"csi_port", std::to_string(portal.port)}, {"csi_target", std::move(target)}};
}

Task<> StorageCommands::add_portal(Portal portal) {
    return change("New-IscsiTargetPortal -TargetPortalAddress $Env:csi_portal -TargetPortalPortNumber $Env:csi_port|Out-Null",
                  of_target(std::move(portal)));
}
Task<> StorageCommands::remove_portal(Portal portal) {
    return change(std::string(OfPortal) + "|Remove-IscsiTargetPortal -Confirm:$false", of_target(std::move(portal)));
}
Task<std::vector<Iscsi::Portal>> StorageCommands::portals() {
    CO_TRY(const Value rows, co_await array("Get-IscsiTargetPortal|Select-Object TargetPortalAddress,TargetPortalPortNumber", {}));
    std::vector<Portal> portals;
    for (const Value& row : rows.as_array())
        portals.push_back({text_of(row, "TargetPortalAddress"), static_cast<std::uint32_t>(number_of(row, "TargetPortalPortNumber"))});
    co_return portals;
}
Task<std::vector<std::string>> StorageCommands::discover(Portal portal) {
    CO_TRY(const Value rows,
           co_await array(std::string(OfPortal) + "|Get-IscsiTarget|ForEach-Object{$_.NodeAddress}", of_target(std::move(portal))));
    std::vector<std::string> targets;
    for (const Value& row : rows.as_array())
        if (row.is_string()) targets.push_back(row.as_string());
    co_return targets;
}
Task<> StorageCommands::connect(Portal portal, std::string target, Login login) {
    Variables variables = of_target(std::move(portal), std::move(target));
    std::string script =
        "Connect-IscsiTarget -TargetPortalAddress $Env:csi_portal -TargetPortalPortNumber $Env:csi_port -NodeAddress $Env:csi_target";
    if (login.chap != Chap::None) {
        script += login.chap == Chap::OneWay ? " -AuthenticationType ONEWAYCHAP" : " -AuthenticationType MUTUALCHAP";
        script += " -ChapUsername $Env:csi_user -ChapSecret $Env:csi_password";
        variables["csi_user"] = std::move(login.user);
        variables["csi_password"] = std::move(login.secret);
    }
    if (login.multipath) script += " -IsMultipathEnabled $true";
    return change(script + "|Out-Null", std::move(variables));
}
Task<> StorageCommands::disconnect(Portal portal, std::string target) {
    return change(std::string(OfPortal) + OfTarget + "|Where-Object{$_.IsConnected}|Disconnect-IscsiTarget -Confirm:$false",
                  of_target(std::move(portal), std::move(target)));
}
Task<std::vector<DiskNumber>> StorageCommands::disks_of(Portal portal, std::string target) {
    CO_TRY(const Value rows,
           co_await array(std::string(OfPortal) + OfTarget + "|Get-IscsiSession|Get-Disk|ForEach-Object{[int64]$_.Number}",
                          of_target(std::move(portal), std::move(target))));
    std::vector<DiskNumber> disks;
    for (const Value& row : rows.as_array())
        if (row.is_int() && row.as_int() >= 0) disks.push_back(static_cast<DiskNumber>(row.as_int()));
    co_return disks;
}
Task<> StorageCommands::set_mutual_secret(std::string secret) {
    return change("Set-IscsiChapSecret -ChapSecret $Env:csi_password", {{"csi_password", std::move(secret)}});
}

}  // namespace porthole::csi_proxy
