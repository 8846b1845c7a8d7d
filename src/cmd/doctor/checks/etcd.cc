#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {
namespace {

constexpr Item Certificate{"1.2.23", "the server has a certificate for etcd"},
    Authority{"1.2.26", "the server verifies etcd's certificate"};
constexpr Item Members{"2.1-7", "etcd's certificates and peers"};

bool is_encrypted(const std::string& servers) {
    const auto urls = split_list(servers);
    return std::ranges::all_of(urls, [](const std::string& url) { return url.starts_with("https://"); });
}

}  // namespace

void check_etcd(const Evidence& evidence, Findings& findings) {
    const std::string servers = evidence.flag("etcd-servers").value_or("");
    if (evidence.server_flags && servers.empty()) {
        for (const Item& item : {Certificate, Authority, Members})
            findings.not_applicable(item, "the store is part of the server and does not listen");
        return;
    }
    const auto is_set = [](const std::string& value) { return !value.empty(); };
    require_flag(evidence, findings, Certificate, "etcd-certfile", is_set,
                 "start etcd with --client-cert-auth, and the server with --etcd-certfile");
    require_flag(evidence, findings, Authority, "etcd-cafile", is_set, "start the server with --etcd-cafile");
    if (!evidence.server_flags)
        findings.warn(Members, evidence.server_flags_error,
                      "allow this user to read /flagz of the server, or check the server's command line");
    else if (!is_encrypted(servers))
        findings.fail(Members, "--etcd-servers=" + servers + ": not all are https", "start etcd with --cert-file and --key-file");
    else if (evidence.host && evidence.host->has_own_etcd)
        findings.pass(Members, "members and clients authenticate with certificates of an authority used only for this etcd");
    else
        findings.warn(Members, "an external etcd, whose flags are not known here",
                      "check that its members have --client-cert-auth, --peer-client-cert-auth and a separate authority");
}

}  // namespace porthole::cmd::doctor
