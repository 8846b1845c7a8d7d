#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/apiextensions_v1.h"
#include "base/time/time.h"

namespace porthole::apiserver {

using api::apiextensions::v1::CustomResourceDefinition;
using api::apiextensions::v1::CustomResourceDefinitionCondition;
using api::apiextensions::v1::CustomResourceDefinitionStatus;

inline constexpr std::string_view CleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/// The names in use by other definitions of a group: plural, singular and short names, and kinds.
struct TakenNames {
    std::set<std::string, std::less<>> resources, kinds;

    /// Adds the names that the definition has been assigned.
    void add(const CustomResourceDefinition& definition);
};

/// Whether the API may be in one of Kubernetes' own groups, by the annotation api-approved.kubernetes.io.
struct ApiApproval {
    enum class State { Missing, Invalid, Bypassed, Approved };
    State state;
    std::string message;  ///< upstream's message
};
/// nullopt for a definition in any other group.
std::optional<ApiApproval> api_approval(const CustomResourceDefinition& definition);
inline constexpr std::string_view ApprovalAnnotation = "api-approved.kubernetes.io";

bool is_established(const CustomResourceDefinition& definition);

/// The status that the definition should have: the names it may use, given those of the others, and the conditions NamesAccepted,
/// Established and KubernetesAPIApprovalPolicyConformant as upstream's controllers set them. An accepted name stays accepted, and an
/// established definition stays established. Schemas are not examined.
CustomResourceDefinitionStatus settled_status(const CustomResourceDefinition& definition, const TakenNames& taken, Timestamp now);

/// Whether no further instances may be created. Upstream checks the condition, and removes the finalizer in the write that sets it; here
/// the definition exists for a moment in between, or as long as another finalizer keeps it.
inline bool is_leaving(const CustomResourceDefinition& definition) { return definition.metadata.deletion_timestamp.has_value(); }

/// The condition Terminating.
void set_terminating(CustomResourceDefinitionStatus& status, bool terminating, std::string_view reason, std::string_view message,
                     Timestamp now);

}  // namespace porthole::apiserver
