#include "cni/flannel/options.h"

#include <algorithm>

#include "base/strings.h"
#include "base/time/time.h"
#include "schema/json/json.h"

namespace porthole::cni::flannel {

namespace {

struct Raw {
    std::string net_config, cluster_cidr = "10.244.0.0/16", backend = "host-gw", network_name, service_cidr = "10.96.0.0/12",
                            ip_masq = "true";
    bool subnet_manager = true;
};

Result<void> read_timeout(const std::string& text, Duration& into) {
    TRY(into, parse_duration(text));
    if (into <= Duration::zero()) return Error(Reason::BadRequest, "must be a time such as 2m");
    return {};
}

void add_flags(FlagSet& flags, ProgramOptions& options, Raw& raw) {
    DaemonOptions& daemon = options.daemon;
    flags.add("kubeconfig-file", options.kubeconfig, "kubeconfig: address and credentials for the API server");
    flags.add_alias("kubeconfig", "kubeconfig-file");
    flags.add("node-name", daemon.node_name, "the node's name in the API; usually NODE_NAME or the host's name");
    flags.add("iface", options.own_address, "the node's IP address; usually the one towards the API server");
    flags.add("net-config-path", raw.net_config, "the cluster's network as Flannel's net-conf.json");
    flags.add("cluster-cidr", raw.cluster_cidr, "addresses of pods, without --net-config-path");
    flags.add("backend", raw.backend, "host-gw, vxlan, or alloc (a router has the routes), without --net-config-path");
    flags.add("network-name", raw.network_name, "the HNS network, without --net-config-path; usually cbr0 or vxlan0");
    flags.add("service-cidr", raw.service_cidr, "addresses of services");
    flags.add("cluster-dns", daemon.cluster_dns, "address of the cluster's DNS");
    flags.add("cluster-domain", daemon.cluster_domain, "domain of services");
    flags.add("adapter", daemon.adapter, "the network adapter of the HNS network");
    flags.add(
        "network-timeout", [&daemon](const std::string& text) { return read_timeout(text, daemon.network_patience); },
        "how long the HNS network may fail to be created before the program ends (default: 2m)");
    flags.add("subnet-file", daemon.subnet_file, "where this node's part of the network is written");
    flags.add("cni-config-file", daemon.cni_config_file, "file to write the CNI configuration to; empty: do not write it");
    flags.add("ip-masq", raw.ip_masq, "1 or true: pods reach the world by the node's address");
    flags.add("kube-subnet-mgr", raw.subnet_manager, "accepted; leases are always kept in the API");
    flags.add("v", options.verbosity, "the level of detail of the log");
    flags.add("log-dir", options.log_directory, "a directory for flanneld.log");
    flags.add("logtostderr", options.log_to_stderr, "log to standard error instead of files");
    flags.add("windows-service", options.windows_service, "run under Windows' service manager");
    flags.add_alias("service", "windows-service");
    for (const char* name :
         {"healthz-ip", "healthz-port", "iface-regex", "iface-can-reach", "public-ip", "subnet-lease-renew-margin", "vmodule"})
        flags.add_ignored(name, "it is not configurable here");
}

/// Either kind of slash reaches a file on Windows; ours are cut at '/'.
void use_slashes(std::string& path) { std::ranges::replace(path, '\\', '/'); }

Result<NetworkConfig> network_of(const Raw& raw, FileSystem& files) {
    if (!raw.net_config.empty()) {
        TRY(const std::string text, files.read(raw.net_config));
        auto config = parse_network_config(text);
        if (!config) return std::move(config).error().with_context(raw.net_config);
        return config;
    }
    using schema::Value;
    Value backend = Value::object({{"Type", raw.backend}});
    if (!raw.network_name.empty() || raw.backend == "vxlan") backend["Name"] = raw.network_name.empty() ? "vxlan0" : raw.network_name;
    return parse_network_config(schema::to_json(Value::object({{"Network", raw.cluster_cidr}, {"Backend", std::move(backend)}})));
}

}  // namespace

Result<ProgramOptions> parse_program_options(const std::vector<std::string>& arguments, const std::string& node_name, FileSystem& files) {
    ProgramOptions options;
    options.daemon.node_name = node_name;
    options.daemon.cni_config_file = "C:/k/cni/config/10-porthole.conf";
    Raw raw;
    FlagSet flags;
    add_flags(flags, options, raw);
    TRY_VOID(flags.parse(arguments));
    options.warnings = flags.warnings();
    if (options.kubeconfig.empty()) return Error(Reason::BadRequest, "--kubeconfig-file is missing");
    if (!raw.subnet_manager)
        return Error(Reason::BadRequest, "--kube-subnet-mgr=false: subnets are leased in the Kubernetes API only, not in etcd");
    options.daemon.ip_masq = raw.ip_masq == "1" || raw.ip_masq == "true";
    for (std::string* path : {&options.daemon.subnet_file, &options.daemon.cni_config_file}) use_slashes(*path);
    TRY(options.daemon.network, network_of(raw, files));
    for (const std::string& text : split_list(raw.service_cidr)) {
        TRY(const IpPrefix prefix, IpPrefix::parse(text));
        if (prefix.base().is_v4()) options.daemon.service_prefixes.push_back(prefix);
    }
    return options;
}

std::string program_flags_help() {
    ProgramOptions options;
    Raw raw;
    FlagSet flags;
    add_flags(flags, options, raw);
    return flags.help();
}

}  // namespace porthole::cni::flannel
