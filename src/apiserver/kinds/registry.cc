#include "apiserver/kinds/registry.h"

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

KindRules plain(std::string_view group, std::string_view kind, Generation generation, bool create_on_update = false,
                bool unconditional_update = true) {
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
        limit_range_rules(),
        namespace_rules(),
        node_rules(),
        persistent_volume_claim_rules(),
        persistent_volume_rules(),
        pod_rules(),
        pod_template_rules(),
        replication_controller_rules(),
        resource_quota_rules(),
        secret_rules(),
        service_account_rules(),
        service_rules(environment.services),
        // apps
        controller_revision_rules(),
        daemon_set_rules(),
        deployment_rules(),
        replica_set_rules(),
        stateful_set_rules(),
        // batch
        cron_job_rules(),
        job_rules(),
        // the others, by group
        mutating_webhook_configuration_rules(),
        validating_webhook_configuration_rules(),
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("apiextensions.k8s.io", "CustomResourceDefinition", Generation::OnSpecChange, false, false),
        with_name_rule(plain("apiregistration.k8s.io", "APIService", Generation::None, false, false), names::NameRule::PathSegment),
        autoscaler_rules(),
        certificate_signing_request_rules(),
        lease_rules(),
        endpoint_slice_rules(),
        plain("flowcontrol.apiserver.k8s.io", "FlowSchema", Generation::OnSpecChange),
        plain("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", Generation::OnSpecChange),
        ingress_class_rules(),
        ingress_rules(),
        ip_address_rules(),
        network_policy_rules(),
        service_cidr_rules(),
        runtime_class_rules(),
        pod_disruption_budget_rules(),
        cluster_role_binding_rules(),
        cluster_role_rules(),
        role_binding_rules(),
        role_rules(),
        priority_class_rules(),
        csi_driver_rules(),
        csi_node_rules(),
        csi_storage_capacity_rules(),
        storage_class_rules(),
        volume_attachment_rules(),
        volume_attributes_class_rules(),
    };
    return rules;
}

Conversions kind_conversions() {
    return {{"events.k8s.io/v1/Event", event_conversion()}, {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
}

}  // namespace porthole::apiserver
