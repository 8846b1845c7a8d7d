#pragma once
#include "apiserver/kinds/registry.h"

/// The rules of each kind, each in the file of its name (or of its family: rbac.cc, csi.cc, volumes.cc, ...).
namespace porthole::apiserver {

// core/v1
KindRules config_map_rules();
KindRules endpoints_rules();
KindRules event_rules();
KindRules limit_range_rules();
KindRules namespace_rules();
KindRules node_rules();
KindRules persistent_volume_claim_rules();
KindRules persistent_volume_rules();
KindRules pod_rules();
KindRules pod_template_rules();
KindRules replication_controller_rules();
KindRules resource_quota_rules();
KindRules secret_rules();
KindRules service_account_rules();
KindRules service_rules(ServiceAllocator& allocator);
// admissionregistration.k8s.io/v1
KindRules mutating_webhook_configuration_rules();
KindRules validating_webhook_configuration_rules();
// apps/v1
KindRules controller_revision_rules();
KindRules daemon_set_rules();
KindRules deployment_rules();
KindRules replica_set_rules();
KindRules stateful_set_rules();
// autoscaling/v2
KindRules autoscaler_rules();
// batch/v1
KindRules cron_job_rules();
KindRules job_rules();
// networking.k8s.io/v1
KindRules ingress_class_rules();
KindRules ingress_rules();
KindRules ip_address_rules();
KindRules network_policy_rules();
KindRules service_cidr_rules();
// rbac.authorization.k8s.io/v1
KindRules cluster_role_binding_rules();
KindRules cluster_role_rules();
KindRules role_binding_rules();
KindRules role_rules();
// storage.k8s.io/v1
KindRules csi_driver_rules();
KindRules csi_node_rules();
KindRules csi_storage_capacity_rules();
KindRules storage_class_rules();
KindRules volume_attachment_rules();
KindRules volume_attributes_class_rules();
// the rest
KindRules certificate_signing_request_rules();
KindRules endpoint_slice_rules();
KindRules lease_rules();
KindRules pod_disruption_budget_rules();
KindRules priority_class_rules();
KindRules runtime_class_rules();

Conversion event_conversion();
Conversion autoscaler_conversion();

}  // namespace porthole::apiserver
