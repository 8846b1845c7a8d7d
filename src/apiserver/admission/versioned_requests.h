#pragma once
#include <map>
#include <optional>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/kind_versions.h"
#include "apiserver/expressions/admission_expressions.h"

namespace porthole::apiserver {

/// A request in one version of its resource, as webhooks and expressions see it.
struct VersionedRequest {
    const schema::Kind* kind = nullptr;
    std::optional<ApiObject> object, old_object;
    schema::Value request;  ///< the variable `request`

    /// Points into this; the caller adds the other variables of expressions.
    AdmissionInput input(const AdmissionAttributes& attributes) const;
};

/// One request in all versions that webhooks or expressions select. Used by one run of a plugin.
class VersionedRequests {
public:
    /// Both outlive it. If `versions` is null, the objects are not converted.
    VersionedRequests(const AdmissionAttributes& attributes, const KindVersions* versions) : attributes_(attributes), versions_(versions) {}

    /// Created on first use, and kept until forget(). The body of a subresource with its own kind is not converted. Errors: those of
    /// KindVersions::convert().
    Task<const VersionedRequest*> as(const schema::Kind& kind);
    /// The object was changed.
    void forget() { made_.clear(); }

private:
    Task<std::optional<ApiObject>> converted(const ApiObject* object, const schema::Kind& kind) const;

    const AdmissionAttributes& attributes_;
    const KindVersions* versions_;
    std::map<const schema::Kind*, VersionedRequest> made_;
};

}  // namespace porthole::apiserver
