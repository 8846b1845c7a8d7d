#include "local_cluster/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "schema/value.h"
#include "schema/yaml/yaml.h"

namespace porthole::local_cluster {
namespace {

using schema::Value;

constexpr const char *ApiVersion = "porthole.dev/v1alpha1", *Kind = "Cluster";
constexpr std::size_t MostPools = 100;

Error wrong(const std::string& path, const std::string& what) { return Error(Reason::BadRequest, path + ": " + what); }

/// An object of the description. Reading a field notes that it is known.
class Fields {
public:
    Fields(const Value& value, std::string path) : value_(value), path_(std::move(path)) {}

    Result<void> check(std::initializer_list<std::string_view> known) const {
        if (value_.is_null()) return {};
        if (!value_.is_object()) return wrong(path_, "must be an object");
        for (const schema::Member& member : value_.as_object())
            if (std::ranges::find(known, member.key) == known.end()) return wrong(at(member.key), "there is no such field");
        return {};
    }
    Fields inner(std::string_view name) const { return {schema::at(value_, name), at(name)}; }
    const Value& value() const { return value_; }
    std::string at(std::string_view name) const { return path_.empty() ? std::string(name) : path_ + "." + std::string(name); }

    Result<void> read(std::string_view name, std::string& into) const {
        const Value& found = schema::at(value_, name);
        if (found.is_null()) return {};
        if (!found.is_string()) return wrong(at(name), "must be a string");
        into = found.as_string();
        return {};
    }
    Result<void> read(std::string_view name, bool& into) const {
        const Value& found = schema::at(value_, name);
        if (found.is_null()) return {};
        if (!found.is_bool()) return wrong(at(name), "must be true or false");
        into = found.as_bool();
        return {};
    }
    Result<void> read(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t& into) const {
        const Value& found = schema::at(value_, name);
        if (found.is_null()) return {};
        if (!found.is_int() || found.as_int() < low || found.as_int() > high)
            return wrong(at(name), fmt::format("must be a number from {} to {}", low, high));
        into = found.as_int();
        return {};
    }

private:
    const Value& value_;
    std::string path_;
};

Result<void> read_network(const Fields& network, ClusterOptions& options) {
    TRY_VOID(network.check({"nodes", "pods", "services", "dns", "domain", "backend"}));
    TRY_VOID(network.read("nodes", options.node_cidr));
    TRY_VOID(network.read("pods", options.cluster_cidr));
    TRY_VOID(network.read("services", options.service_cidr));
    TRY_VOID(network.read("dns", options.cluster_dns));
    TRY_VOID(network.read("domain", options.cluster_domain));
    TRY_VOID(network.read("backend", options.backend));
    if (options.backend != "host-gw" && options.backend != "vxlan") return wrong(network.at("backend"), "must be host-gw or vxlan");
    return {};
}

/// The part of --nodes that stands for a pool.
Result<std::string> read_pool(const Fields& pool) {
    TRY_VOID(pool.check({"os", "release", "count"}));
    std::string os, release;
    std::int64_t count = 1;
    TRY_VOID(pool.read("os", os));
    TRY_VOID(pool.read("release", release));
    TRY_VOID(pool.read("count", 1, 50, count));
    if (os != "linux" && os != "windows") return wrong(pool.at("os"), "must be linux or windows");
    return fmt::format("{}={}{}{}", os, count, release.empty() ? "" : ":", release);
}

Result<void> read_pools(const Value& pools, const std::string& path, ClusterOptions& options) {
    if (pools.is_null()) return {};
    if (!pools.is_array() || pools.as_array().empty() || pools.as_array().size() > MostPools) return wrong(path, "must be a list of pools");
    std::string nodes;
    for (std::size_t i = 0; i < pools.as_array().size(); ++i) {
        TRY(const std::string part, read_pool({pools.as_array()[i], fmt::format("{}[{}]", path, i)}));
        nodes += (i ? "," : "") + part;
    }
    const auto parsed = parse_nodes(nodes, options);
    return parsed ? Result<void>() : wrong(path, parsed.error().message);
}

}  // namespace

Result<void> read_description(std::string_view yaml, ClusterOptions& options) {
    std::vector<schema::DuplicateKey> duplicates;
    TRY(const Value document, schema::parse_yaml(yaml, &duplicates));
    if (!duplicates.empty()) return wrong(duplicates.front().path, "is there twice");
    const Fields top(document, "");
    TRY_VOID(top.check({"apiVersion", "kind", "metadata", "spec"}));
    if (document.string_at({"apiVersion"}) != ApiVersion || document.string_at({"kind"}) != Kind)
        return Error(Reason::BadRequest, fmt::format("a description starts with `apiVersion: {}` and `kind: {}`", ApiVersion, Kind));
    ClusterOptions read = options;
    const Fields spec = top.inner("spec"), server = spec.inner("apiServer");
    TRY_VOID(spec.check({"apiServer", "hardened", "network", "pools"}));
    TRY_VOID(server.check({"port"}));
    std::int64_t port = read.port;
    TRY_VOID(server.read("port", 1, 65535, port));
    read.port = static_cast<std::uint16_t>(port);
    TRY_VOID(spec.read("hardened", read.hardened));
    TRY_VOID(read_network(spec.inner("network"), read));
    TRY_VOID(read_pools(schema::at(spec.value(), "pools"), spec.at("pools"), read));
    options = std::move(read);
    return {};
}

}  // namespace porthole::local_cluster
