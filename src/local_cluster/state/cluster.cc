#include "local_cluster/state/cluster.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "base/values/ip.h"
#include "node_join/server_list.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"
#include "schema/value.h"
#include "winhost/template/host_profile.h"

namespace porthole::local_cluster {
namespace {

constexpr int MaxLinuxNodes = 50;
constexpr const char* DefaultRelease = "2022";
constexpr std::size_t MaxWindowsNodes = 20;
constexpr int NodeRangeLength = 24;  ///< of the pod range that each node gets

using schema::Value;

Value encode(const ProcessId& process) { return Value::object({{"pid", process.pid}, {"startTime", process.start_time}}); }

ProcessId decode_process(const Value* value) {
    if (!value) return {};
    const Value* pid = value->find("pid");
    const Value* start = value->find("startTime");
    return {pid ? static_cast<int>(pid->int_or(0)) : 0, start ? static_cast<std::uint64_t>(start->int_or(0)) : 0};
}

/// `windows` is null for a Linux node.
NodeHost host_of(const Cluster& cluster, const DataDir& data, const std::string& name, int number, const WindowsNode* windows) {
    const std::string own_name = name.substr(std::min(name.size(), cluster.options.host_prefix.size()));
    const bool machine = number == 1 && !windows;
    return {.name = name,
            .number = number,
            .address = address_in(cluster.options.node_cidr, static_cast<unsigned>(number)).value_or(""),
            .network_namespace = machine ? "" : "porthole-" + data.id() + "-" + own_name,
            .windows_profile = windows ? windows->profile : "",
            .wine_root = windows ? windows->wine_root_in(cluster.options.wine_root) : ""};
}

/// A part of --nodes: SYSTEM=COUNT[:RELEASE][@WINE-ROOT].
struct NodesPart {
    explicit NodesPart(const std::string& part) {
        const std::size_t equals = std::min(part.find('='), part.size()), end = std::min(part.find_first_of(":@", equals), part.size());
        system = part.substr(0, equals);
        if (equals < part.size()) count = part.substr(equals + 1, end - equals - 1);
        kind = part.substr(end);
    }
    bool is_linux() const { return system == "linux"; }
    /// Requires the part of a Windows node.
    WindowsNode node() const {
        if (kind.starts_with(':')) return WindowsNode::from_text(std::string_view(kind).substr(1));
        return WindowsNode::from_text(DefaultRelease + kind);
    }

    std::string system, count;
    std::string kind;  ///< from the colon or the @ on
};

}  // namespace

Result<void> check_servers(int servers) {
    if (servers == 1 || servers == 3 || servers == 5) return {};
    return Error(Reason::BadRequest, fmt::format("--servers {}: a cluster has 1, 3 or 5 API servers, since a majority of etcd's members "
                                                 "must live; write --servers 3",
                                                 servers));
}

Result<void> parse_nodes(const std::string& text, ClusterOptions& options) {
    const auto wrong = [&](const std::string& why) {
        return Error(Reason::BadRequest,
                     "--nodes " + text + ": " + why + "; write it like linux=2 or linux=1,windows=1:2019,windows=1:2025");
    };
    int linux_nodes = 0;
    std::vector<WindowsNode> windows_nodes;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const NodesPart read(part);
        if (read.count.empty()) return wrong("\"" + part + "\" is not SYSTEM=COUNT");
        if (!read.is_linux() && read.system != "windows") return wrong("\"" + read.system + "\" is neither linux nor windows");
        char* end = nullptr;
        const long count = std::strtol(read.count.c_str(), &end, 10);
        if (count < 1 || count > MaxLinuxNodes || *end)
            return wrong("the count of \"" + part + "\" is not a number from 1 to " + std::to_string(MaxLinuxNodes));
        if (read.is_linux()) {
            if (!read.kind.empty())
                return wrong("only Windows nodes have a release" + std::string(read.kind.contains('@') ? " and a Wine root" : "") + ", \"" +
                             part + "\" is Linux");
            linux_nodes += static_cast<int>(count);
            continue;
        }
        const WindowsNode node = read.node();
        const std::vector<std::string> known = winhost::profiles_of_nodes();
        if (std::ranges::find(known, node.profile) == known.end())
            return wrong("\"" + node.profile + "\" is not a release that can be emulated (" + join(known, ", ") + ")");
        if (node.wine_root.empty() && read.kind.contains('@')) return wrong("\"" + part + "\" names no Wine root");
        windows_nodes.insert(windows_nodes.end(), static_cast<std::size_t>(count), node);
    }
    if (linux_nodes < 1) return wrong("a cluster needs at least one Linux node");
    if (linux_nodes > MaxLinuxNodes || windows_nodes.size() > MaxWindowsNodes)
        return wrong(fmt::format("one machine has up to {} Linux and {} Windows nodes", MaxLinuxNodes, MaxWindowsNodes));
    options.linux_nodes = linux_nodes;
    options.windows_nodes = std::move(windows_nodes);
    return {};
}

Result<void> parse_typed_nodes(const std::string& text, ClusterOptions& options) {
    ClusterOptions parsed = options;
    TRY_VOID(parse_nodes(text, parsed));
    std::map<std::string, std::string> given;  // by kind, "" for Linux: "linux=1"
    std::string last;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const NodesPart read(part);
        const std::string kind = read.is_linux() ? "" : read.node().text();
        const auto before = given.find(kind);
        if (before != given.end() && (read.is_linux() || kind == last)) {
            const int sum = std::atoi(NodesPart(before->second).count.c_str()) + std::atoi(read.count.c_str());
            return Error(Reason::BadRequest,
                         fmt::format("--nodes {}: \"{}\" and \"{}\" are nodes of the same kind; write their number once, such as {}={}{}",
                                     text, before->second, part, read.system, sum, read.kind));
        }
        given[kind] = part;
        last = kind;
    }
    options = std::move(parsed);
    return {};
}

std::string nodes_text(const ClusterOptions& options) {
    std::string text = "linux=" + std::to_string(options.linux_nodes);
    const std::vector<WindowsNode>& nodes = options.windows_nodes;
    for (auto first = nodes.begin(); first != nodes.end();) {
        const auto next = std::find_if(first, nodes.end(), [&](const WindowsNode& node) { return node != *first; });
        text += fmt::format(",windows={}:{}", next - first, first->text());
        first = next;
    }
    return text;
}

std::vector<NodeHost> Cluster::nodes(const DataDir& data) const {
    std::vector<NodeHost> hosts;
    const auto add = [&](const std::string& name, const WindowsNode* windows) {
        const bool machine = hosts.empty() && !windows;
        const auto others = static_cast<int>(hosts.size()) - (options.linux_nodes > 0 ? 1 : 0);
        const auto known = host_numbers.find(options.host_prefix + name);
        const int number = machine ? 1 : known != host_numbers.end() ? known->second : options.first_host + others;
        hosts.push_back(host_of(*this, data, options.host_prefix + name, number, windows));
    };
    for (int i = 1; i <= options.linux_nodes; ++i) add("linux-" + std::to_string(i), nullptr);
    int windows = 0;
    for (const WindowsNode& node : options.windows_nodes) add("windows-" + std::to_string(++windows), &node);
    return hosts;
}

std::vector<NodeHost> Cluster::surplus_hosts(const DataDir& data) const {
    const std::vector<NodeHost> wanted = nodes(data);
    std::vector<NodeHost> surplus;
    const WindowsNode any{.profile = DefaultRelease};  // which release it emulated does not matter any more
    for (const auto& [name, number] : host_numbers) {
        if (std::ranges::find(wanted, name, &NodeHost::name) != wanted.end()) continue;
        surplus.push_back(host_of(*this, data, name, number, name.starts_with(options.host_prefix + "windows-") ? &any : nullptr));
    }
    return surplus;
}

std::vector<NodeHost> Cluster::all_hosts(const DataDir& data) const {
    std::vector<NodeHost> all = nodes(data);
    for (NodeHost& host : surplus_hosts(data)) all.push_back(std::move(host));
    return all;
}

void Cluster::number_hosts(const DataDir& data) {
    std::set<int> taken;
    for (const auto& [name, number] : host_numbers) taken.insert(number);
    for (const NodeHost& node : nodes(data)) {
        if (host_numbers.contains(node.name)) continue;
        int number = node.network_namespace.empty() ? node.number : options.first_host;
        while (taken.contains(number)) ++number;
        taken.insert(number);
        host_numbers.emplace(node.name, number);
    }
}

std::string Cluster::server_address() const { return address_in(options.node_cidr, 1).value_or(""); }

std::vector<std::string> Cluster::server_addresses() const {
    std::vector<std::string> addresses{server_address()};
    const unsigned all = 1u << (32 - prefix_length(options.node_cidr));
    for (unsigned further = 1; further < static_cast<unsigned>(options.servers); ++further)
        addresses.push_back(address_in(options.node_cidr, all - 1 - further).value_or(""));
    return addresses;
}

std::string Cluster::router_address() const {
    if (options.backend != "alloc" || options.foreign) return "";
    const unsigned all = 1u << (32 - prefix_length(options.node_cidr));
    return address_in(options.node_cidr, all - 1 - static_cast<unsigned>(options.servers)).value_or("");
}

std::vector<std::string> Cluster::server_urls() const {
    std::vector<std::string> urls;
    for (const std::string& address : server_addresses()) urls.push_back("https://" + address + ":" + std::to_string(options.port));
    return urls;
}

std::string Cluster::server_url() const {
    if (options.foreign) return options.foreign->server;
    if (!has_several_servers()) return server_urls().front();
    return std::string("https://") + node_join::BalancerAddress + ":" + std::to_string(balancer_port());
}

std::vector<std::string> Cluster::proxy_exceptions() const {
    auto all = node_join::proxy_exceptions(options.cluster_cidr, options.service_cidr, options.cluster_domain);
    all.push_back(options.node_cidr);
    return all;
}

Result<Cluster> Cluster::load(const DataDir& data) {
    std::error_code code;
    if (!std::filesystem::exists(data.state_file(), code)) {
        if (code) return Error(Reason::Forbidden, "cannot read " + data.root().string() + ": " + code.message() + "; run it as root");
        if (std::filesystem::exists(data.pki(), code))
            return Error(Reason::NotFound, "the control plane in " + data.root().string() +
                                               " is one of `porthole server`, not of `porthole up`: ask it by `kubectl --kubeconfig " +
                                               data.admin_kubeconfig().string() + "`, and run that where it was started");
        return Error(Reason::NotFound, "no cluster found in " + data.root().string() + "; start one with `porthole up" + data.flag() + "`");
    }
    TRY(const std::string text, read_file(data.state_file()));
    TRY(const Value value, schema::parse_json(text));
    Cluster cluster;
    ClusterOptions& options = cluster.options;
    const auto string = [&](const char* key, std::string& into) {
        if (const Value* found = value.find(key)) into = found->string_or(into);
    };
    if (const Value* servers = value.find("servers")) options.servers = static_cast<int>(servers->int_or(1));
    if (const Value* nodes = value.find("linuxNodes")) options.linux_nodes = static_cast<int>(nodes->int_or(1));
    if (const Value* nodes = value.find("windowsNodes"); nodes && nodes->is_array()) {
        for (const Value& node : nodes->as_array()) options.windows_nodes.push_back(WindowsNode::from_text(node.string_or("")));
    }
    if (const Value* port = value.find("port")) options.port = static_cast<std::uint16_t>(port->int_or(options.port));
    string("clusterCidr", options.cluster_cidr);
    string("serviceCidr", options.service_cidr);
    string("backend", options.backend);
    string("clusterDns", options.cluster_dns);
    string("clusterDomain", options.cluster_domain);
    string("nodeCidr", options.node_cidr);
    string("hostPrefix", options.host_prefix);
    string("bridge", options.bridge);
    string("wineRoot", options.wine_root);
    if (const Value* first = value.find("firstHost")) options.first_host = static_cast<int>(first->int_or(options.first_host));
    if (const Value* hardened = value.find("hardened")) options.hardened = hardened->bool_or(false);
    if (const Value* more = value.find("serverArguments"); more && more->is_object()) {
        for (const auto& member : more->as_object()) options.server_arguments[member.key] = member.value.string_or("");
    }
    if (value.find("foreign")) {
        const auto part = [&](const char* key) { return std::string(value.string_at({"foreign", key})); };
        options.foreign = ForeignCluster{.server = part("server"),
                                         .token = part("token"),
                                         .ca_hash = part("caHash"),
                                         .wishes = {.cluster_cidr = part("clusterCidr"),
                                                    .service_cidr = part("serviceCidr"),
                                                    .cluster_dns = part("clusterDns"),
                                                    .cluster_domain = part("clusterDomain")}};
    }
    if (const Value* number = value.find("networkNamespace")) cluster.network_namespace = static_cast<std::uint64_t>(number->int_or(0));
    cluster.etcd.network = value.string_at({"etcd", "network"});
    if (const Value* port = value.at_path({"etcd", "port"})) cluster.etcd.port = static_cast<std::uint16_t>(port->int_or(0));
    cluster.supervisor = decode_process(value.find("supervisor"));
    if (const Value* hosts = value.find("hosts"); hosts && hosts->is_object()) {
        for (const auto& member : hosts->as_object()) cluster.host_numbers[member.key] = static_cast<int>(member.value.int_or(0));
    }
    if (const Value* processes = value.find("processes"); processes && processes->is_object()) {
        for (const auto& member : processes->as_object()) cluster.processes[member.key] = decode_process(&member.value);
    }
    return cluster;
}

Result<void> Cluster::save(const DataDir& data) const {
    Value processes_value = Value::object();
    for (const auto& [name, process] : processes) processes_value[name] = encode(process);
    Value hosts = Value::object();
    for (const auto& [name, number] : host_numbers) hosts[name] = number;
    Value windows_nodes = Value::array();
    for (const WindowsNode& node : options.windows_nodes) windows_nodes.as_array().push_back(node.text());
    Value server_arguments = Value::object();
    for (const auto& [name, argument] : options.server_arguments) server_arguments[name] = argument;
    Value value = Value::object({
        {"servers", options.servers},
        {"linuxNodes", options.linux_nodes},
        {"windowsNodes", std::move(windows_nodes)},
        {"clusterCidr", options.cluster_cidr},
        {"serviceCidr", options.service_cidr},
        {"backend", options.backend},
        {"clusterDns", options.cluster_dns},
        {"clusterDomain", options.cluster_domain},
        {"nodeCidr", options.node_cidr},
        {"hostPrefix", options.host_prefix},
        {"bridge", options.bridge},
        {"firstHost", options.first_host},
        {"port", static_cast<int>(options.port)},
        {"hardened", options.hardened},
        {"wineRoot", options.wine_root},
        {"serverArguments", std::move(server_arguments)},
        {"networkNamespace", static_cast<std::int64_t>(network_namespace)},
        {"supervisor", encode(supervisor)},
        {"processes", std::move(processes_value)},
        {"hosts", std::move(hosts)},
    });
    if (etcd.port != 0) value["etcd"] = Value::object({{"network", etcd.network}, {"port", static_cast<int>(etcd.port)}});
    if (const auto& foreign = options.foreign) {
        value["foreign"] = Value::object({{"server", foreign->server},
                                          {"token", foreign->token},
                                          {"caHash", foreign->ca_hash},
                                          {"clusterCidr", foreign->wishes.cluster_cidr},
                                          {"serviceCidr", foreign->wishes.service_cidr},
                                          {"clusterDns", foreign->wishes.cluster_dns},
                                          {"clusterDomain", foreign->wishes.cluster_domain}});
    }
    return write_durably(data.state_file(), schema::to_json(value) + "\n");
}

namespace {

/// The options of a running cluster that `wanted` would change, as "--port is 6443, not 7443".
std::vector<std::string> option_differences(const ClusterOptions& now, const ClusterOptions& wanted) {
    std::vector<std::string> differences;
    const auto compare = [&](const std::string& flag, const std::string& is, const std::string& given, const std::string& none) {
        if (is != given) differences.push_back(fmt::format("{} is {}, not {}", flag, is.empty() ? none : is, given.empty() ? none : given));
    };
    compare("--backend", now.backend, wanted.backend, "");
    compare("--port", std::to_string(now.port), std::to_string(wanted.port), "");
    compare("--hardened", now.hardened ? "on" : "off", wanted.hardened ? "on" : "off", "");
    compare("--wine-root", now.wine_root, wanted.wine_root, "installed");
    ServerArguments names = now.server_arguments;
    names.insert(wanted.server_arguments.begin(), wanted.server_arguments.end());
    const auto value = [](const ServerArguments& arguments, const std::string& name) {
        const auto found = arguments.find(name);
        return found == arguments.end() ? std::string() : found->second;
    };
    for (const auto& [name, any] : names)
        compare("--server-arg " + name, value(now.server_arguments, name), value(wanted.server_arguments, name), "unset");
    return differences;
}

}  // namespace

Result<void> check_resize(const ClusterOptions& now, const ClusterOptions& wanted, const std::string& end_it) {
    if (now.servers != wanted.servers)
        return Error(Reason::AlreadyExists,
                     fmt::format("this cluster has {}, and --servers {} cannot change that while it runs; {}",
                                 now.servers == 1 ? "one API server" : fmt::format("{} API servers", now.servers), wanted.servers, end_it));
    ClusterOptions same = wanted;
    same.linux_nodes = now.linux_nodes;
    same.windows_nodes = now.windows_nodes;
    if (!(same == now) || now.foreign) {
        const std::string differences = now.foreign ? "" : join(option_differences(now, wanted), "; ");
        return Error(Reason::AlreadyExists,
                     fmt::format("{} with other options {} running{}; {}", now.foreign ? "hosts" : "a cluster", now.foreign ? "are" : "is",
                                 differences.empty() ? "" : " (" + differences + ")", end_it));
    }
    for (std::size_t i = 0; i < std::min(now.windows_nodes.size(), wanted.windows_nodes.size()); ++i) {
        const WindowsNode &is = now.windows_nodes[i], &given = wanted.windows_nodes[i];
        if (is.profile != given.profile)
            return Error(
                Reason::AlreadyExists,
                fmt::format("windows-{} emulates Server {}, and no other release while the cluster runs; {}", i + 1, is.profile, end_it));
        const std::string root = is.wine_root_in(now.wine_root);
        if (root != given.wine_root_in(wanted.wine_root))
            return Error(Reason::AlreadyExists, fmt::format("windows-{} has {}, and no other Wine while the cluster runs; {}", i + 1,
                                                            root.empty() ? "the installed Wine" : "the Wine root " + root, end_it));
    }
    return {};
}

Result<void> check_restart(const ClusterOptions& now, const ClusterOptions& wanted, const std::string& delete_it) {
    constexpr std::pair<const char*, std::string ClusterOptions::*> Fixed[] = {{"--node-cidr", &ClusterOptions::node_cidr},
                                                                               {"--cluster-cidr", &ClusterOptions::cluster_cidr},
                                                                               {"--service-cidr", &ClusterOptions::service_cidr},
                                                                               {"--cluster-dns", &ClusterOptions::cluster_dns},
                                                                               {"--cluster-domain", &ClusterOptions::cluster_domain}};
    for (const auto& [flag, option] : Fixed)
        if (now.*option != wanted.*option)
            return Error(Reason::AlreadyExists, fmt::format("{} {}: the cluster's objects contain {}, so it cannot be changed; {}", flag,
                                                            wanted.*option, now.*option, delete_it));
    return {};
}

Result<IpPrefix> cluster_range(const std::string& flag, const std::string& text) {
    if (text.contains(','))
        return Error(Reason::BadRequest,
                     fmt::format("{} {} has several ranges: dual-stack clusters are not supported; give one range of IPv4", flag, text));
    if (const auto address = IpAddress::parse(text); address && address->is_v4())
        return Error(Reason::BadRequest,
                     fmt::format("{} {} is an address and not a network: add the length of its prefix, such as {}/16", flag, text, text));
    if (const auto first = address_in(text, 1); !first) return Error(Reason::BadRequest, flag + ": " + first.error().message);
    auto range = IpPrefix::parse(text);
    if (!range) return Error(Reason::BadRequest, flag + ": " + range.error().message);
    return range;
}

Result<void> check_networks(const ClusterOptions& options) {
    struct Network {
        const char* flag;
        IpPrefix range;
    };
    std::vector<Network> networks;
    for (const auto& [flag, text] : {std::pair("--node-cidr", &options.node_cidr), std::pair("--service-cidr", &options.service_cidr),
                                     std::pair("--cluster-cidr", &options.cluster_cidr)}) {
        TRY(const IpPrefix range, cluster_range(flag, *text));
        for (const Network& other : networks)
            if (other.range.overlaps(range))
                return Error(Reason::BadRequest, fmt::format("{} {} and {} {} overlap; choose separate ranges", other.flag,
                                                             other.range.to_string(), flag, range.to_string()));
        networks.push_back({flag, range});
    }
    const auto nodes = static_cast<unsigned>(options.linux_nodes) + static_cast<unsigned>(options.windows_nodes.size());
    TRY_VOID(address_in(options.node_cidr, nodes + static_cast<unsigned>(options.servers - 1) + (options.backend == "alloc" ? 1 : 0)));
    const int length = networks.back().range.length();
    if (length > NodeRangeLength || 1u << (NodeRangeLength - length) < nodes)
        return Error(Reason::BadRequest, fmt::format("--cluster-cidr {} is too small: each of {} nodes needs a /{} of it",
                                                     options.cluster_cidr, nodes, NodeRangeLength));
    const auto dns = IpAddress::parse(options.cluster_dns);
    if (!dns || !networks[1].range.contains(*dns))
        return Error(Reason::BadRequest,
                     fmt::format("--cluster-dns {} is not in --service-cidr {}", options.cluster_dns, options.service_cidr));
    return {};
}

Result<IpPrefix> check_pod_range(const ClusterOptions& options, const std::string& text) {
    TRY(const IpPrefix range, IpPrefix::parse(text));
    TRY(const IpPrefix all, IpPrefix::parse(options.cluster_cidr));
    if (!all.contains(range.base()) || range.length() < all.length())
        return Error(Reason::Forbidden, fmt::format("{} is not a part of --cluster-cidr {}", range.to_string(), all.to_string()));
    return range;
}

Result<std::string> address_in(const std::string& cidr, unsigned index) {
    const auto slash = cidr.find('/');
    in_addr network{};
    const int bits = slash == cidr.npos ? -1 : std::atoi(cidr.c_str() + slash + 1);
    if (bits < 8 || bits > 30 || ::inet_pton(AF_INET, cidr.substr(0, slash).c_str(), &network) != 1) {
        return Error(Reason::BadRequest, "\"" + cidr + "\" is not an IPv4 network; write it like 10.89.0.0/24");
    }
    if (index >= (1u << (32 - bits)) - 1) {
        return Error(Reason::BadRequest, cidr + " is too small for " + std::to_string(index) + " hosts; choose a larger network");
    }
    const in_addr address{htonl((ntohl(network.s_addr) & ~0u << (32 - bits)) + index)};
    char text[INET_ADDRSTRLEN];
    return std::string(::inet_ntop(AF_INET, &address, text, sizeof text));
}

int prefix_length(const std::string& cidr) { return std::atoi(cidr.c_str() + cidr.find('/') + 1); }

}  // namespace porthole::local_cluster
