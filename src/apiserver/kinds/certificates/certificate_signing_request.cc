#include <algorithm>
#include <set>

#include "api/certificates_v1.h"
#include "apiserver/kinds/certificates/signer_name.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "net/tls/x509.h"
#include "objects/conditions.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::certificates::v1;
using Conditions = std::vector<CertificateSigningRequestCondition>;

constexpr std::int32_t ShortestSeconds = 600;
constexpr const char* LegacySigner = "kubernetes.io/legacy-unknown";
constexpr Choices Decisions = {"Approved", "Denied", "Failed"};

constexpr Choices Usages = {
    "any",           "cert sign",         "client auth",      "code signing",  "content commitment", "crl sign",     "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system",   "ipsec tunnel", "ipsec user",
    "key agreement", "key encipherment",  "microsoft sgc",    "netscape sgc",  "ocsp signing",       "s/mime",       "server auth",
    "signing",       "timestamping"};

/// Who asks is known from the request, whatever the object says.
void prepare_for_create(CertificateSigningRequest& object, const WriteContext& context) {
    object.spec.username = context.user.name;
    object.spec.uid = context.user.uid;
    object.spec.groups = context.user.groups;
    object.spec.extra = context.user.extra;
    object.status = {};
}

void prepare_for_update(CertificateSigningRequest& object, const CertificateSigningRequest& old, const WriteContext&) {
    object.spec = old.spec;
    object.status = old.status;
}

bool is_verdict(const CertificateSigningRequestCondition& condition) { return condition.type == "Approved" || condition.type == "Denied"; }

/// Through /approval come the conditions alone; through /status everything but the verdict.
void keep_what_is_not_written(CertificateSigningRequest& object, const CertificateSigningRequest& old, std::string_view subresource) {
    Conditions& conditions = object.status.conditions;
    if (subresource == "approval") {
        auto status = old.status;
        status.conditions = std::move(conditions);
        object.status = std::move(status);
        return;
    }
    // In the places that the request gives them; what it adds is dropped, and what it lacks is added.
    Conditions verdicts;
    std::ranges::copy_if(old.status.conditions, std::back_inserter(verdicts), is_verdict);
    for (auto& condition : conditions) {
        const auto stored = std::ranges::find(verdicts, condition.type, &CertificateSigningRequestCondition::type);
        if (stored == verdicts.end()) continue;
        condition = *stored;
        verdicts.erase(stored);
    }
    std::erase_if(conditions, [&](const auto& condition) {
        return is_verdict(condition) && !objects::find_condition(old.status.conditions, condition.type);
    });
    conditions.insert(conditions.end(), verdicts.begin(), verdicts.end());
}

/// New conditions, and changed ones, are dated now.
void prepare_for_status_update(CertificateSigningRequest& object, const CertificateSigningRequest& old, const WriteContext& context) {
    keep_what_is_not_written(object, old, context.subresource);
    for (auto& condition : object.status.conditions) {
        if (condition.last_update_time.is_zero()) condition.last_update_time = context.now;
        const auto* before = objects::find_condition(old.status.conditions, condition.type);
        if (before && before->status == condition.status) condition.last_transition_time = before->last_transition_time;
        if (condition.last_transition_time.is_zero()) condition.last_transition_time = context.now;
    }
}

void check_usages(const std::vector<std::string>& usages, const FieldPath& path, FieldErrors& errors) {
    if (usages.empty()) errors.required(path, "usages must be provided");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < usages.size(); ++i) {
        check_choice(usages[i], Usages, path.index(i), errors);
        if (!seen.insert(usages[i]).second) errors.duplicate(path.index(i), usages[i]);
    }
}

void validate_conditions(const Conditions& conditions, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        const auto& condition = conditions[i];
        const FieldPath path = FieldPath("status.conditions").index(i);
        const bool decision = std::ranges::find(Decisions, condition.type) != Decisions.end();
        check_required(condition.type, path / "type", errors);
        if (condition.status.empty())
            errors.required(path / "status");
        else if (decision)
            check_choice(condition.status, {"True"}, path / "status", errors);
        else
            check_choice(condition.status, {"True", "False", "Unknown"}, path / "status", errors);
        if (!seen.insert(condition.type).second) errors.duplicate(path / "type", condition.type);
        const bool both =
            (condition.type == "Approved" && seen.contains("Denied")) || (condition.type == "Denied" && seen.contains("Approved"));
        if (both) errors.invalid(path / "type", condition.type, "Approved and Denied conditions are mutually exclusive");
    }
}

void validate(const CertificateSigningRequest& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    if (object.spec.request.empty()) {
        errors.required(path / "request");
    } else if (const auto request = net::parse_certificate_request(object.spec.request); !request) {
        // Long and opaque: shown as base64 by Kubernetes, left out here.
        errors.invalid(path / "request", "<request>", request.error().message);
    }
    check_usages(object.spec.usages, path / "usages", errors);
    check_signer_name(object.spec.signer_name, path / "signerName", errors);
    if (object.spec.signer_name == LegacySigner)
        errors.invalid(path / "signerName", LegacySigner, "the legacy signerName is not allowed via this API version");
    if (const auto& seconds = object.spec.expiration_seconds)
        check(*seconds >= ShortestSeconds, *seconds, "may not specify a duration less than 600 seconds (10 minutes)",
              path / "expirationSeconds", errors);
    validate_conditions(object.status.conditions, errors);
}

void check_certificate(const std::string& now, const std::string& before, FieldErrors& errors) {
    const FieldPath path = "status.certificate";
    if (!before.empty() && now != before) errors.forbidden(path, "updates may not modify existing certificate content");
    if (now.empty() || now == before) return;
    if (const auto parsed = net::parse_certificate(now); !parsed) errors.invalid(path, "<certificate data>", parsed.error().message);
}

/// Both /status and /approval come here: a decision once made stays.
void validate_status_update(const CertificateSigningRequest& object, const CertificateSigningRequest& old, FieldErrors& errors) {
    validate_conditions(object.status.conditions, errors);
    for (const std::string_view type : Decisions) {
        if (objects::find_condition(old.status.conditions, type) && !objects::find_condition(object.status.conditions, type))
            errors.forbidden("status.conditions", "updates may not remove a condition of type \"" + std::string(type) + "\"");
    }
    check_certificate(object.status.certificate, old.status.certificate, errors);
}

void validate_update(const CertificateSigningRequest&, const CertificateSigningRequest&, FieldErrors&) {}

}  // namespace

Strategy certificate_signing_request_strategy() {
    Strategy strategy = strategy_for<CertificateSigningRequest>({.prepare_for_create = prepare_for_create,
                                                                 .prepare_for_update = prepare_for_update,
                                                                 .prepare_for_status_update = prepare_for_status_update,
                                                                 .validate = validate,
                                                                 .validate_update = validate_update,
                                                                 .validate_status_update = validate_status_update});
    strategy.name_rule = names::NameRule::PathSegment;
    strategy.selectable_fields = {{"spec.signerName"}};
    return strategy;
}

}  // namespace porthole::apiserver
