#include "provision/host_fields.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "apiserver/validation/names.h"
#include "runtime/files/file_system.h"

namespace porthole::provision {

using local_cluster::Fields;
using local_cluster::wrong;
namespace {

bool consists_of(std::string_view text, std::string_view extra) {
    return std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || extra.find(c) != extra.npos;
    });
}

}  // namespace

bool is_word(std::string_view text, std::string_view extra) { return !text.empty() && text.front() != '-' && consists_of(text, extra); }

/// OpenSSH takes the value of an option that is a file apart at blanks and expands % and ${}; quotes keep the former together only.
Result<void> read_path(const Fields& fields, const char* name, const DescriptionPlace& place, std::string& into) {
    std::string path;
    TRY_VOID(fields.read(name, path));
    if (path.empty()) return {};
    if (path.starts_with("~/")) path = place.home + path.substr(1);
    path = (std::filesystem::path(place.folder) / path).lexically_normal().string();
    const auto is_odd = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '%' || c == '$' || c == '\\'; };
    if (!path.starts_with('/') || std::ranges::any_of(path, is_odd))
        return wrong(fields.at(name), "must be a path without control characters and any of \" % $ \\");
    into = path;
    return {};
}

Result<void> read_target(const Fields& fields, const DescriptionPlace& place, SshTarget& into) {
    std::int64_t port = into.port;
    TRY_VOID(fields.read("user", into.user));
    TRY_VOID(fields.read("port", 1, 65535, port));
    into.port = static_cast<std::uint16_t>(port);
    if (!is_word(into.user, "._-"))
        return wrong(fields.at("user"), "must be a user's name of letters, digits, dots, dashes and underscores");
    TRY_VOID(read_path(fields, "identityFile", place, into.identity_file));
    return read_path(fields, "knownHosts", place, into.known_hosts);
}

Result<MachineDescription> read_host(const Fields& host, const DescriptionPlace& place, MachineDescription machine) {
    TRY_VOID(host.check({"name", "address", "user", "port", "identityFile", "knownHosts"}));
    TRY_VOID(host.read("name", machine.name));
    TRY_VOID(host.read("address", machine.ssh.address));
    if (!apiserver::names::is_dns1123_subdomain(machine.name))
        return wrong(host.at("name"), "must be a node's name: lower-case letters, digits, dashes and dots");
    if (!is_word(machine.ssh.address, ".-:")) return wrong(host.at("address"), "must be a host's name or IP address");
    TRY_VOID(read_target(host, place, machine.ssh));
    return machine;
}

Result<void> check_distinct(const std::string& path, const std::vector<MachineDescription>& machines) {
    std::set<std::string> names, places;
    for (const MachineDescription& machine : machines) {
        const std::string place = machine.ssh.address + " port " + std::to_string(machine.ssh.port);
        if (!names.insert(machine.name).second) return wrong(path, "two hosts are named " + machine.name);
        if (!places.insert(place).second) return wrong(path, "two hosts have the address " + place);
    }
    return {};
}

Result<std::string> read_text(const std::string& file) {
    constexpr std::size_t Longest = 1 << 20;
    return make_file_system()->read(file, Longest);
}

DescriptionPlace description_place(const std::string& file) {
    const char* home = std::getenv("HOME");
    return {.folder = std::filesystem::absolute(file).parent_path().string(), .home = home ? home : "/"};
}

}  // namespace porthole::provision
