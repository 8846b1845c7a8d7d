#include "apiserver/audit/audit_policy.h"

namespace porthole::apiserver {
namespace {

/// Every write, every way into a pod, every read of secrets; one event a request, when it is answered. Reads of secrets by kubelets are
/// left out: the node authorizer lets them read only what their pods refer to, and refusals are recorded anyway. The reviews by which
/// kubelets authenticate and authorize their own callers change nothing, and are left out, too.
constexpr std::string_view BuiltIn = R"(
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events]}
  - {group: events.k8s.io, resources: [events]}
- level: None
  userGroups: ["system:nodes"]
  verbs: [get, list, watch]
- level: None
  userGroups: ["system:nodes"]
  resources:
  - {group: authentication.k8s.io, resources: [tokenreviews]}
  - {group: authorization.k8s.io, resources: [subjectaccessreviews]}
- level: Metadata
  resources:
  - {group: "", resources: [secrets, serviceaccounts/token, pods/exec, pods/attach, pods/portforward, "*/proxy"]}
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
)";

}  // namespace

AuditPolicy AuditPolicy::built_in() {
    std::vector<std::string> warnings;
    auto policy = parse(BuiltIn, warnings);
    CHECK(policy.has_value() && warnings.empty());
    policy->refusals_ = AuditLevel::Metadata;
    Rule reads;
    reads.only_components = true;
    reads.verbs = {"get", "list", "watch"};
    policy->rules_.insert(policy->rules_.begin(), std::move(reads));
    return *std::move(policy);
}

}  // namespace porthole::apiserver
