#include "node_join/pki.h"

#include "base/strings.h"
#include "base/time/time.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "runtime/files/durable_file.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using net::CertificateAuthority;
using net::CertificateOptions;
using net::CertificateSubject;
using net::PrivateKey;

constexpr auto CertificateLife = 24h * 365;
constexpr auto Transition = 24h * 30;
constexpr const char* TransitionFile = "kubelets-unverified-until";

/// An authority that signs itself, made where it is missing.
Result<CertificateAuthority> ensure_authority(const fs::path& folder, const std::string& name, const std::string& common_name,
                                              SystemTime now) {
    TRY(const bool exists, has_file(folder / (name + ".crt")));
    if (!exists) {
        const auto made = CertificateAuthority::create(common_name, now - ClockSkew, now + AuthorityLife);
        TRY_VOID(write_pair(folder, name, {made.certificate_pem(), made.key_pem()}));
    }
    TRY(const KeyPair pair, read_pair(folder, name));
    return CertificateAuthority::load(pair.certificate_pem, pair.key_pem);
}

/// The pair on disk while it says `subject`, is of `ca`, belongs together (a crash may come between the two files) and is not in its last
/// third; else a new one. Its certificate is followed by `chain`.
Result<KeyPair> ensure_pair(const fs::path& folder, const std::string& name, const CertificateAuthority& ca,
                            const CertificateSubject& subject, bool for_server, SystemTime now, const std::string& chain = "") {
    TRY(const auto issuer, net::parse_certificate(ca.certificate_pem()));
    if (auto stored = read_pair(folder, name)) {
        const auto info = net::parse_certificate(stored->certificate_pem);
        const bool fits = info && info->subject == subject && info->issuer_common_name == issuer.subject.common_name &&
                          CertificateAuthority::load(stored->certificate_pem, stored->key_pem);
        if (fits && now < info->not_after - (info->not_after - info->not_before) / 3) {
            const std::string wanted = split_certificates(stored->certificate_pem).front() + chain;
            if (stored->certificate_pem == wanted) return stored;
            stored->certificate_pem = wanted;
            TRY_VOID(write_pair(folder, name, *stored));
            return stored;
        }
    }
    TRY(KeyPair pair, issue(ca, subject, for_server, now));
    pair.certificate_pem += chain;
    TRY_VOID(write_pair(folder, name, pair));
    return pair;
}

/// For a cluster that has served before it had an authority for kubelets. Not for one whose first start was cut short: that has no nodes.
Result<void> begin_transition(const fs::path& folder, SystemTime now) {
    TRY(const bool has_served, has_file(folder / "apiserver.crt"));
    TRY(const bool has_authority, has_file(folder / "kubelet-serving-ca.crt"));
    if (!has_served || has_authority) return {};
    return write_durably(folder / TransitionFile, Timestamp(now + Transition).to_string() + "\n");
}

}  // namespace

Result<bool> has_file(const fs::path& path) {
    std::error_code error;
    const bool found = fs::exists(path, error);
    if (error) return Error(Reason::Io, "cannot read " + path.string() + ": " + error.message());
    return found;
}

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
        .not_before = now - ClockSkew, .not_after = now + CertificateLife, .for_server = for_server, .for_client = !for_server};
    TRY(std::string certificate, ca.issue(key, subject, options));
    return KeyPair{std::move(certificate), key.pem()};
}

Result<Pki> Pki::ensure(const fs::path& folder, const Names& names, SystemTime now) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    fs::permissions(folder, fs::perms::owner_all, error);
    TRY_VOID(begin_transition(folder, now));
    TRY(const bool has_key, has_file(folder / "sa.key"));
    if (!has_key) TRY_VOID(write_durably(folder / "sa.key", PrivateKey::generate().pem()));

    TRY_VOID(resume_ca_rotation(folder));
    TRY(const auto ca, ensure_authority(folder, "ca", "porthole-ca", now));
    TRY(const std::string cross, cross_certificate(folder));
    TRY_VOID(ensure_authority(folder, "kubelet-serving-ca", "porthole-kubelet-serving-ca", now));
    TRY(const auto front_proxy, ensure_authority(folder, "front-proxy-ca", "porthole-front-proxy-ca", now));
    TRY_VOID(ensure_pair(folder, "front-proxy-client", front_proxy, {.common_name = "front-proxy-client"}, false, now));
    TRY_VOID(ensure_pair(folder, "apiserver", ca,
                         {.common_name = "kube-apiserver", .dns_names = names.dns, .ip_addresses = names.addresses}, true, now, cross));
    TRY_VOID(ensure_pair(folder, "admin", ca, {.common_name = "kubernetes-admin", .organizations = {"system:masters"}}, false, now, cross));
    TRY_VOID(ensure_pair(folder, "apiserver-kubelet-client", ca, {.common_name = "kube-apiserver-kubelet-client"}, false, now, cross));
    return load(folder);
}

Result<Pki> Pki::load(const fs::path& folder) {
    TRY(const bool exists, has_file(folder / "ca.crt"));
    if (!exists) return Error(Reason::NotFound, "no certificates found in " + folder.string());
    Pki pki;
    TRY(const KeyPair ca, read_pair(folder, "ca"));
    pki.ca_pem = ca.certificate_pem;
    pki.ca_key_pem_ = ca.key_pem;
    TRY(pki.server, read_pair(folder, "apiserver"));
    TRY(pki.admin, read_pair(folder, "admin"));
    TRY(pki.kubelet_client, read_pair(folder, "apiserver-kubelet-client"));
    TRY(pki.service_account_key_pem, read_file(folder / "sa.key"));
    // An earlier version's folder lacks what follows until its server has been started again.
    for (const auto& [name, pair] :
         {std::pair("kubelet-serving-ca", &pki.kubelet_serving_ca), std::pair("front-proxy-ca", &pki.front_proxy_ca),
          std::pair("front-proxy-client", &pki.front_proxy_client)}) {
        TRY(const bool has_pair, has_file(folder / (std::string(name) + ".crt")));
        if (has_pair) {
            TRY(*pair, read_pair(folder, name));
        }
    }
    TRY(const bool has_previous, has_file(folder / "sa-previous.key"));
    if (has_previous) {
        TRY(pki.previous_service_account_key_pem, read_file(folder / "sa-previous.key"));
    }
    if (const auto until = read_file(folder / TransitionFile)) {
        TRY(const Timestamp parsed, Timestamp::parse(trim(*until)));
        pki.kubelets_unverified_until = parsed.to_system_time();
    }
    return pki;
}

Result<KeyPair> Pki::issue_node(const std::string& name, SystemTime now) const {
    return issue_client("system:node:" + name, {"system:nodes"}, now);
}

Result<KeyPair> Pki::issue_client(const std::string& common_name, const std::vector<std::string>& groups, SystemTime now) const {
    TRY(const auto ca, CertificateAuthority::load(ca_pem, ca_key_pem_));
    return issue(ca, {.common_name = common_name, .organizations = groups}, false, now);
}

Result<std::string> Pki::ca_hash() const {
    TRY(const auto info, net::parse_certificate(ca_pem));
    return "sha256:" + net::to_hex(net::sha256(info.public_der));
}

}  // namespace porthole::node_join
