#include "proxy/options/options.h"

#include <algorithm>
#include <charconv>

#include "base/feature_gates.h"
#include "base/strings.h"
#include "schema/yaml/yaml.h"

namespace porthole::proxy {

using schema::Value;

namespace {

constexpr const char* OtherSystem = "it is about Linux";
constexpr const char* AlwaysSo = "it is not configurable here";

/// What the flags say before it is made sense of.
struct Raw {
    std::string mode, hostname, bind_address, source_vip, healthz = "0.0.0.0:10256", metrics;
    std::string healthz_port;
    std::map<std::string, std::string> gates;
    std::int64_t backends = 0;
    std::string unused;
    bool unused_switch = false;
};

void add_ignored(FlagSet& flags) {
    for (const char* name :
         {"iptables-masquerade-bit", "iptables-min-sync-period", "iptables-sync-period", "ipvs-min-sync-period", "ipvs-scheduler",
          "ipvs-sync-period", "ipvs-exclude-cidrs", "conntrack-max-per-core", "conntrack-min", "conntrack-tcp-timeout-close-wait",
          "conntrack-tcp-timeout-established", "oom-score-adj", "detect-local-mode", "nodeport-addresses", "proxy-port-range",
          "udp-timeout", "pod-bridge-interface", "pod-interface-name-prefix"}) {
        flags.add_ignored(name, OtherSystem);
    }
    flags.add_ignored_switch("masquerade-all", OtherSystem);
    flags.add_ignored_switch("iptables-localhost-nodeports", OtherSystem);
    flags.add_ignored_switch("ipvs-strict-arp", OtherSystem);
    for (const char* name : {"kube-api-burst", "kube-api-qps", "kube-api-content-type", "config-sync-period", "min-sync-period",
                             "sync-period", "metrics-bind-address", "metrics-port", "vmodule", "log-flush-frequency", "log-file-max-size",
                             "stderrthreshold", "logging-format", "show-hidden-metrics-for-version", "write-config-to"}) {
        flags.add_ignored(name, AlwaysSo);
    }
    for (const char* name :
         {"bind-address-hard-fail", "profiling", "alsologtostderr", "skip-headers", "skip-log-headers", "add-dir-header", "one-output"}) {
        flags.add_ignored_switch(name, AlwaysSo);
    }
}

void add_flags(FlagSet& flags, KubeProxyOptions& options, Raw& raw) {
    auto& kernelspace = options.kernelspace;
    flags.add("kubeconfig", options.kubeconfig, "kubeconfig: address and credentials for the API server");
    flags.add("master", options.master, "URL of the API server, instead of the kubeconfig's");
    flags.add("config", options.config_file, "file with a KubeProxyConfiguration; flags override it");
    flags.add("proxy-mode", raw.mode, "kernelspace on Windows, nftables on Linux");
    flags.add("hostname-override", raw.hostname, "the node's name in the API (default: the host's name in lower case)");
    flags.add("bind-address", raw.bind_address, "the node's address (default: its InternalIP in the API)");
    flags.add("cluster-cidr", options.cluster_cidr, "addresses of pods");
    flags.add("network-name", kernelspace.network_name, "HNS network of pods (default: KUBE_NETWORK)");
    flags.add("source-vip", raw.source_vip,
              "source address of forwarded traffic on an overlay (default: an address reserved from the node's range)");
    flags.add("enable-dsr", kernelspace.enable_dsr, "direct server return for cluster addresses");
    flags.add("root-hnsendpoint-name", kernelspace.root_endpoint_name, "the host's own endpoint in the HNS network");
    flags.add("forward-healthcheck-vip", kernelspace.forward_health_check_vip,
              "forward a cloud's health probes of ingress addresses to the proxy");
    flags.add("max-backends", raw.backends, "maximum number of backends per service port (default: depends on the version of Windows)");
    flags.add("feature-gates", raw.gates, "WinDSR, WinOverlay");
    flags.add("healthz-bind-address", raw.healthz, "address of /healthz; empty: do not serve it");
    flags.add("healthz-port", raw.healthz_port, "port of /healthz; 0: do not serve it");
    flags.add("cleanup", options.clean_up, "remove what the proxy has created in HNS, and exit");
    flags.add("v", options.verbosity, "the level of detail of the log");
    flags.add("log-dir", options.log_directory, "a directory for kube-proxy.log");
    flags.add("log-file", options.log_file, "a file for the log");
    flags.add("logtostderr", options.log_to_stderr, "log to standard error instead of files");
    flags.add("windows-service", options.windows_service, "run under Windows' service manager");
    flags.add_alias("service", "windows-service");
    add_ignored(flags);
}

std::string text_of(const Value& value) {
    if (value.is_string()) return value.as_string();
    if (value.is_bool()) return value.as_bool() ? "true" : "false";
    if (value.is_int()) return std::to_string(value.as_int());
    return "";
}

/// Members of a KubeProxyConfiguration and the flags that say the same.
struct Member {
    std::vector<std::string_view> path;
    const char* flag;
};
const std::vector<Member>& members() {
    static const std::vector<Member> all{{{"clientConnection", "kubeconfig"}, "kubeconfig"},
                                         {{"mode"}, "proxy-mode"},
                                         {{"hostnameOverride"}, "hostname-override"},
                                         {{"bindAddress"}, "bind-address"},
                                         {{"clusterCIDR"}, "cluster-cidr"},
                                         {{"healthzBindAddress"}, "healthz-bind-address"},
                                         {{"winkernel", "networkName"}, "network-name"},
                                         {{"winkernel", "sourceVip"}, "source-vip"},
                                         {{"winkernel", "enableDSR"}, "enable-dsr"},
                                         {{"winkernel", "rootHnsEndpointName"}, "root-hnsendpoint-name"},
                                         {{"winkernel", "forwardHealthCheckVip"}, "forward-healthcheck-vip"}};
    return all;
}

/// The flags that say what the file says.
Result<std::vector<std::string>> flags_of_file(const std::string& text) {
    TRY(const Value document, schema::parse_yaml(text));
    if (document.string_at({"kind"}) != "KubeProxyConfiguration")
        return Error(Reason::BadRequest, "--config: the file is not a KubeProxyConfiguration of kubeproxy.config.k8s.io/v1alpha1");
    std::vector<std::string> arguments;
    for (const Member& member : members()) {
        const Value* found = &document;
        for (const std::string_view step : member.path) found = found ? found->find(step) : nullptr;
        if (!found) continue;
        // What kubeadm writes for "the usual": no address and no name.
        const std::string value = text_of(*found);
        if (!value.empty()) arguments.push_back(std::string("--") + member.flag + "=" + value);
    }
    if (const Value* gates = document.find("featureGates"); gates && gates->is_object()) {
        for (const auto& [name, value] : gates->as_object()) arguments.push_back("--feature-gates=" + name + "=" + text_of(value));
    }
    return arguments;
}

Result<void> read_linux_mode(const std::string& mode, std::vector<std::string>& warnings) {
    if (mode.empty() || mode == "nftables") return {};
    if (mode != "iptables" && mode != "ipvs" && mode != "userspace")
        return Error(Reason::BadRequest, "--proxy-mode " + mode + ": Linux nodes have the mode nftables");
    warnings.push_back("the proxy mode " + mode + " is not available; nftables is used");
    return {};
}

Result<void> read_windows_mode(const std::string& mode, std::vector<std::string>& warnings) {
    if (mode.empty() || mode == "kernelspace") return {};
    if (mode == "userspace") {
        warnings.emplace_back("the proxy mode userspace was removed; kernelspace is used");
        return {};
    }
    return Error(Reason::BadRequest, "--proxy-mode " + mode + ": Windows nodes have the mode kernelspace only");
}

Result<void> read_address(const std::string& flag, const std::string& text, std::optional<IpAddress>& into) {
    if (text.empty() || text == "0.0.0.0" || text == "::") return {};
    auto address = IpAddress::parse(text);
    if (!address) return Error(Reason::BadRequest, "--" + flag + ": " + address.error().message);
    into = *address;
    return {};
}

Result<std::uint16_t> read_port(const std::string& flag, const std::string& text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size())
        return Error(Reason::BadRequest, "--" + flag + ": \"" + text + "\" is not a valid port");
    return port;
}

Result<void> read_healthz(const Raw& raw, KubeProxyOptions& options) {
    if (raw.healthz.empty()) {
        options.healthz_port = 0;
    } else if (const std::size_t colon = raw.healthz.rfind(':'); colon == std::string::npos || IpAddress::parse(raw.healthz)) {
        options.healthz_address = raw.healthz;
    } else {
        options.healthz_address = raw.healthz.substr(0, colon);
        TRY(options.healthz_port, read_port("healthz-bind-address", raw.healthz.substr(colon + 1)));
    }
    if (!raw.healthz_port.empty()) {
        TRY(options.healthz_port, read_port("healthz-port", raw.healthz_port));
    }
    return {};
}

void read_node_name(const Raw& raw, KubeProxyOptions& options) { options.kernelspace.node_name = to_lower(raw.hostname); }

Result<void> read_kernelspace(const Raw& raw, const FeatureGates& gates, const std::map<std::string, std::string>& environment,
                              KubeProxyOptions& options) {
    auto& kernelspace = options.kernelspace;
    if (const auto name = environment.find("KUBE_NETWORK"); kernelspace.network_name.empty() && name != environment.end()) {
        kernelspace.network_name = name->second.substr(0, name->second.find('.'));
    }
    if (kernelspace.network_name.empty() && !options.clean_up)
        return Error(Reason::BadRequest,
                     "Environment variable KUBE_NETWORK and network-flag not initialized; give --network-name=cbr0 (host "
                     "gateway) or --network-name=vxlan0 (VXLAN)");
    if (environment.contains("INTERFACE_TO_ADD_SERVICE_IP"))
        options.warnings.emplace_back("INTERFACE_TO_ADD_SERVICE_IP has no effect: it was for the proxy mode userspace");
    TRY_VOID(read_address("bind-address", raw.bind_address, kernelspace.node_ip));
    TRY_VOID(read_address("source-vip", raw.source_vip, kernelspace.source_vip));
    kernelspace.overlay_gate = gates.on("WinOverlay", true);
    if (kernelspace.enable_dsr && !gates.on("WinDSR", true)) return Error(Reason::BadRequest, "WinDSR feature gate not enabled");
    if (raw.backends < 0) return Error(Reason::BadRequest, "--max-backends must be positive");
    if (raw.backends > 0) kernelspace.backend_limit = static_cast<std::size_t>(raw.backends);
    return {};
}

}  // namespace

Result<KubeProxyOptions> parse_kube_proxy_options(const std::vector<std::string>& arguments,
                                                  const std::map<std::string, std::string>& environment, FileSystem& files, System system) {
    std::vector<std::string> all = arguments;
    {
        KubeProxyOptions first;
        Raw raw;
        FlagSet flags;
        add_flags(flags, first, raw);
        TRY_VOID(flags.parse(arguments));
        if (!first.config_file.empty()) {
            TRY(const std::string text, files.read(first.config_file));
            TRY(all, flags_of_file(text));
            all.insert(all.end(), arguments.begin(), arguments.end());
        }
    }
    KubeProxyOptions options;
    Raw raw;
    FlagSet flags;
    add_flags(flags, options, raw);
    TRY_VOID(flags.parse(all));
    options.warnings = flags.warnings();
    TRY(const FeatureGates gates, read_feature_gates(raw.gates, {"WinDSR", "WinOverlay"}));
    options.warnings.insert(options.warnings.end(), gates.warnings.begin(), gates.warnings.end());
    TRY_VOID(read_healthz(raw, options));
    read_node_name(raw, options);
    if (system == System::Windows) {
        TRY_VOID(read_windows_mode(raw.mode, options.warnings));
        TRY_VOID(read_kernelspace(raw, gates, environment, options));
    } else {
        TRY_VOID(read_linux_mode(raw.mode, options.warnings));
    }
    if (options.kubeconfig.empty() && !options.clean_up) return Error(Reason::BadRequest, "--kubeconfig is missing");
    return options;
}

std::string kube_proxy_flags_help() {
    KubeProxyOptions options;
    Raw raw;
    FlagSet flags;
    add_flags(flags, options, raw);
    return flags.help();
}

}  // namespace porthole::proxy
