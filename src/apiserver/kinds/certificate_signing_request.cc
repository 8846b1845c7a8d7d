#include "api/certificates_v1.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::certificates::v1::CertificateSigningRequest;

/// Who asks is known from the request, whatever the object says.
void prepare_for_create(CertificateSigningRequest& object, const WriteContext& context) {
    object.spec.username = context.user.name;
    object.spec.uid = context.user.uid;
    object.spec.groups = context.user.groups;
    object.spec.extra = context.user.extra;
    object.status = {};
}

void prepare_for_update(CertificateSigningRequest& object, const CertificateSigningRequest& old, const WriteContext&) { object.spec = old.spec; }

void validate(const CertificateSigningRequest& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    if (object.spec.request.empty()) errors.required(path / "request");
    else if (!object.spec.request.contains("-----BEGIN CERTIFICATE REQUEST-----"))
        errors.invalid(path / "request", "<request>", "PEM block type must be CERTIFICATE REQUEST");
    if (object.spec.signer_name.empty()) {
        errors.required(path / "signerName");
    } else if (const std::size_t slash = object.spec.signer_name.find('/');
               slash == std::string::npos || !object.spec.signer_name.substr(0, slash).contains('.')) {
        errors.invalid(path / "signerName", object.spec.signer_name,
                       "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    }
    if (object.spec.usages.empty()) errors.required(path / "usages", "usages must be specified");
    if (object.spec.expiration_seconds && *object.spec.expiration_seconds < 600)
        errors.invalid(path / "expirationSeconds", *object.spec.expiration_seconds, "may not specify a duration less than 600 seconds (10 minutes)");
}

void validate_update(const CertificateSigningRequest&, const CertificateSigningRequest&, FieldErrors&) {}

}  // namespace

KindRules certificate_signing_request_rules() {
    KindRules rules = rules_for<CertificateSigningRequest>({.prepare_for_create = prepare_for_create,
                                                            .prepare_for_update = prepare_for_update,
                                                            .validate = validate,
                                                            .validate_update = validate_update});
    rules.name_rule = names::NameRule::PathSegment;
    rules.selectable_fields = {{"spec.signerName"}};
    return rules;
}

}  // namespace porthole::apiserver
