#include <algorithm>
#include <functional>

#include "cmd/doctor/check.h"
#include "cmd/doctor/checks/cipher_suites.h"
#include "cmd/doctor/evidence.h"

namespace porthole::cmd::doctor {
namespace {

using schema::Value;

/// What one item asks of a kubelet: "" when it is as it should be, else what is not.
struct KubeletItem {
    Item item;
    Verdict otherwise;
    const char* remedy;
    bool linux_only;
    std::function<std::string(const Value&)> trouble;
};

bool is_true(const Value& configuration, std::initializer_list<std::string_view> path) {
    const Value* found = configuration.at_path(path);
    return found && found->bool_or(false);
}

std::int64_t number(const Value& configuration, std::string_view name, std::int64_t otherwise) {
    const Value* found = configuration.find(name);
    return found ? found->int_or(otherwise) : otherwise;
}

std::string weak_ciphers(const Value& configuration) {
    const Value* suites = configuration.find("tlsCipherSuites");
    if (!suites || !suites->is_array()) return "";
    for (const Value& suite : suites->as_array())
        if (!is_strong_cipher(suite.string_or(""))) return std::string(suite.string_or(""));
    return "";
}

const std::vector<KubeletItem>& kubelet_items() {
    static const std::vector<KubeletItem> Items = {
        {{"4.2.1", "kubelets refuse anonymous requests"},
         Verdict::Fail,
         "authentication.anonymous.enabled: false",
         false,
         [](const Value& c) { return is_true(c, {"authentication", "anonymous", "enabled"}) ? "anonymous" : ""; }},
        {{"4.2.2", "kubelets authorize requests through the API"},
         Verdict::Fail,
         "authorization.mode: Webhook",
         false,
         [](const Value& c) { return c.string_at({"authorization", "mode"}) == "Webhook" ? "" : "mode AlwaysAllow"; }},
        {{"4.2.3", "kubelets verify client certificates"},
         Verdict::Fail,
         "authentication.x509.clientCAFile: the cluster's authority",
         false,
         [](const Value& c) { return c.string_at({"authentication", "x509", "clientCAFile"}).empty() ? "no authority" : ""; }},
        {{"4.2.4", "kubelets have no read-only port"},
         Verdict::Fail,
         "readOnlyPort: 0",
         false,
         [](const Value& c) { return number(c, "readOnlyPort", 0) ? "port " + std::to_string(number(c, "readOnlyPort", 0)) : ""; }},
        {{"4.2.5", "idle exec and port-forward connections are closed"},
         Verdict::Warn,
         "streamingConnectionIdleTimeout: 4h",
         false,
         [](const Value& c) {
             const std::string_view time = c.string_at({"streamingConnectionIdleTimeout"});
             return time == "0s" || time == "0" ? "never" : "";
         }},
        {{"4.2.8", "kubelets' rate of events is limited"},
         Verdict::Warn,
         "eventRecordQPS: 50",
         false,
         [](const Value& c) { return number(c, "eventRecordQPS", 50) == 0 ? "no limit" : ""; }},
        {{"4.2.10", "nodes renew their client certificates"},
         Verdict::Fail,
         "rotateCertificates: true",
         false,
         [](const Value& c) { return is_true(c, {"rotateCertificates"}) ? "" : "not renewed"; }},
        {{"4.2.11", "nodes renew their serving certificates"},
         Verdict::Warn,
         "serverTLSBootstrap: true, or a certificate of your own in tlsCertFile",
         false,
         [](const Value& c) { return is_true(c, {"serverTLSBootstrap"}) || !c.string_at({"tlsCertFile"}).empty() ? "" : "self-signed"; }},
        {{"4.2.12", "kubelets accept strong ciphers only"}, Verdict::Fail, "leave weak ones out of tlsCipherSuites", false, weak_ciphers},
        {{"4.2.13", "the number of a pod's processes is limited"},
         Verdict::Warn,
         "podPidsLimit (porthole agent --pod-max-pids 4096, or porthole up --hardened)",
         true,
         [](const Value& c) { return number(c, "podPidsLimit", -1) > 0 ? "" : "no limit"; }},
        {{"4.2.14", "containers have the runtime's seccomp profile by default"},
         Verdict::Warn,
         "seccompDefault: true (porthole agent --seccomp-default, or porthole up --hardened)",
         true,
         [](const Value& c) { return is_true(c, {"seccompDefault"}) ? "" : "unconfined"; }},
        {{"", "kubelets accept TLS 1.2 and later"},
         Verdict::Fail,
         "tlsMinVersion: VersionTLS12",
         false,
         [](const Value& c) {
             const std::string version(c.string_at({"tlsMinVersion"}));
             return version == "VersionTLS10" || version == "VersionTLS11" ? version : "";
         }},
        {{"", "kubelets require Kubernetes' kernel settings"},
         Verdict::Warn,
         "sysctl -w vm.overcommit_memory=1 vm.panic_on_oom=0 kernel.panic=10 kernel.panic_on_oops=1, then protectKernelDefaults: true (a "
         "node of "
         "porthole up --hardened sets it at its next start)",
         true,
         [](const Value& c) { return is_true(c, {"protectKernelDefaults"}) ? "" : "not checked"; }},
    };
    return Items;
}

}  // namespace

void check_kubelets(const Evidence& evidence, Findings& findings) {
    for (const KubeletItem& one : kubelet_items()) {
        std::vector<std::string> bad;
        bool any = false;
        for (const KubeletFact& kubelet : evidence.kubelets) {
            if (!kubelet.configuration || (one.linux_only && kubelet.windows)) continue;
            any = true;
            if (const std::string trouble = one.trouble(*kubelet.configuration); !trouble.empty())
                bad.push_back(kubelet.node + " (" + trouble + ")");
        }
        if (any) {
            findings.none(one.item, one.otherwise, std::move(bad), "some nodes have other settings", one.remedy);
        } else {
            findings.not_applicable(one.item, "no node that this applies to reported its settings");
        }
    }
    std::vector<std::string> silent;
    for (const KubeletFact& kubelet : evidence.kubelets)
        if (!kubelet.configuration) silent.push_back(kubelet.node + " (" + kubelet.error + ")");
    findings.none({"", "every kubelet reports its settings"}, Verdict::Warn, std::move(silent), "these nodes could not be checked",
                  "check that the node is Ready, then run this again");
    findings.not_applicable({"4.2.6", "kubelets keep their iptables rules"},
                            "Porthole's kubelet writes no iptables rules; the proxy uses nftables");
    findings.not_applicable({"4.2.7", "nodes have their machine's name"},
                            "the name is chosen at the join and is in the node's certificates");
    const bool own = std::ranges::any_of(
        evidence.kubelets, [](const KubeletFact& kubelet) { return kubelet.configuration && kubelet.configuration->find("tlsCertFile"); });
    findings.pass({"4.2.9", "kubelets have a certificate"}, own ? "from files" : "of the signer kubernetes.io/kubelet-serving");
    findings.pass({"4.3.1", "the proxy's metrics are on loopback only"}, "127.0.0.1:10249");
}

}  // namespace porthole::cmd::doctor
