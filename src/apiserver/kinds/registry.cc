#include "apiserver/kinds/registry.h"

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

KindRules plain(std::string_view group, std::string_view kind, Generation generation, bool create_on_update = false, bool unconditional_update = true) {
    KindRules rules{.group = group, .kind = kind};
    rules.generation = generation;
    rules.create_on_update = create_on_update;
    rules.unconditional_update = unconditional_update;
    return rules;
}

KindRules with_name_rule(KindRules rules, names::NameRule rule) {
    rules.name_rule = rule;
    return rules;
}

}  // namespace

std::vector<KindRules> kind_rules(const KindEnvironment& environment) {
    std::vector<KindRules> rules{
        // core
        config_map_rules(),
        endpoints_rules(),
        event_rules(),
        plain("", "LimitRange", Generation::None, true),
        namespace_rules(),
        node_rules(),
        persistent_volume_claim_rules(),
        persistent_volume_rules(),
        pod_rules(),
        replication_controller_rules(),
        secret_rules(),
        service_account_rules(),
        service_rules(environment.services),
        // apps
        daemon_set_rules(),
        deployment_rules(),
        replica_set_rules(),
        stateful_set_rules(),
        // batch
        cron_job_rules(),
        job_rules(),
        // the others, by group
        plain("admissionregistration.k8s.io", "MutatingWebhookConfiguration", Generation::OnChangeOutsideMetadata, false, false),
        plain("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", Generation::OnChangeOutsideMetadata, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("apiextensions.k8s.io", "CustomResourceDefinition", Generation::OnSpecChange, false, false),
        with_name_rule(plain("apiregistration.k8s.io", "APIService", Generation::None, false, false), names::NameRule::PathSegment),
        certificate_signing_request_rules(),
        lease_rules(),
        endpoint_slice_rules(),
        plain("flowcontrol.apiserver.k8s.io", "FlowSchema", Generation::OnSpecChange),
        plain("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", Generation::OnSpecChange),
        plain("networking.k8s.io", "Ingress", Generation::OnSpecChange),
        plain("networking.k8s.io", "IngressClass", Generation::OnSpecChange),
        with_name_rule(plain("networking.k8s.io", "IPAddress", Generation::OnSpecChange), names::NameRule::PathSegment),
        plain("networking.k8s.io", "ServiceCIDR", Generation::OnSpecChange),
        network_policy_rules(),
        plain("node.k8s.io", "RuntimeClass", Generation::None, true, false),
        pod_disruption_budget_rules(),
        cluster_role_binding_rules(),
        cluster_role_rules(),
        role_binding_rules(),
        role_rules(),
        priority_class_rules(),
        plain("storage.k8s.io", "CSIDriver", Generation::OnSpecChange, false, false),
        plain("storage.k8s.io", "CSINode", Generation::None, false, false),
        plain("storage.k8s.io", "CSIStorageCapacity", Generation::None, false, false),
        plain("storage.k8s.io", "VolumeAttachment", Generation::None, false, false),
    };
    return rules;
}

Conversions kind_conversions() {
    return {{"events.k8s.io/v1/Event", event_conversion()}, {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
}

}  // namespace porthole::apiserver
