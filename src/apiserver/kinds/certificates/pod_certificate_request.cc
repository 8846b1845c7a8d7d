#include <algorithm>

#include "api/certificates_v1beta1.h"
#include "apiserver/kinds/certificates/signer_name.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "net/tls/pem.h"
#include "net/tls/x509.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using api::certificates::v1beta1::PodCertificateRequest;
using api::certificates::v1beta1::PodCertificateRequestStatus;

constexpr std::size_t KeyLimit = 10 << 10, ChainLimit = 100 << 10, UidLimit = 128;
constexpr Duration ShortestLife = 1h, ClockSkew = 5min, RefreshMargin = 10min;
constexpr Choices Outcomes = {"Denied", "Failed", "Issued"};

const FieldPath KeyPath = "spec.pkixPublicKey", RequestPath = "spec.stubPKCS10Request", ChainPath = "status.certificateChain";

// --- What a node asks for ---

void check_uid(const std::string& uid, const FieldPath& path, FieldErrors& errors) {
    check(!uid.empty(), uid, "must not be empty", path, errors);
    if (uid.size() > UidLimit) errors.too_long(path, UidLimit);
}

/// Whether certificates may be issued for the key, an error if not.
bool check_key(const net::PublicKeyInfo& key, const FieldPath& path, FieldErrors& errors) {
    using Algorithm = net::PublicKeyInfo::Algorithm;
    switch (key.algorithm) {
        case Algorithm::Ed25519:
            return true;
        case Algorithm::Ec:
            if (key.curve == "P-256" || key.curve == "P-384" || key.curve == "P-521") return true;
            errors.invalid(path, "curve " + key.curve, "elliptic public keys must use curve P256, P384, or P521");
            return false;
        case Algorithm::Rsa:
            if (key.bits == 3072 || key.bits == 4096) return true;
            errors.invalid(path, std::to_string(key.bits) + "-bit modulus", "RSA keys must have modulus size 3072 or 4096");
            return false;
        case Algorithm::Other:
            break;
    }
    errors.invalid_as_a_whole(path, "unknown public key type; supported types are Ed25519, ECDSA, and RSA");
    return false;
}

void check_request(const std::string& der, FieldErrors& errors) {
    if (der.size() > KeyLimit) return errors.too_long(RequestPath, KeyLimit);
    const auto request = net::parse_certificate_request_der(der);
    if (!request) return errors.invalid_as_a_whole(RequestPath, "must be a valid PKCS#10 CSR");
    const auto key = net::parse_public_key(request->public_der);
    if (!key) return errors.invalid_as_a_whole(RequestPath, "must be a valid PKCS#10 CSR");
    if (check_key(*key, RequestPath, errors) && !request->is_signed) errors.invalid_as_a_whole(RequestPath, "invalid signature");
}

/// The form of before Kubernetes 1.36: a key, and a signature of the pod's uid.
void check_proven_key(const PodCertificateRequest& object, FieldErrors& errors) {
    const FieldPath proof_path = "spec.proofOfPossession";
    const std::string &key = object.spec.pkix_public_key, &proof = object.spec.proof_of_possession;
    if (key.size() > KeyLimit) return errors.too_long(KeyPath, KeyLimit);
    if (proof.size() > KeyLimit) return errors.too_long(proof_path, KeyLimit);
    const auto info = net::parse_public_key(key);
    if (!info) return errors.invalid_as_a_whole(KeyPath, "must be a valid PKIX-serialized public key");
    if (check_key(*info, KeyPath, errors) && !net::is_signature(key, object.spec.pod_uid, proof))
        errors.invalid_as_a_whole(proof_path, "could not verify proof-of-possession signature");
}

void validate(const PodCertificateRequest& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    check_signer_name(spec.signer_name, path / "signerName", errors);
    check_user_annotations(spec.unverified_user_annotations, path / "unverifiedUserAnnotations", errors);
    invalid_all(errors, path / "podName", spec.pod_name, names::check_dns1123_subdomain(spec.pod_name));
    check_uid(spec.pod_uid, path / "podUID", errors);
    invalid_all(errors, path / "serviceAccountName", spec.service_account_name, names::check_dns1123_subdomain(spec.service_account_name));
    check_uid(spec.service_account_uid, path / "serviceAccountUID", errors);
    invalid_all(errors, path / "nodeName", spec.node_name, names::check_dns1123_subdomain(spec.node_name));
    check_uid(spec.node_uid, path / "nodeUID", errors);
    if (!spec.max_expiration_seconds) return errors.required(path / "maxExpirationSeconds", "must be set");
    const std::int32_t longest = longest_pod_certificate_seconds(spec.signer_name);
    check(*spec.max_expiration_seconds >= ShortestPodCertificateSeconds && *spec.max_expiration_seconds <= longest,
          *spec.max_expiration_seconds,
          "must be in the range [" + std::to_string(ShortestPodCertificateSeconds) + ", " + std::to_string(longest) + "]",
          path / "maxExpirationSeconds", errors);

    const bool request = !spec.stub_pkcs10_request.empty(), key = !spec.pkix_public_key.empty(), proof = !spec.proof_of_possession.empty();
    if (request && !key && !proof)
        check_request(spec.stub_pkcs10_request, errors);
    else if (!request && key && proof)
        check_proven_key(object, errors);
    else
        errors.invalid_as_a_whole(path, "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set");
}

void validate_update(const PodCertificateRequest& object, const PodCertificateRequest& old, FieldErrors& errors) {
    if (object.spec != old.spec) errors.invalid_as_a_whole("spec", FieldIsImmutable);
}

// --- What a signer answers ---

bool is_decided(const PodCertificateRequestStatus& status, std::string_view type) {
    const auto* condition = objects::find_condition(status.conditions, type);
    return condition && condition->status == "True";
}
bool is_decided(const PodCertificateRequestStatus& status) {
    return std::ranges::any_of(Outcomes, [&](std::string_view type) { return is_decided(status, type); });
}

/// Conditions that are there already stay as they are; new ones are dated.
void prepare_for_status_update(PodCertificateRequest& object, const PodCertificateRequest& old, const WriteContext& context) {
    for (auto& condition : object.status.conditions) {
        const auto* before = objects::find_condition(old.status.conditions, condition.type);
        if (before) condition = *before;
        if (condition.last_transition_time.is_zero()) condition.last_transition_time = context.now;
    }
}

void check_conditions(const PodCertificateRequestStatus& status, FieldErrors& errors) {
    const FieldPath path = "status.conditions.";  // Kubernetes writes a dot before the index
    for (std::size_t i = 0; i < status.conditions.size(); ++i) {
        const auto& condition = status.conditions[i];
        check_choice(condition.type, Outcomes, path.index(i) / "type", errors);
        if (i > 0)
            errors.invalid(path.index(i) / "type", condition.type,
                           "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"");
        check_choice(condition.status, {"True"}, path.index(i) / "status", errors);
        check_required(condition.reason, FieldPath("status.conditions").index(i) / "reason", errors);
    }
}

/// What other programs would take for other names.
void check_names(const net::CertificateSubject& subject, FieldErrors& errors) {
    for (const std::string& name : subject.dns_names) {
        check(!name.empty(), name, "leaf certificate should not contain empty DNSName", ChainPath, errors);
        check(!name.contains(".."), name, "leaf certificate's DNSName should not contain '..'", ChainPath, errors);
        check(!name.starts_with('.') && !name.ends_with('.'), name, "leaf certificate's DNSName should not start or end with '.'",
              ChainPath, errors);
    }
    for (const std::string& address : subject.email_addresses) {
        const std::size_t at = address.rfind('@');
        const bool formed = at != address.npos && at > 0 && at + 1 < address.size() &&
                            std::ranges::none_of(address, [](char c) { return c <= ' ' || c == '<' || c == '>' || c == 0x7f; });
        check(formed, address, "leaf certificate should not contain invalid EmailAddress", ChainPath, errors);
    }
}

std::string key_of(const PodCertificateRequest& object) {
    if (object.spec.stub_pkcs10_request.empty()) return object.spec.pkix_public_key;
    const auto request = net::parse_certificate_request_der(object.spec.stub_pkcs10_request);
    return request ? request->public_der : "";
}

/// Times are those of the certificate, and leave time to ask for the next one.
void check_times(const PodCertificateRequest& object, const net::CertificateInfo& leaf, Timestamp now, FieldErrors& errors) {
    const FieldPath path = "status";
    const FieldPath begin_path = path / "notBefore", end_path = path / "notAfter", refresh_path = path / "beginRefreshAt";
    const auto &begin = object.status.not_before, &end = object.status.not_after, &refresh = object.status.begin_refresh_at;
    if (!begin) errors.required(begin_path, "must be present and consistent with the issued certificate");
    if (!end) errors.required(end_path, "must be present and consistent with the issued certificate");
    if (!refresh) errors.required(refresh_path, "must be present and in the range [notbefore+10min, notafter-10min]");
    if (!begin || !end || !refresh) return;

    const auto refuse = [&](const FieldPath& where, const Timestamp& time, std::string_view why) {
        errors.invalid(where, time.to_string(), why);
    };
    const Duration skew = *begin - now, life = *end - *begin;
    if (*begin != Timestamp(leaf.not_before))
        return refuse(begin_path, *begin, "must be set to the NotBefore time encoded in the leaf certificate");
    if (skew <= -ClockSkew || skew >= ClockSkew)
        return refuse(begin_path, *begin, "must be set to within 5 minutes of kube-apiserver's current time");
    if (*end != Timestamp(leaf.not_after))
        return refuse(end_path, *end, "must be set to the NotAfter time encoded in the leaf certificate");
    const std::int32_t most = object.spec.max_expiration_seconds.value_or(0);
    const std::string lifetime = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(life).count()) + "s";
    if (life < ShortestLife) return errors.invalid(ChainPath, lifetime, "leaf certificate lifetime must be >= 1 hour");
    if (life > std::chrono::seconds(most))
        return errors.invalid(ChainPath, lifetime,
                              "leaf certificate lifetime must be <= spec.maxExpirationSeconds (" + std::to_string(most) + ")");
    if (*refresh - *begin < RefreshMargin) return refuse(refresh_path, *refresh, "must be at least 10 minutes after status.notBefore");
    if (*end - *refresh < RefreshMargin) return refuse(refresh_path, *refresh, "must be at least 10 minutes before status.notAfter");
}

void check_issued(const PodCertificateRequest& object, Timestamp now, FieldErrors& errors) {
    const std::string& chain = object.status.certificate_chain;
    const auto refuse = [&](std::string_view why) { errors.invalid(ChainPath, chain, why); };
    if (chain.size() > ChainLimit) return errors.too_long(ChainPath, ChainLimit);
    const auto blocks = net::parse_pem(chain);
    if (blocks.empty()) return refuse("issued certificate chain must contain at least one certificate");
    for (const net::PemBlock& block : blocks) {
        if (block.label != "CERTIFICATE") return refuse("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
        const auto certificate = net::parse_certificate_der(block.bytes);
        if (&block != &blocks.front()) {
            if (!certificate) return refuse("intermediate certificate does not parse as valid X.509");
            continue;
        }
        if (!certificate) return refuse("leaf certificate does not parse as valid X.509");
        check_names(certificate->subject, errors);
        if (certificate->public_der != key_of(object)) return refuse("leaf certificate was not issued to the requested public key");
        check_times(object, *certificate, now, errors);
        if (!errors.empty()) return;
    }
}

/// Once decided, nothing of the status changes any more.
void validate_status_update(const PodCertificateRequest& object, const PodCertificateRequest& old, Timestamp now, FieldErrors& errors) {
    check_conditions(object.status, errors);
    if (!errors.empty()) return;
    const FieldPath path = "status";
    if (is_decided(old.status)) {
        if (object.status != old.status)
            errors.invalid_as_a_whole(path, "immutable after PodCertificateRequest is issued, denied, or failed");
    } else if (is_decided(object.status, "Denied") || is_decided(object.status, "Failed")) {
        if (object.status != PodCertificateRequestStatus{.conditions = object.status.conditions})
            errors.invalid_as_a_whole(path, "non-condition status fields must be empty when denying or failing the PodCertificateRequest");
    } else if (is_decided(object.status, "Issued")) {
        check_issued(object, now, errors);
    } else if (object.status != old.status) {
        errors.invalid_as_a_whole(path, "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"");
    }
}

}  // namespace

Strategy pod_certificate_request_strategy() {
    Strategy strategy = strategy_for<PodCertificateRequest>(
        {.prepare_for_status_update = prepare_for_status_update, .validate = validate, .validate_update = validate_update});
    strategy.validate_status_update = [](const ApiObject& object, const ApiObject& old, const WriteContext& context, FieldErrors& errors) {
        validate_status_update(object.view<PodCertificateRequest>(), old.view<PodCertificateRequest>(), context.now, errors);
    };
    strategy.unconditional_update = false;
    strategy.selectable_fields = {{"spec.signerName"}, {"spec.podName"}, {"spec.nodeName"}};
    return strategy;
}

}  // namespace porthole::apiserver
