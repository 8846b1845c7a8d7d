#include "provision/machine_description.h"

#include <algorithm>

#include "base/strings.h"
#include "local_cluster/description/description_fields.h"
#include "provision/host_fields.h"

namespace porthole::provision {
namespace {

using local_cluster::Fields;
using local_cluster::wrong;
using schema::Value;

constexpr std::size_t MostHosts = 500;
/// What `provision` gives `join` itself, or what would make it end otherwise than expected.
constexpr std::string_view OwnFlags[] = {"ca-cert-hash",
                                         "data",
                                         "discovery-token-ca-cert-hash",
                                         "folder",
                                         "foreground",
                                         "help",
                                         "label",
                                         "no-wait",
                                         "node-labels",
                                         "node-name",
                                         "non-interactive",
                                         "output",
                                         "register-with-taints",
                                         "taint",
                                         "token",
                                         "token-file"};

Result<void> check_taint(const std::string& taint, const std::string& path) {
    const std::size_t colon = taint.rfind(':');
    const std::string effect = colon == taint.npos ? "" : taint.substr(colon + 1);
    const bool is_known = effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
    if (!is_known || !is_word(std::string_view(taint).substr(0, colon), "._-/="))
        return wrong(path, "must be like key=value:NoSchedule, with NoSchedule, PreferNoSchedule or NoExecute");
    return {};
}

Result<void> check_flag(const std::string& flag, const std::string& path) {
    const std::string name = flag.starts_with("--") ? flag.substr(2, flag.find('=') == flag.npos ? flag.npos : flag.find('=') - 2) : "";
    if (!is_word(name, "-") || std::ranges::any_of(flag, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        return wrong(path, "must be like --name or --name=value");
    if (std::ranges::find(OwnFlags, name) != std::end(OwnFlags)) return wrong(path, "--" + name + " is given by `provision` itself");
    return {};
}

/// Windows PowerShell passes a program no double quote as it is, nor a backslash that ends a word with a blank; and what is not ASCII could
/// be one of the letters that it takes for a quote.
Result<void> check_windows_flag(const std::string& flag, const std::string& path) {
    const bool is_odd = std::ranges::any_of(flag, [](char c) { return c == '"' || static_cast<unsigned char>(c) >= 0x7f; });
    if (is_odd || (flag.ends_with('\\') && flag.find(' ') != flag.npos))
        return wrong(path, "must, for Windows, consist of ASCII without \", and not end in \\ where it has a blank");
    return {};
}

/// All of a pool but its hosts.
Result<MachineDescription> read_defaults(const Fields& pool, const DescriptionPlace& place) {
    TRY_VOID(pool.check({"name", "os", "user", "port", "identityFile", "knownHosts", "labels", "taints", "joinFlags", "hosts"}));
    MachineDescription defaults;
    std::string os;
    TRY_VOID(pool.read("name", defaults.pool));
    TRY_VOID(pool.read("os", os));
    if (os != "linux" && os != "windows") return wrong(pool.at("os"), "must be linux or windows");
    defaults.is_windows = os == "windows";
    defaults.ssh.user = defaults.is_windows ? "Administrator" : "root";
    TRY_VOID(read_target(pool, place, defaults.ssh));
    TRY_VOID(pool.read("labels", defaults.labels));
    TRY_VOID(pool.read("taints", defaults.taints));
    TRY_VOID(pool.read("joinFlags", defaults.join_flags));
    for (const std::string& taint : defaults.taints) TRY_VOID(check_taint(taint, pool.at("taints")));
    for (const std::string& flag : defaults.join_flags) TRY_VOID(check_flag(flag, pool.at("joinFlags")));
    if (defaults.is_windows)
        for (const std::string& flag : defaults.join_flags) TRY_VOID(check_windows_flag(flag, pool.at("joinFlags")));
    return defaults;
}

Result<std::vector<MachineDescription>> read_pool(const Fields& pool, const DescriptionPlace& place) {
    TRY(const MachineDescription defaults, read_defaults(pool, place));
    TRY(const auto hosts, pool.list("hosts", MostHosts));
    std::vector<MachineDescription> machines;
    for (const Fields& host : hosts) {
        TRY(MachineDescription machine, read_host(host, place, defaults));
        machines.push_back(std::move(machine));
    }
    return machines;
}

Value strings(const std::vector<std::string>& items) {
    Value list = Value::array();
    for (const std::string& item : items) list.as_array().push_back(item);
    return list;
}

}  // namespace

Result<std::vector<MachineDescription>> read_machines(std::string_view yaml, const DescriptionPlace& place) {
    TRY(const Value document, local_cluster::parse_description(yaml));
    const Fields spec = Fields(document, "").inner("spec");
    TRY(const auto pools, local_cluster::read_pool_list(spec));
    std::vector<MachineDescription> machines;
    for (const Fields& pool : pools) {
        if (!pool.value().find("hosts")) {  // a misspelled list would look like one whose machines are to be removed
            TRY_VOID(pool.check({"name", "os", "user", "port", "identityFile", "knownHosts", "labels", "taints", "joinFlags", "release",
                                 "count", "wineRoot"}));
            continue;
        }
        TRY(const auto more, read_pool(pool, place));
        machines.insert(machines.end(), more.begin(), more.end());
    }
    TRY_VOID(check_distinct("spec.pools", machines));
    return machines;
}

Result<std::vector<MachineDescription>> read_machines_file(const std::string& file) { return read_file_with(file, read_machines); }

Value to_pool(const MachineDescription& machine) {
    Value labels = Value::object();
    for (const auto& [key, value] : machine.labels) labels[key] = value;
    return Value::object({{"name", machine.pool},
                          {"os", machine.is_windows ? "windows" : "linux"},
                          {"user", machine.ssh.user},
                          {"port", machine.ssh.port},
                          {"identityFile", machine.ssh.identity_file},
                          {"knownHosts", machine.ssh.known_hosts},
                          {"labels", std::move(labels)},
                          {"taints", strings(machine.taints)},
                          {"joinFlags", strings(machine.join_flags)},
                          {"hosts", Value::array({Value::object({{"name", machine.name}, {"address", machine.ssh.address}})})}});
}

Result<MachineDescription> from_pool(const Value& pool) {
    TRY(const auto machines, read_pool(Fields(pool, ""), {"/", "/"}));
    if (machines.size() != 1) return wrong("hosts", "must be one host");
    return machines.front();
}

}  // namespace porthole::provision
