#include "provision/etcd_files.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "local_cluster/system_unit.h"

namespace porthole::provision {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char EtcdUnit[] = {
#embed "porthole-etcd.service"
};

/// As a local cluster's, but for elections: each member has a machine of its own, and times are etcd's own.
std::vector<std::string> etcd_command(const ControlPlaneDescription& plane, const std::string& address) {
    const std::string client = "https://" + address + ":2379", peer = "https://" + address + ":2380", files = PORTHOLE_ETCD_FILES "/";
    const std::pair<const char*, std::string> options[] = {
        {"name", address},
        {"data-dir", files + "data"},
        {"listen-client-urls", client},
        {"advertise-client-urls", client},
        {"listen-peer-urls", peer},
        {"initial-advertise-peer-urls", peer},
        {"initial-cluster-token", "porthole-" + plane.cluster},
        {"client-cert-auth", "true"},
        {"trusted-ca-file", files + "ca.crt"},
        {"cert-file", files + "member.crt"},
        {"key-file", files + "member.key"},
        {"peer-client-cert-auth", "true"},
        {"peer-trusted-ca-file", files + "ca.crt"},
        {"peer-cert-file", files + "member.crt"},
        {"peer-key-file", files + "member.key"},
        {"quota-backend-bytes", std::to_string(2u << 30)},
        {"snapshot-count", "10000"},
        {"pre-vote", "true"},
        {"logger", "zap"},
        {"log-level", "warn"},
    };
    std::vector<std::string> words = {plane.own_etcd->program};
    for (const auto& [name, value] : options) words.push_back(fmt::format("--{}={}", name, value));
    return words;
}

std::string hash_of(const std::string& text) { return net::to_hex(net::sha256(text)); }

}  // namespace

EtcdFiles etcd_files(const ControlPlaneDescription& plane, const MachineDescription& host, const net::CertificateAuthority& authority,
                     const EtcdFacts& facts) {
    const auto quoted = [](const std::string& word) { return local_cluster::quote_for_unit(word); };
    std::string unit(EtcdUnit, sizeof EtcdUnit);
    constexpr std::string_view Start = "ExecStart=";
    unit.insert(unit.find(Start) + Start.size(), join(etcd_command(plane, host.ssh.address), " ", quoted));
    const std::string issued =
        join(std::vector{authority.certificate_pem(), host.ssh.address, facts.member_public, facts.client_public}, "\n");
    return {{"ca.key", authority.key_pem()}, {"issued", hash_of(issued) + "\n"}, {PORTHOLE_ETCD_UNIT, std::move(unit)}};
}

bool has_etcd_files(const EtcdFacts& facts, const EtcdFiles& files, const net::CertificateAuthority& authority) {
    std::string expected;
    for (const auto& [name, text] : files) expected += (expected.empty() ? "" : " ") + name + " " + hash_of(text);
    return facts.files == expected && facts.authority_sha256 == hash_of(authority.certificate_pem()) && facts.has_certificates &&
           !facts.member_public.empty() && !facts.client_public.empty();
}

}  // namespace porthole::provision
