#include "local_cluster/description/description.h"

#include <fmt/format.h>

#include <utility>

#include "base/strings.h"
#include "local_cluster/description/description_fields.h"

namespace porthole::local_cluster {
namespace {

using schema::Value;

Result<void> read_network(const Fields& network, ClusterOptions& options) {
    TRY_VOID(network.check({"nodes", "pods", "services", "dns", "domain", "backend"}));
    TRY_VOID(network.read("nodes", options.node_cidr));
    TRY_VOID(network.read("pods", options.cluster_cidr));
    TRY_VOID(network.read("services", options.service_cidr));
    TRY_VOID(network.read("dns", options.cluster_dns));
    TRY_VOID(network.read("domain", options.cluster_domain));
    TRY_VOID(network.read("backend", options.backend));
    if (options.backend != "host-gw" && options.backend != "vxlan" && options.backend != "alloc")
        return wrong(network.at("backend"), "must be host-gw, vxlan or alloc");
    return {};
}

Result<void> read_wine_root(const Fields& fields, std::string& wine_root) {
    TRY_VOID(fields.read("wineRoot", wine_root));
    const auto checked = check_wine_root_text(wine_root);
    return checked ? Result<void>() : wrong(fields.at("wineRoot"), checked.error().message);
}

/// The part of --nodes that stands for a pool.
Result<std::string> read_pool(const Fields& pool) {
    TRY_VOID(pool.check({"os", "release", "count", "wineRoot"}));
    std::string os, release, wine_root;
    std::int64_t count = 1;
    TRY_VOID(pool.read("os", os));
    TRY_VOID(pool.read("release", release));
    TRY_VOID(pool.read("count", 1, 50, count));
    TRY_VOID(read_wine_root(pool, wine_root));
    if (os != "linux" && os != "windows") return wrong(pool.at("os"), "must be linux or windows");
    return fmt::format("{}={}{}{}{}{}", os, count, release.empty() ? "" : ":", release, wine_root.empty() ? "" : "@", wine_root);
}

/// Pools that name hosts are machines elsewhere, which `provision` sets up.
Result<void> read_pools(const Fields& spec, ClusterOptions& options) {
    TRY(const auto pools, read_pool_list(spec));
    std::vector<std::string> nodes;
    for (const Fields& pool : pools) {
        if (pool.value().find("hosts")) continue;
        TRY(std::string part, read_pool(pool));
        nodes.push_back(std::move(part));
    }
    if (nodes.empty()) return {};
    const auto parsed = parse_nodes(join(nodes, ","), options);
    return parsed ? Result<void>() : wrong(spec.at("pools"), parsed.error().message);
}

}  // namespace

Result<void> read_description(std::string_view yaml, ClusterOptions& options) {
    TRY(const Value document, parse_description(yaml));
    const Fields top(document, "");
    ClusterOptions read = options;
    const Fields spec = top.inner("spec"), server = spec.inner("apiServer");
    TRY_VOID(spec.check({"apiServer", "controlPlane", "hardened", "network", "pools", "wineRoot"}));
    TRY_VOID(server.check({"extraArgs", "port", "servers"}));
    std::int64_t port = read.port, servers = read.servers;
    TRY_VOID(server.read("servers", 1, 5, servers));
    read.servers = static_cast<int>(servers);
    if (!check_servers(read.servers)) return wrong(server.at("servers"), "must be 1, 3 or 5");
    TRY_VOID(server.read("port", 1, 65535, port));
    read.port = static_cast<std::uint16_t>(port);
    TRY_VOID(server.read("extraArgs", read.server_arguments));
    if (const auto checked = check_server_arguments(read.server_arguments); !checked)
        return wrong(server.at("extraArgs"), checked.error().message);
    TRY_VOID(spec.read("hardened", read.hardened));
    TRY_VOID(read_wine_root(spec, read.wine_root));
    if (read.wine_root == WindowsNode::Installed) read.wine_root.clear();
    TRY_VOID(read_network(spec.inner("network"), read));
    TRY_VOID(read_pools(spec, read));
    options = std::move(read);
    return {};
}

}  // namespace porthole::local_cluster
