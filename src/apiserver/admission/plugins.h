#pragma once
#include <functional>
#include <memory>

#include "apiserver/admission/admission.h"
#include "apiserver/authorization/rbac.h"
#include "apiserver/cache/object_reader.h"
#include "runtime/event_loop.h"
#include "runtime/random.h"
#include "windows/support.h"

/// The steps of admission, in the order of chain.cc; each in the file of its name.
namespace porthole::apiserver {

using AdmissionPluginPtr = std::unique_ptr<AdmissionPlugin>;
/// Which systems the cluster's nodes run.
using SystemsOfNodes = std::function<windows::Systems()>;

/// Nothing is made in a namespace that is missing or going; the system's own cannot be deleted.
AdmissionPluginPtr namespace_lifecycle(const ObjectReader& reader);
/// Container defaults, minima, maxima and ratios of the namespace's LimitRanges.
AdmissionPluginPtr limit_ranger(const ObjectReader& reader);
/// The pod's service account: its name, its token volume, its pull secrets.
AdmissionPluginPtr service_account_admission(const ObjectReader& reader, Random& random);
/// A kubelet changes only what is its own.
AdmissionPluginPtr node_restriction(const ObjectReader& reader);
/// A new node is tainted until it is known to be ready.
AdmissionPluginPtr taint_nodes_by_condition();
/// Pods keep to the Pod Security Standard of their namespace's labels; workloads whose pods would not are warned of.
AdmissionPluginPtr pod_security_admission(const ObjectReader& reader);
/// The number behind a pod's priority class.
AdmissionPluginPtr priority_admission(const ObjectReader& reader);
/// Pods outlive the loss of their node by five minutes.
AdmissionPluginPtr default_toleration_seconds();
/// Claims without a class get the default one.
AdmissionPluginPtr default_storage_class(const ObjectReader& reader);
/// Volumes and claims stay while they are in use.
AdmissionPluginPtr storage_object_in_use_protection();
/// Ingresses without a class get the default one.
AdmissionPluginPtr default_ingress_class(const ObjectReader& reader);
/// Overhead, node selector and tolerations of a pod's runtime class.
AdmissionPluginPtr runtime_class_admission(const ObjectReader& reader);
/// Who approves or signs a certificate request has the right over its signer, and nobody asks for the administrators' group.
AdmissionPluginPtr certificate_requests(Authorizer& authorizer);
/// Nobody grants by a role or a binding what they may not do themselves.
AdmissionPluginPtr rbac_escalation(const ObjectReader& reader, const RbacAuthorizer& rbac, Authorizer& authorizer);
/// Warns of what Windows does not do as a manifest says, see src/windows.
AdmissionPluginPtr windows_support(const ObjectReader& reader, SystemsOfNodes systems);
/// What would take a namespace over one of its ResourceQuotas is refused.
AdmissionPluginPtr resource_quota_admission(const ObjectReader& reader, const Clock& clock);

/// All of the above in Kubernetes' order. The references outlive the chain.
struct AdmissionDependencies {
    const ObjectReader& reader;
    const RbacAuthorizer& rbac;
    Authorizer& authorizer;
    Random& random;
    const Clock& clock;
    SystemsOfNodes systems;
};
AdmissionChain make_admission_chain(const AdmissionDependencies& dependencies);

}  // namespace porthole::apiserver
