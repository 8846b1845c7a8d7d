#include "kubelet/options/options.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>

#include "base/feature_gates.h"
#include "base/time/time.h"
#include "windows/support.h"

namespace porthole::kubelet {
namespace {

Error invalid(std::string message) { return Error(Reason::BadRequest, std::move(message)); }

constexpr const char* Removed = "it was removed in newer releases";

void define_flags(FlagSet& flags, KubeletOptions& o) {
    flags.add("address", o.address, "address to serve on");
    flags.add("cgroup-root", o.cgroup_root, "parent of the pods' cgroups (Linux)");
    flags.add("cgroups-per-qos", o.cgroups_per_qos, "create cgroups for pods (Linux)");
    flags.add("client-ca-file", o.client_ca_file, "authority whose client certificates may access this kubelet");
    flags.add("cluster-dns", o.cluster_dns, "DNS servers of pods, separated by commas");
    flags.add("cluster-domain", o.cluster_domain, "domain of services");
    flags.add("config", o.config_file, "file with a KubeletConfiguration; flags override it");
    flags.add("container-log-max-files", o.container_log_max_files, "maximum number of log files per container");
    flags.add("container-log-max-size", o.container_log_max_size, "size at which a log is rotated");
    flags.add("container-runtime-endpoint", o.runtime_endpoint, "endpoint of the container runtime: unix:///… or npipe:////./pipe/…");
    flags.add("enable-debugging-handlers", o.enable_debugging_handlers, "serve logs, exec, attach and port-forward");
    flags.add("enable-system-log-query", o.system_log_query, "serve queries of the node's log files at /logs/?query=SERVICE");
    flags.add("enforce-node-allocatable", o.enforce_node_allocatable, "limits to enforce on pods (Linux)");
    flags.add("event-burst", o.event_burst, "burst of events above --event-qps");
    flags.add("event-qps", o.event_qps, "events per second; 0 for no limit");
    flags.add("eviction-hard", o.eviction_hard, "eviction thresholds, for example memory.available<500Mi,nodefs.available<10%");
    flags.add("eviction-soft", o.eviction_soft, "eviction thresholds with a grace period");
    flags.add("fail-swap-on", o.fail_swap_on, "accepted and ignored: swap and page files never prevent this kubelet from starting");
    flags.add("feature-gates", o.feature_gates,
              "WindowsSubPath=true mounts sub-paths of volumes on Windows; SELinuxMount=true mounts all volumes with SELinux contexts; "
              "IdentifyPodOS=false ignores spec.os");
    flags.add("healthz-bind-address", o.healthz_address, "address of /healthz, without TLS");
    flags.add("healthz-port", o.healthz_port, "port of /healthz; 0: do not serve it");
    flags.add("hostname-override", o.hostname_override, "the node's name");
    flags.add("kube-reserved", o.kube_reserved, "resources reserved for the kubelet: cpu=500m,memory=1Gi");
    flags.add("kubeconfig", o.kubeconfig, "kubeconfig: address and credentials for the API server");
    flags.add("log-dir", o.log_directory, "directory of log files, with --logtostderr=false");
    flags.add("log-file", o.log_file, "log file, with --logtostderr=false");
    flags.add("logtostderr", o.log_to_stderr, "log to standard error");
    flags.add("max-parallel-image-pulls", o.max_parallel_image_pulls,
              "maximum number of concurrent image pulls, with --serialize-image-pulls=false");
    flags.add("max-pods", o.max_pods, "maximum number of pods on this node");
    flags.add("image-gc-high-threshold", o.image_gc_high, "disk usage in percent above which unused images are deleted; 100: never");
    flags.add("image-gc-low-threshold", o.image_gc_low, "disk usage in percent at which deleting images stops");
    flags.add("node-ip", o.node_ip, "the node's address");
    flags.add("node-labels", o.node_labels, "labels of the node, as key=value separated by commas");
    flags.add("pod-logs-dir", o.pod_log_directory, "directory of containers' logs");
    flags.add("pod-max-pids", o.pod_max_pids, "maximum number of processes and threads of a pod; -1 for no limit (Linux)");
    flags.add("pod-infra-container-image", o.sandbox_image,
              "checked only: an event reports if the container runtime is configured with another image");
    flags.add("pod-manifest-path", o.pod_manifest_path, "directory of static pods");
    flags.add("port", o.port, "port to serve on");
    flags.add("protect-kernel-defaults", o.protect_kernel_defaults,
              "refuse to run if the kernel's settings differ from those that Kubernetes requires (Linux)");
    flags.add("provider-id", o.provider_id, "the machine's name at its provider");
    flags.add("register-with-taints", o.taints, "taints of the node, as key=value:effect separated by commas");
    flags.add("resolv-conf", o.resolv_conf, "resolver configuration of pods with dnsPolicy Default; \"\" for none");
    flags.add("root-dir", o.root_directory, "the kubelet's data directory");
    flags.add("rotate-certificates", o.rotate_certificates, "renew the client certificate that `join` has written");
    flags.add("seccomp-default", o.seccomp_default, "use the runtime's seccomp profile for containers without one (Linux)");
    flags.add("serialize-image-pulls", o.serialize_image_pulls, "pull one image at a time");
    flags.add("streaming-connection-idle-timeout", o.streaming_idle_timeout,
              "idle time after which exec, attach and port-forward end; 0: never");
    flags.add("system-reserved", o.system_reserved, "resources reserved for the system: memory=2Gi");
    flags.add("tls-cert-file", o.tls_cert_file,
              "serving certificate (default: one issued by the cluster; until then, or if none is issued, the client certificate)");
    flags.add("tls-cipher-suites", o.tls_cipher_suites,
              "TLS 1.2 ciphers to accept, separated by commas; TLS 1.3 ciphers are always accepted");
    flags.add("tls-min-version", o.tls_min_version, "VersionTLS12 or VersionTLS13; default VersionTLS12");
    flags.add("tls-private-key-file", o.tls_private_key_file, "its key");
    flags.add("user-namespaces-ids-per-pod", o.user_ids_per_pod,
              "ids in the user namespace of a pod with hostUsers: false, a multiple of 65536 (Linux)");
    flags.add("v", o.verbosity, "log level: 4 and above shows each step");
    flags.add("volume-plugin-dir", o.volume_plugin_directory, "directory of FlexVolume drivers");
    flags.add("windows-priorityclass", o.windows_priority_class, "priority of the kubelet's process (Windows)");
    flags.add("windows-service", o.windows_service, "run under the service manager (Windows)");
    flags.add_alias("service", "windows-service");
    flags.add_alias("runtime-endpoint", "container-runtime-endpoint");

    for (const char* name : {"allow-privileged", "babysit-daemons", "docker-only", "experimental-cri"})
        flags.add_ignored_switch(name, Removed);
    for (const char* name :
         {"alsologtostderr", "rotate-server-certificates", "register-node", "anonymous-auth", "authentication-token-webhook"})
        flags.add_ignored_switch(name, "this kubelet always works this way");
    for (const char* name : {"api-servers", "cni-bin-dir", "cni-conf-dir", "container-runtime", "docker-endpoint", "hairpin-mode",
                             "image-pull-progress-deadline", "network-plugin", "network-plugin-mtu", "non-masquerade-cidr"})
        flags.add_ignored(name, Removed);
    for (const char* name :
         {"authorization-mode", "bootstrap-kubeconfig", "cert-dir", "cgroup-driver", "cloud-provider", "eviction-soft-grace-period",
          "eviction-minimum-reclaim", "kubelet-cgroups", "node-status-update-frequency", "read-only-port", "runtime-cgroups",
          "runtime-request-timeout", "stderrthreshold", "sync-frequency", "vmodule"})
        flags.add_ignored(name, "it is not configurable here");
}

KubeletOptions defaults(bool windows) {
    KubeletOptions o;
    o.runtime_endpoint = windows ? "npipe:////./pipe/containerd-containerd" : "unix:///run/containerd/containerd.sock";
    o.resolv_conf = windows ? "Host" : "/etc/resolv.conf";
    o.volume_plugin_directory =
        windows ? "C:\\usr\\libexec\\kubernetes\\kubelet-plugins\\volume\\exec\\" : "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/";
    o.cgroups_per_qos = !windows;
    if (!windows) o.enforce_node_allocatable = {"pods"};
    // On Windows memory thresholds shrink allocatable, nothing else.
    o.eviction_hard = windows ? std::vector<std::string>{"memory.available<500Mi", "nodefs.available<10%"}
                              : std::vector<std::string>{"memory.available<100Mi", "nodefs.available<10%"};
    return o;
}

/// A name that has eaten the next flag, for want of a blank, is no name.
bool is_node_name(const std::string& name) {
    const auto part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
    const auto end = [&](char c) { return part(c) && c != '-' && c != '.'; };
    return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), part) && end(name.front()) && end(name.back()) &&
           name.find("--") == name.npos && name.find("..") == name.npos;
}

Result<FeatureGates> feature_gates(const KubeletOptions& o) {
    return read_feature_gates(o.feature_gates, {"IdentifyPodOS", "SELinuxMount", "WindowsSubPath"});
}

Result<void> check(const KubeletOptions& o, bool windows) {
    if (!o.hostname_override.empty() && !is_node_name(o.hostname_override))
        return invalid(
            "invalid --hostname-override \"" + o.hostname_override +
            "\": it must be a node name or an address of small letters, digits, '-' and '.'; is a blank missing before the next flag?");
    if (o.kubeconfig.empty()) return invalid("--kubeconfig is missing: it has the address and credentials for the API server");
    if (o.image_gc_high < 0 || o.image_gc_high > 100 || o.image_gc_low < 0 || o.image_gc_low >= o.image_gc_high)
        return invalid(fmt::format("--image-gc-low-threshold={} must be less than --image-gc-high-threshold={}, both from 0 to 100",
                                   o.image_gc_low, o.image_gc_high));
    TRY_VOID(priority_class(o.windows_priority_class));
    constexpr auto Unit = static_cast<std::int64_t>(UserNamespaces::Unit), Most = std::int64_t{1} << 32;
    if (o.user_ids_per_pod < Unit || o.user_ids_per_pod >= Most || o.user_ids_per_pod % Unit != 0)
        return invalid(
            fmt::format("userNamespaces.idsPerPod: {} must be a multiple of {}, and less than {}", o.user_ids_per_pod, Unit, Most));
    if (windows && o.user_ids_per_pod != Unit) return invalid("userNamespaces.idsPerPod is not supported on Windows: omit it");
    if (o.healthz_port < 0 || o.healthz_port > 65535)
        return invalid(fmt::format("--healthz-port={} must be from 0 to 65535", o.healthz_port));
    if (!windows) return {};
    if (o.cgroups_per_qos) return invalid("--cgroups-per-qos=true is not supported on Windows: omit it or use --cgroups-per-qos=false");
    if (!o.enforce_node_allocatable.empty() && o.enforce_node_allocatable != std::vector<std::string>{"none"})
        return invalid("--enforce-node-allocatable=" + o.enforce_node_allocatable.front() +
                       " is not supported on Windows: omit it or use --enforce-node-allocatable=\"\"");
    if (!o.resolv_conf.empty() && o.resolv_conf != "Host")
        return invalid("--resolv-conf=" + o.resolv_conf +
                       " is not supported on Windows: use \"\" for none or Host for the machine's servers");
    return {};
}

Result<ResourceList> quantities(const std::map<std::string, std::string>& from, const char* flag) {
    ResourceList list;
    for (const auto& [name, text] : from) {
        if (name != "cpu" && name != "memory" && name != "ephemeral-storage" && name != "pid")
            return invalid(fmt::format("--{}: cannot reserve resource \"{}\"; valid are cpu, memory and ephemeral-storage", flag, name));
        auto amount = Quantity::parse(text);
        if (!amount || amount->is_negative()) return invalid(fmt::format("--{}: \"{}\" is not a valid amount of {}", flag, text, name));
        list[name] = *amount;
    }
    return list;
}

/// "memory.available<500Mi" → the amount for `signal`; nullopt where no threshold names it.
Result<std::optional<std::string>> threshold(const std::vector<std::string>& list, const std::string& signal) {
    std::optional<std::string> found;
    for (const std::string& one : list) {
        const std::size_t less = one.find('<');
        if (less == one.npos) return invalid("--eviction-hard: \"" + one + "\" must look like memory.available<500Mi");
        if (one.substr(0, less) == signal) found = one.substr(less + 1);
    }
    return found;
}

Result<double> share(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() || std::string_view(end) != "%")
        return invalid("--eviction-hard: \"" + text + "\" must be a share of the disk, such as 10%");
    return number / 100;
}

Result<void> take_thresholds(const KubeletOptions& o, bool windows, KubeletConfig& config) {
    config.node.eviction_memory = 0;
    config.node.eviction_storage = 0;
    TRY(const auto memory, threshold(o.eviction_hard, "memory.available"));
    if (memory) {
        const auto amount = Quantity::parse(*memory);
        if (!amount) return invalid("--eviction-hard: \"" + *memory + "\" is not a valid amount of memory");
        config.node.eviction_memory = amount->value();
    }
    config.eviction.memory_available = windows ? 0 : config.node.eviction_memory;
    TRY(const auto disk, threshold(o.eviction_hard, "nodefs.available"));
    if (disk) {
        TRY(config.node.eviction_storage, share(*disk));
    }
    config.eviction.disk_available = config.node.eviction_storage;
    return {};
}

}  // namespace

Result<KubeletOptions> parse_kubelet_options(const std::vector<std::string>& arguments, bool windows, FileSystem& files) {
    KubeletOptions named;
    FlagSet first;
    define_flags(first, named);
    TRY_VOID(first.parse(arguments));

    KubeletOptions options = defaults(windows);
    if (!named.config_file.empty()) {
        const auto in_file = [&](Error error) { return std::move(error).with_context("--config " + named.config_file); };
        const auto text = files.read(named.config_file);
        if (!text) return in_file(text.error());
        const auto words = flags_of_configuration(*text, options.warnings);
        if (!words) return in_file(words.error());
        FlagSet of_file;
        define_flags(of_file, options);
        if (const auto taken = of_file.parse(*words); !taken) return in_file(taken.error());
    }
    FlagSet flags;
    define_flags(flags, options);
    TRY_VOID(flags.parse(arguments));
    options.warnings.insert(options.warnings.end(), flags.warnings().begin(), flags.warnings().end());
    TRY(const FeatureGates gates, feature_gates(options));
    options.warnings.insert(options.warnings.end(), gates.warnings.begin(), gates.warnings.end());
    if (!options.sandbox_image.empty())
        options.warnings.push_back("flag --pod-infra-container-image has no effect: the container runtime's configuration sets the image");
    if (windows && !options.eviction_soft.empty())
        options.warnings.push_back("--eviction-soft has no effect: " + std::string(windows::find_rule("WIN521")->words));
    TRY_VOID(check(options, windows));
    return options;
}

Result<Duration> idle_timeout(const std::string& text) {
    const auto timeout = parse_duration(text);
    if (!timeout || timeout->count() < 0) return invalid("--streaming-connection-idle-timeout: \"" + text + "\" must look like 4h0m0s");
    return *timeout == Duration::zero() ? KubeletConfig::NeverIdle : Duration(*timeout);
}

Result<KubeletConfig> make_kubelet_config(const KubeletOptions& o, bool windows) {
    KubeletConfig config;
    config.node.name = o.hostname_override;
    if (!o.node_ip.empty()) config.node.addresses = {o.node_ip};
    config.node.labels = o.node_labels;
    TRY(const FeatureGates gates, feature_gates(o));
    if (gates.on("WindowsSubPath", false)) config.feature_gates.insert("WindowsSubPath");
    config.selinux_mount = gates.on("SELinuxMount", false);
    config.identify_pod_os = gates.on("IdentifyPodOS", true);
    for (const std::string& text : o.taints) {
        auto taint = parse_taint(text);
        if (!taint) return std::move(taint).error().with_context("--register-with-taints");
        config.node.taints.push_back(*std::move(taint));
    }
    config.node.provider_id = o.provider_id;
    config.node.port = static_cast<std::int32_t>(o.port);
    config.node.max_pods = o.max_pods;
    config.sandbox_image = o.sandbox_image;
    config.pod_pids_limit = o.pod_max_pids;
    config.ids_per_pod = o.user_ids_per_pod;
    config.seccomp_default = o.seccomp_default;
    if (o.event_qps < 0 || o.event_burst < 1) return invalid("--event-qps must not be negative, and --event-burst at least 1");
    config.event_qps = o.event_qps;
    config.event_burst = o.event_burst;
    config.serving = {.client_ca_file = o.client_ca_file,
                      .tls_cert_file = o.tls_cert_file,
                      .tls_private_key_file = o.tls_private_key_file,
                      .tls_min_version = o.tls_min_version,
                      .tls_cipher_suites = o.tls_cipher_suites,
                      .rotate_certificates = o.rotate_certificates,
                      .issued_by_cluster = o.tls_cert_file.empty()};
    config.protect_kernel_defaults = o.protect_kernel_defaults && !windows;
    TRY(config.streaming_idle, idle_timeout(o.streaming_idle_timeout));
    TRY(config.node.kube_reserved, quantities(o.kube_reserved, "kube-reserved"));
    TRY(config.node.system_reserved, quantities(o.system_reserved, "system-reserved"));
    TRY_VOID(take_thresholds(o, windows, config));
    config.image_gc.high_percent = static_cast<int>(o.image_gc_high);
    config.image_gc.low_percent = static_cast<int>(o.image_gc_low);
    config.root_directory = config.node.root_directory = o.root_directory;
    config.log_root = o.pod_log_directory;
    config.static_pod_directory = o.pod_manifest_path;
    config.volume_plugin_directory = o.volume_plugin_directory;
    config.cluster_dns = o.cluster_dns;
    config.cluster_domain = o.cluster_domain;
    config.resolv_conf = o.resolv_conf;
    config.cgroup_root = o.cgroup_root == "/" ? "" : o.cgroup_root;
    config.parallel_image_pulls =
        o.serialize_image_pulls ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(o.max_parallel_image_pulls, 1));
    const auto size = Quantity::parse(o.container_log_max_size);
    if (!size || size->value() <= 0) return invalid("--container-log-max-size: \"" + o.container_log_max_size + "\" is not a valid size");
    config.log_max_bytes = size->value();
    config.log_max_files = static_cast<int>(std::max<std::int64_t>(o.container_log_max_files, 2));
    return config;
}

Result<std::uint32_t> priority_class(const std::string& name) {
    static constexpr std::pair<const char*, std::uint32_t> Classes[] = {
        {"IDLE_PRIORITY_CLASS", 64},   {"BELOW_NORMAL_PRIORITY_CLASS", 16384},
        {"NORMAL_PRIORITY_CLASS", 32}, {"ABOVE_NORMAL_PRIORITY_CLASS", 32768},
        {"HIGH_PRIORITY_CLASS", 128},  {"REALTIME_PRIORITY_CLASS", 256},
    };
    std::string names;
    for (const auto& [known, number] : Classes) {
        if (name == known) return number;
        names += (names.empty() ? "" : ", ") + std::string(known);
    }
    return invalid("--windows-priorityclass: unknown class \"" + name + "\"; valid are " + names);
}

std::string kubelet_flags_help(bool windows) {
    KubeletOptions options = defaults(windows);
    FlagSet flags;
    define_flags(flags, options);
    return flags.help();
}

}  // namespace porthole::kubelet
