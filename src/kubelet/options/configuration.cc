#include <fmt/core.h>
#include <algorithm>

#include "kubelet/options/options.h"
#include "schema/yaml/yaml.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

struct Field {
    const char *path, *flag;
};

/// A field of the file and the flag that says the same.
constexpr Field Fields[] = {
    {"address", "address"},
    {"authentication.x509.clientCAFile", "client-ca-file"},
    {"cgroupRoot", "cgroup-root"},
    {"cgroupsPerQOS", "cgroups-per-qos"},
    {"clusterDNS", "cluster-dns"},
    {"clusterDomain", "cluster-domain"},
    {"containerLogMaxFiles", "container-log-max-files"},
    {"containerLogMaxSize", "container-log-max-size"},
    {"containerRuntimeEndpoint", "container-runtime-endpoint"},
    {"enableDebuggingHandlers", "enable-debugging-handlers"},
    {"enableSystemLogQuery", "enable-system-log-query"},
    {"enforceNodeAllocatable", "enforce-node-allocatable"},
    {"eventBurst", "event-burst"},
    {"eventRecordQPS", "event-qps"},
    {"failSwapOn", "fail-swap-on"},
    {"featureGates", "feature-gates"},
    {"healthzBindAddress", "healthz-bind-address"},
    {"healthzPort", "healthz-port"},
    {"imageGCHighThresholdPercent", "image-gc-high-threshold"},
    {"imageGCLowThresholdPercent", "image-gc-low-threshold"},
    {"kubeReserved", "kube-reserved"},
    {"logging.verbosity", "v"},
    {"maxParallelImagePulls", "max-parallel-image-pulls"},
    {"maxPods", "max-pods"},
    {"podLogsDir", "pod-logs-dir"},
    {"podPidsLimit", "pod-max-pids"},
    {"port", "port"},
    {"protectKernelDefaults", "protect-kernel-defaults"},
    {"providerID", "provider-id"},
    {"resolvConf", "resolv-conf"},
    {"rotateCertificates", "rotate-certificates"},
    {"seccompDefault", "seccomp-default"},
    {"serializeImagePulls", "serialize-image-pulls"},
    {"staticPodPath", "pod-manifest-path"},
    {"streamingConnectionIdleTimeout", "streaming-connection-idle-timeout"},
    {"systemReserved", "system-reserved"},
    {"tlsCertFile", "tls-cert-file"},
    {"tlsCipherSuites", "tls-cipher-suites"},
    {"tlsMinVersion", "tls-min-version"},
    {"tlsPrivateKeyFile", "tls-private-key-file"},
    {"userNamespaces.idsPerPod", "user-namespaces-ids-per-pod"},
    {"volumePluginDir", "volume-plugin-dir"},
};

/// Fields that upstream knows and that change nothing here.
constexpr const char* WithoutEffect[] = {
    "allowedUnsafeSysctls",
    "authentication",
    "authorization",
    "cgroupDriver",
    "configMapAndSecretChangeDetectionStrategy",
    "contentType",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "cpuManagerPolicy",
    "cpuManagerReconcilePeriod",
    "crashLoopBackOff",
    "enableContentionProfiling",
    "enableControllerAttachDetach",
    "enableDebugFlagsHandler",
    "enableProfilingHandler",
    "enableServer",
    "enableSystemLogHandler",
    "evictionMaxPodGracePeriod",
    "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod",
    "evictionSoftGracePeriod",
    "fileCheckFrequency",
    "hairpinMode",
    "httpCheckFrequency",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "imageServiceEndpoint",
    "iptablesDropBit",
    "iptablesMasqueradeBit",
    "kernelMemcgNotification",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "kubeReservedCgroup",
    "kubeletCgroups",
    "localStorageCapacityIsolation",
    "logging",
    "makeIPTablesUtilChains",
    "maxOpenFiles",
    "memoryManagerPolicy",
    "memorySwap",
    "memoryThrottlingFactor",
    "nodeLeaseDurationSeconds",
    "nodeStatusMaxImages",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "oomScoreAdj",
    "podCIDR",
    "podsPerCore",
    "qosReserved",
    "readOnlyPort",
    "registerNode",
    "registryBurst",
    "registryPullQPS",
    "reservedMemory",
    "reservedSystemCPUs",
    "runOnce",
    "runtimeRequestTimeout",
    "serverTLSBootstrap",
    "showHiddenMetricsForVersion",
    "shutdownGracePeriod",
    "shutdownGracePeriodByPodPriority",
    "shutdownGracePeriodCriticalPods",
    "staticPodURL",
    "staticPodURLHeader",
    "syncFrequency",
    "systemCgroups",
    "systemReservedCgroup",
    "topologyManagerPolicy",
    "topologyManagerPolicyOptions",
    "topologyManagerScope",
    "tracing",
    "userNamespaces",
    "volumeStatsAggPeriod",
};

std::string scalar_text(const Value& value) {
    if (value.is_bool()) return value.as_bool() ? "true" : "false";
    if (value.is_int()) return std::to_string(value.as_int());
    return std::string(value.string_or(""));
}

/// Lists by comma, objects as key=value by comma.
std::string flag_text(const Value& value, const char* between = "=") {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
    if (value.is_array())
        for (const Value& item : value.as_array()) add(scalar_text(item));
    else if (value.is_object())
        for (const schema::Member& member : value.as_object()) add(member.key + between + scalar_text(member.value));
    else
        return scalar_text(value);
    return text;
}

std::string taints_text(const Value& list) {
    std::string text;
    for (const Value& taint : list.is_array() ? list.as_array() : schema::Array())
        text += fmt::format("{}{}={}:{}", text.empty() ? "" : ",", schema::at(taint, "key").string_or(""),
                            schema::at(taint, "value").string_or(""), schema::at(taint, "effect").string_or(""));
    return text;
}

/// Takes what `path` ("a.b.c") names out of `tree`.
std::optional<Value> take(Value& tree, std::string_view path) {
    const std::size_t dot = path.find('.');
    Value* found = tree.find(path.substr(0, dot));
    if (!found || found->is_null()) return std::nullopt;
    if (dot != path.npos) return take(*found, path.substr(dot + 1));
    Value value = std::move(*found);
    tree.erase(path);
    return value;
}

}  // namespace

Result<std::vector<std::string>> flags_of_configuration(const std::string& text, std::vector<std::string>& warnings) {
    TRY(Value tree, schema::parse_yaml(text));
    const std::string version = scalar_text(take(tree, "apiVersion").value_or(Value())),
                      kind = scalar_text(take(tree, "kind").value_or(Value()));
    if (version != "kubelet.config.k8s.io/v1beta1" || kind != "KubeletConfiguration")
        return Error(
            Reason::BadRequest,
            fmt::format("it must be a KubeletConfiguration of kubelet.config.k8s.io/v1beta1, not \"{}\" of \"{}\"", kind, version));
    std::vector<std::string> flags;
    const auto add = [&](const char* flag, const std::string& value) { flags.push_back(fmt::format("--{}={}", flag, value)); };
    for (const Field& field : Fields)
        if (const auto value = take(tree, field.path)) add(field.flag, flag_text(*value));
    if (const auto taints = take(tree, "registerWithTaints")) add("register-with-taints", taints_text(*taints));
    if (const auto hard = take(tree, "evictionHard")) add("eviction-hard", flag_text(*hard, "<"));
    if (const auto soft = take(tree, "evictionSoft")) add("eviction-soft", flag_text(*soft, "<"));
    for (const schema::Member& member : tree.as_object()) {
        if (std::ranges::find(WithoutEffect, std::string_view(member.key)) == std::end(WithoutEffect))
            return Error(Reason::BadRequest, fmt::format("strict decoding error: unknown field \"{}\"", member.key));
        if (!member.value.is_object()) warnings.push_back("configuration field " + member.key + " has no effect");
    }
    return flags;
}

}  // namespace porthole::kubelet
