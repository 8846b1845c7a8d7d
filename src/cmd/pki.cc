#include "cmd/pki.h"

#include "cmd/cluster.h"
#include "cmd/durable_file.h"
#include "net/x509.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using net::CertificateAuthority;
using net::CertificateOptions;
using net::CertificateSubject;
using net::PrivateKey;

constexpr auto AuthorityLife = 24h * 3650;
constexpr auto CertificateLife = 24h * 365;
constexpr auto ClockSkew = 5min;  ///< certificates begin a little earlier, for peers whose clock is behind

Result<void> write_pair(const fs::path& folder, const std::string& name, const KeyPair& pair) {
    TRY_VOID(write_durably(folder / (name + ".key"), pair.key_pem));
    return write_durably(folder / (name + ".crt"), pair.certificate_pem, 0644);
}

Result<KeyPair> read_pair(const fs::path& folder, const std::string& name) {
    KeyPair pair;
    TRY(pair.certificate_pem, read_file(folder / (name + ".crt")));
    TRY(pair.key_pem, read_file(folder / (name + ".key")));
    return pair;
}

Result<KeyPair> issue(const CertificateAuthority& ca, const CertificateSubject& subject, bool for_server, SystemTime now) {
    const PrivateKey key = PrivateKey::generate();
    const CertificateOptions options{
        .not_before = now - ClockSkew, .not_after = now + CertificateLife, .for_server = for_server, .for_client = true};
    TRY(std::string certificate, ca.issue(key, subject, options));
    return KeyPair{std::move(certificate), key.pem()};
}

/// The pair on disk while it says `subject` and is not in its last third; else a new one.
Result<KeyPair> ensure_pair(const fs::path& folder, const std::string& name, const CertificateAuthority& ca,
                            const CertificateSubject& subject, bool for_server, SystemTime now) {
    if (auto stored = read_pair(folder, name)) {
        const auto info = net::parse_certificate(stored->certificate_pem);
        if (info && info->subject == subject && now < info->not_after - (info->not_after - info->not_before) / 3) return stored;
    }
    TRY(KeyPair pair, issue(ca, subject, for_server, now));
    TRY_VOID(write_pair(folder, name, pair));
    return pair;
}

}  // namespace

Result<Pki> Pki::ensure(const fs::path& folder, const Names& names, SystemTime now) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    fs::permissions(folder, fs::perms::owner_all, error);
    if (!fs::exists(folder / "ca.crt")) {
        const auto ca = CertificateAuthority::create("porthole-ca", now - ClockSkew, now + AuthorityLife);
        TRY_VOID(write_pair(folder, "ca", {ca.certificate_pem(), ca.key_pem()}));
    }
    if (!fs::exists(folder / "sa.key")) TRY_VOID(write_durably(folder / "sa.key", PrivateKey::generate().pem()));

    TRY(const KeyPair ca_pair, read_pair(folder, "ca"));
    TRY(const auto ca, CertificateAuthority::load(ca_pair.certificate_pem, ca_pair.key_pem));
    TRY_VOID(ensure_pair(folder, "apiserver", ca,
                         {.common_name = "kube-apiserver", .dns_names = names.dns, .ip_addresses = names.addresses}, true, now));
    TRY_VOID(ensure_pair(folder, "admin", ca, {.common_name = "kubernetes-admin", .organizations = {"system:masters"}}, false, now));
    TRY_VOID(ensure_pair(folder, "apiserver-kubelet-client", ca,
                         {.common_name = "kube-apiserver-kubelet-client", .organizations = {"system:masters"}}, false, now));
    return load(folder);
}

Result<Pki> Pki::load(const fs::path& folder) {
    if (!fs::exists(folder / "ca.crt")) return Error(Reason::NotFound, "no certificates found in " + folder.string());
    Pki pki;
    TRY(const KeyPair ca, read_pair(folder, "ca"));
    pki.ca_pem = ca.certificate_pem;
    pki.ca_key_pem_ = ca.key_pem;
    TRY(pki.server, read_pair(folder, "apiserver"));
    TRY(pki.admin, read_pair(folder, "admin"));
    TRY(pki.kubelet_client, read_pair(folder, "apiserver-kubelet-client"));
    TRY(pki.service_account_key_pem, read_file(folder / "sa.key"));
    return pki;
}

Result<KeyPair> Pki::issue_node(const std::string& name, const std::string& address, SystemTime now) const {
    TRY(const auto ca, CertificateAuthority::load(ca_pem, ca_key_pem_));
    return issue(ca,
                 {.common_name = "system:node:" + name, .organizations = {"system:nodes"}, .dns_names = {name}, .ip_addresses = {address}},
                 true, now);
}

Result<KeyPair> Pki::issue_client(const std::string& common_name, const std::vector<std::string>& groups, SystemTime now) const {
    TRY(const auto ca, CertificateAuthority::load(ca_pem, ca_key_pem_));
    return issue(ca, {.common_name = common_name, .organizations = groups}, false, now);
}

Result<std::string> Pki::ca_hash() const {
    TRY(const auto info, net::parse_certificate(ca_pem));
    return "sha256:" + net::to_hex(net::sha256(info.public_der));
}

}  // namespace porthole::cmd
