#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {

AdmissionChain make_admission_chain(const AdmissionDependencies& dependencies) {
    AdmissionChain chain;
    chain.add(namespace_lifecycle(dependencies.reader));
    chain.add(limit_ranger(dependencies.reader));
    chain.add(service_account_admission(dependencies.reader, dependencies.random));
    chain.add(node_restriction(dependencies.reader));
    chain.add(taint_nodes_by_condition());
    chain.add(pod_security_admission(dependencies.reader));
    chain.add(priority_admission(dependencies.reader));
    chain.add(default_toleration_seconds());
    chain.add(default_storage_class(dependencies.reader));
    chain.add(storage_object_in_use_protection());
    chain.add(runtime_class_admission(dependencies.reader));
    chain.add(certificate_requests(dependencies.authorizer));
    chain.add(default_ingress_class(dependencies.reader));
    chain.add(rbac_escalation(dependencies.rbac, dependencies.authorizer));
    chain.add(windows_support(dependencies.reader, dependencies.systems));
    chain.add(resource_quota_admission(dependencies.reader, dependencies.clock));
    return chain;
}

}  // namespace porthole::apiserver
