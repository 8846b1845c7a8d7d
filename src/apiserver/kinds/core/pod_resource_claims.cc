#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/validation/names.h"
#include "base/strings.h"
#include "schema/convert.h"

/// The ResourceClaims that pods and their containers name.
namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

void check_claim_name(const std::optional<std::string>& name, const FieldPath& path, FieldErrors& errors) {
    if (name) invalid_all(errors, path, *name, names::check_dns1123_subdomain(*name));
}

}  // namespace

void validate_pod_resource_claims(const std::vector<PodResourceClaim>& claims, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const PodResourceClaim& claim = claims[i];
        const FieldPath at = path.index(i);
        if (claim.name.empty())
            errors.required(at / "name");
        else if (!seen.insert(claim.name).second)
            errors.duplicate(at / "name", claim.name);
        else
            invalid_all(errors, at / "name", claim.name, names::check_dns1123_label(claim.name));
        if (claim.resource_claim_name && claim.resource_claim_template_name)
            errors.invalid(at, schema::to_value(claim),
                           "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
        if (!claim.resource_claim_name && !claim.resource_claim_template_name)
            errors.invalid(at, schema::to_value(claim), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
        check_claim_name(claim.resource_claim_name, at / "resourceClaimName", errors);
        check_claim_name(claim.resource_claim_template_name, at / "resourceClaimTemplateName", errors);
    }
}

PodClaimNames::PodClaimNames(const PodSpec& spec) : help("must be one of the names in pod.spec.resourceClaims") {
    for (const PodResourceClaim& claim : spec.resource_claims)
        if (!claim.name.empty()) names.insert(claim.name);
    help += names.empty() ? " which is empty" : ": " + join(names, ", ");
}

void validate_container_claims(const std::vector<ResourceClaim>& claims, const PodClaimNames& known, const FieldPath& path,
                               FieldErrors& errors) {
    // What was named before: claims as a whole, one request of them, and claims of which there is a request.
    std::set<std::string> whole, requests, in_part;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const auto& [name, request] = claims[i];
        const FieldPath at = path.index(i);
        if (name.empty()) {
            errors.required(at);
            continue;
        }
        if (whole.contains(name)) {
            errors.duplicate(at, name);
        } else if (request.empty()) {
            if (in_part.contains(name)) errors.duplicate(at, name);
            whole.insert(name);
        } else {
            const std::string key = name + "/" + request;
            invalid_all(errors, at / "request", request, names::check_dns1123_label(request));
            if (!requests.insert(key).second) errors.duplicate(at, key);
            in_part.insert(name);
        }
        if (!known.names.contains(name)) errors.not_found(at, name, known.help);
    }
}

}  // namespace porthole::apiserver
