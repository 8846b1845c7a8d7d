#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {
namespace {

bool is_set(const std::string& value) { return !value.empty(); }
auto is(const char* wanted) {
    return [wanted](const std::string& value) { return value == wanted; };
}

/// By what the server answers, which is surer than what it was told.
void judge_anonymous(const Evidence& evidence, Findings& findings) {
    constexpr Item Anonymous{"1.2.1", "anonymous requests are refused"};
    std::vector<std::string> open, health;
    for (const AnonymousAnswer& answer : evidence.anonymous) {
        if (answer.code >= 300) continue;
        const bool harmless = answer.path == "/healthz" || answer.path == "/version";
        (harmless ? health : open).push_back(answer.path);
    }
    if (!open.empty())
        return findings.fail(Anonymous, "they are allowed", "remove bindings of roles to system:unauthenticated or system:anonymous", open);
    if (health.empty()) return findings.pass(Anonymous);
    if (evidence.flag("anonymous-auth") == "false" || health == std::vector<std::string>{"/healthz"})
        return findings.pass(Anonymous, "only health endpoints are allowed, for probes");
    findings.warn(Anonymous, "only health, version and cluster-info (for joining nodes) are allowed",
                  start_hardened(evidence, "anonymous-auth=false, once all nodes have joined and probes have credentials"), health);
}

/// A cluster that is older than its authority for kubelets asks, for some time, kubelets that show no certificate of it.
void judge_kubelet_certificates(const Evidence& evidence, Findings& findings) {
    constexpr Item Kubelets{"1.2.5", "kubelets' certificates are verified"};
    const auto until = Timestamp::parse(evidence.flag("kubelets-unverified-until").value_or(""));
    if (until && evidence.now < until->to_system_time())
        return findings.warn(
            Kubelets, "until " + until->to_string() + " a kubelet is asked, too, that has not shown one yet",
            start_with(evidence, "kubelet-certificate-authority=DATA/pki/kubelet-serving-ca.crt") + ", once every node runs this version");
    require_flag(evidence, findings, Kubelets, "kubelet-certificate-authority", is_set, "set --kubelet-certificate-authority");
}

}  // namespace

void check_api_server_access(const Evidence& evidence, Findings& findings) {
    const auto require = [&](Item item, const char* flag, auto good, std::string remedy) {
        require_flag(evidence, findings, item, flag, good, std::move(remedy));
    };
    judge_anonymous(evidence, findings);
    require(
        {"1.2.2", "no tokens from a file"}, "token-auth-file", [](const std::string& file) { return file.empty(); },
        "remove --token-auth-file; service accounts, certificates and OIDC provide credentials that expire");
    for (const auto& [number, title, flag] :
         {std::tuple("1.2.4", "the server authenticates to kubelets with a certificate", "kubelet-client-certificate"),
          std::tuple("1.2.22", "service account tokens are verified with a separate key", "service-account-key-file"),
          std::tuple("1.2.24", "the server has a certificate", "tls-cert-file"),
          std::tuple("1.2.25", "client certificates are verified", "client-ca-file")})
        require({number, title}, flag, is_set,
                std::string_view(flag) == "kubelet-certificate-authority" ? std::string("set --") + flag : remedy_elsewhere(flag));
    judge_kubelet_certificates(evidence, findings);
    require(
        {"1.2.6", "requests are authorized"}, "authorization-mode",
        [](const std::string& modes) { return !modes.empty() && !has_word(modes, "AlwaysAllow"); }, "--authorization-mode=Node,RBAC");
    require(
        {"1.2.7", "nodes are authorized by the Node authorizer"}, "authorization-mode",
        [](const std::string& modes) { return has_word(modes, "Node"); }, "--authorization-mode=Node,RBAC");
    require(
        {"1.2.8", "users are authorized by RBAC"}, "authorization-mode", [](const std::string& modes) { return has_word(modes, "RBAC"); },
        "--authorization-mode=Node,RBAC");
    require({"1.2.15", "profiling of the API server is disabled"}, "profiling", is("false"), remedy_elsewhere("profiling=false"));
    require(
        {"1.2.20", "requests have a time limit"}, "request-timeout",
        [](const std::string& time) { return !time.empty() && time != "0" && time != "0s"; }, start_with(evidence, "request-timeout=60s"));
    require(
        {"1.2.21", "a token is invalid once its service account is deleted"}, "service-account-lookup",
        [](const std::string& value) { return value != "false"; }, remedy_elsewhere("service-account-lookup=true"));
    require(
        {"1.2.30", "tokens of pods are not extended to a year"}, "service-account-extend-token-expiration", is("false"),
        start_hardened(evidence, "service-account-extend-token-expiration=false") + ", if all programs reread their token when it changes");
}

}  // namespace porthole::cmd::doctor
