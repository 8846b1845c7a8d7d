#include <map>

#include "api/certificates_v1beta1.h"
#include "apiserver/kinds/certificates/signer_name.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "net/tls/pem.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {
namespace {

using api::certificates::v1beta1::ClusterTrustBundle;

constexpr std::size_t BundleLimit = 1 << 20;

/// Why the block cannot be a trust anchor; "" if it can.
std::string refuse_anchor(const net::PemBlock& block) {
    if (block.label != "CERTIFICATE") return "has bad block type: " + block.label;
    if (block.has_headers) return "has PEM block headers";
    const auto certificate = net::parse_certificate_der(block.bytes);
    if (!certificate) return "does not parse as X.509";
    return certificate->is_ca ? "" : "does not have the CA bit set";
}

void check_bundle(const std::string& bundle, FieldErrors& errors) {
    const FieldPath path = "spec.trustBundle";
    const auto refuse = [&](const std::string& why) { errors.invalid(path, "<value omitted>", why); };
    if (bundle.size() > BundleLimit) return errors.too_long(path, BundleLimit);
    std::map<std::string, std::string> places;  // of each certificate
    std::size_t count = 0;
    for (const net::PemBlock& block : net::parse_pem(bundle)) {
        const std::string entry = std::to_string(count++);
        if (const std::string why = refuse_anchor(block); !why.empty()) {
            refuse("entry " + entry + " " + why);
            continue;
        }
        std::string& known = places[block.bytes];
        known += known.empty() ? entry : " " + entry;
    }
    if (!errors.empty()) return;
    if (places.empty()) refuse("at least one trust anchor must be provided");
    for (const auto& [certificate, entries] : places)
        if (entries.contains(' ')) refuse("duplicate trust anchor (indices [" + entries + "])");
}

void validate_names(const ClusterTrustBundle& object, FieldErrors& errors) {
    const std::string& signer = object.spec.signer_name;
    invalid_all(errors, "metadata.name", object.metadata.name, check_trust_bundle_name(object.metadata.name, signer));
    if (!signer.empty()) check_signer_name(signer, "spec.signerName", errors);
}

void validate(const ClusterTrustBundle& object, FieldErrors& errors) {
    validate_names(object, errors);
    check_bundle(object.spec.trust_bundle, errors);
}

void validate_update(const ClusterTrustBundle& object, const ClusterTrustBundle& old, FieldErrors& errors) {
    validate_names(object, errors);
    if (object.spec.trust_bundle != old.spec.trust_bundle) check_bundle(object.spec.trust_bundle, errors);
    check(object.spec.signer_name == old.spec.signer_name, object.spec.signer_name, FieldIsImmutable, "spec.signerName", errors);
}

}  // namespace

Strategy cluster_trust_bundle_strategy() {
    Strategy strategy = strategy_for<ClusterTrustBundle>({.validate = validate, .validate_update = validate_update});
    strategy.name_rule = names::NameRule::PathSegment;
    strategy.unconditional_update = false;
    strategy.selectable_fields = {{"spec.signerName"}};
    return strategy;
}

}  // namespace porthole::apiserver
