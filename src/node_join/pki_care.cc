#include "node_join/pki_care.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "base/time/time.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "runtime/files/durable_file.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;

struct Known {
    const char* name;
    const char* authority;  ///< "" for one that signs itself
};
constexpr std::array<Known, 8> Certificates = {{{"ca", ""},
                                                {"ca-previous", ""},
                                                {"kubelet-serving-ca", ""},
                                                {"front-proxy-ca", ""},
                                                {"apiserver", "ca"},
                                                {"admin", "ca"},
                                                {"apiserver-kubelet-client", "ca"},
                                                {"front-proxy-client", "front-proxy-ca"}}};

constexpr const char* PreviousKey = "sa-previous.key";
constexpr const char* RotationStarted = "sa-rotation-started";

Result<void> remove_file(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    return error ? Result<void>(Error(Reason::Io, "cannot remove " + path.string() + ": " + error.message())) : Result<void>();
}

}  // namespace

Result<std::vector<PkiEntry>> list_certificates(const fs::path& folder) {
    TRY(const bool has_authority, has_file(folder / "ca.crt"));
    if (!has_authority) return Error(Reason::NotFound, "no certificates found in " + folder.string());
    std::vector<PkiEntry> entries;
    for (const Known& known : Certificates) {
        const fs::path path = folder / (std::string(known.name) + ".crt");
        TRY(const bool has_certificate, has_file(path));
        if (!has_certificate) continue;
        TRY(const std::string pem, read_file(path));
        auto info = net::parse_certificate(pem);
        if (!info) return std::move(info).error().with_context(path.string());
        entries.push_back({known.name, info->subject.common_name, known.authority, info->not_after});
    }
    return entries;
}

Result<void> renew_certificate(const fs::path& folder, const std::string& name, SystemTime now) {
    const auto known = std::ranges::find(Certificates, name, [](const Known& one) { return std::string(one.name); });
    if (known == Certificates.end() || *known->authority == '\0')
        return Error(Reason::BadRequest,
                     "\"" + name + "\" is not a certificate that can be renewed; `porthole certs list` shows their names");
    TRY(const KeyPair stored, read_pair(folder, name));
    TRY(const auto info, net::parse_certificate(stored.certificate_pem));
    TRY(const KeyPair authority, read_pair(folder, known->authority));
    TRY(const auto ca, net::CertificateAuthority::load(authority.certificate_pem, authority.key_pem));
    TRY(KeyPair fresh, issue(ca, info.subject, name == "apiserver", now));
    if (std::string_view(known->authority) == "ca") {
        TRY(const std::string cross, cross_certificate(folder));
        fresh.certificate_pem += cross;
    }
    return write_pair(folder, name, fresh);
}

Result<KeyRotation> service_account_key_rotation(const fs::path& folder) {
    TRY(const bool has_previous, has_file(folder / PreviousKey));
    if (!has_previous) return KeyRotation();
    TRY(const std::string text, read_file(folder / RotationStarted));
    TRY(const Timestamp started, Timestamp::parse(trim(text)));
    return KeyRotation{true, started.to_system_time()};
}

namespace {

/// False after a start that was cut short: the key that is to be dropped still signs.
Result<bool> is_new_key_there(const fs::path& folder, const KeyRotation& rotation) {
    if (!rotation.in_progress) return false;
    TRY(const std::string current, read_file(folder / "sa.key"));
    TRY(const std::string previous, read_file(folder / PreviousKey));
    return current != previous;
}

}  // namespace

Result<void> start_service_account_key_rotation(const fs::path& folder, SystemTime now) {
    TRY(const KeyRotation rotation, service_account_key_rotation(folder));
    TRY(const bool has_new_key, is_new_key_there(folder, rotation));
    if (rotation.in_progress && has_new_key)
        return Error(Reason::AlreadyExists,
                     "a rotation of this key is in progress; `porthole certs rotate service-account-key --finish` ends it");
    TRY(const std::string current, read_file(folder / "sa.key"));
    // In this order, a crash in between leaves every key that has signed something.
    TRY_VOID(write_durably(folder / RotationStarted, Timestamp(now).to_string() + "\n"));
    TRY_VOID(write_durably(folder / PreviousKey, current));
    return write_durably(folder / "sa.key", net::PrivateKey::generate().pem());
}

Result<void> finish_service_account_key_rotation(const fs::path& folder, SystemTime now, bool force) {
    TRY(const KeyRotation rotation, service_account_key_rotation(folder));
    if (!rotation.in_progress)
        return Error(Reason::NotFound,
                     "no rotation of this key is in progress; `porthole certs rotate service-account-key --start` begins one");
    TRY(const bool has_new_key, is_new_key_there(folder, rotation));
    if (!has_new_key)
        return Error(Reason::Conflict,
                     "the start of this rotation was cut short before there was a new key; repeat `porthole certs rotate "
                     "service-account-key --start`");
    if (!force && now < rotation.started + PodTokensRenewed)
        return Error(Reason::Conflict, "running pods may have tokens of the previous key until " +
                                           Timestamp(rotation.started + PodTokensRenewed).to_string() +
                                           "; wait until then, or end those tokens now with --force");
    TRY_VOID(remove_file(folder / PreviousKey));
    return remove_file(folder / RotationStarted);
}

}  // namespace porthole::node_join
