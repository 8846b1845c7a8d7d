#include "local_cluster/state/server_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace porthole::local_cluster {
namespace {

constexpr std::string_view SetByUp[] = {
    "advertise-address",
    "backend",
    "bind-address",
    "cluster-cidr",
    "cluster-dns",
    "cluster-domain",
    "data",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
    "etcd-prefix",
    "etcd-servers",
    "port",
    "revive-supervisor",
    "server-token-file",
    "service-cidr",
    "service-cluster-ip-range",
};

bool is_name(std::string_view text) {
    return !text.empty() && !text.starts_with('-') &&
           std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

Result<ServerArguments> parse_server_arguments(const std::vector<std::string>& given) {
    ServerArguments read;
    for (const std::string& pair : given) {
        const std::size_t mark = pair.find('=');
        if (mark == pair.npos) return Error(Reason::BadRequest, fmt::format("--server-arg {}: write NAME=VALUE", pair));
        std::string name = pair.substr(0, mark);
        if (name.starts_with("--")) name.erase(0, 2);
        if (!read.emplace(name, pair.substr(mark + 1)).second)
            return Error(Reason::BadRequest, fmt::format("--server-arg {} is given twice", name));
    }
    return read;
}

Result<void> check_server_arguments(const ServerArguments& given) {
    for (const auto& [name, value] : given) {
        if (!is_name(name)) return Error(Reason::BadRequest, fmt::format("\"{}\" is not the name of an option of `porthole server`", name));
        if (std::ranges::find(SetByUp, name) != std::end(SetByUp))
            return Error(Reason::BadRequest,
                         fmt::format("`porthole up` itself sets the server's option --{}; see `porthole up --help`", name));
    }
    return {};
}

std::vector<std::string> with_server_arguments(std::vector<std::string> own, const ServerArguments& given) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const bool has_value = i + 1 < own.size() && !own[i + 1].starts_with("--");
        const bool replaced = own[i].starts_with("--") && given.contains(own[i].substr(2));
        if (!replaced) all.push_back(own[i]);
        if (!has_value) continue;
        ++i;
        if (!replaced) all.push_back(own[i]);
    }
    for (const auto& [name, value] : given) all.push_back("--" + name + "=" + value);
    return all;
}

}  // namespace porthole::local_cluster
