#include "net/http/proxy.h"
#include "base/strings.h"
#include "base/values/ip.h"
#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_proxy(const NodeEvidence& evidence, Findings& findings) {
    const Item item{"", "pods and services are reached without a proxy"};
    const net::ProxySettings settings(evidence.http_proxy, evidence.https_proxy, evidence.no_proxy);
    if (settings.empty()) {
        const bool is_set = !evidence.http_proxy.empty() || !evidence.https_proxy.empty();
        if (!is_set && evidence.server_error.empty()) return findings.pass(item, "no proxy is set");
        if (is_set) return findings.fail(item, "HTTP_PROXY or HTTPS_PROXY is not valid", "write it like http://proxy.example.com:3128");
        return findings.warn(item, "no proxy is set, and the API server does not answer",
                             "if hosts are reached through a proxy, set HTTPS_PROXY and NO_PROXY for the machine");
    }
    std::vector<std::string> proxied;
    for (const std::string& ranges : {evidence.cluster_cidr, evidence.service_cidr})
        for (const std::string& range : split_list(ranges))
            if (const auto parsed = IpPrefix::parse(range); parsed && !settings.is_exempt(parsed->base().plus(1).to_string(), 443))
                proxied.push_back(range);
    if (!settings.is_exempt("web.default.svc", 443)) proxied.emplace_back(".svc");
    findings.none(item, Verdict::Fail, std::move(proxied), "requests to these go through the proxy",
                  "add them to the machine's NO_PROXY and restart the node's programs");
}

}  // namespace porthole::cmd::doctor
