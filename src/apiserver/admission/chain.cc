#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {

AdmissionChain make_admission_chain(const AdmissionDependencies& with) {
    AdmissionChain chain;
    chain.add(namespace_lifecycle(with.reader));
    chain.add(limit_ranger(with.reader));
    chain.add(service_account_admission(with.reader, with.random));
    chain.add(node_restriction(with.reader));
    chain.add(taint_nodes_by_condition());
    chain.add(pod_security_admission(with.reader));
    chain.add(priority_admission(with.reader));
    chain.add(default_toleration_seconds());
    chain.add(default_storage_class(with.reader));
    chain.add(storage_object_in_use_protection());
    chain.add(runtime_class_admission(with.reader));
    chain.add(certificate_requests(with.authorizer));
    chain.add(default_ingress_class(with.reader));
    chain.add(rbac_escalation(with.reader, with.rbac, with.authorizer));
    chain.add(windows_support(with.reader, with.systems));
    chain.add(resource_quota_admission(with.reader, with.clock));
    return chain;
}

}  // namespace porthole::apiserver
