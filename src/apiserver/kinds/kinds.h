#pragma once
#include "apiserver/kinds/registry.h"

/// The rules of each kind, each in the file of its name.
namespace porthole::apiserver {

// core/v1
KindRules config_map_rules();
KindRules endpoints_rules();
KindRules event_rules();
KindRules namespace_rules();
KindRules node_rules();
KindRules persistent_volume_claim_rules();
KindRules persistent_volume_rules();
KindRules pod_rules();
KindRules replication_controller_rules();
KindRules secret_rules();
KindRules service_account_rules();
KindRules service_rules(ServiceAllocator& allocator);
// apps/v1
KindRules daemon_set_rules();
KindRules deployment_rules();
KindRules replica_set_rules();
KindRules stateful_set_rules();
// the rest
KindRules certificate_signing_request_rules();
KindRules cluster_role_binding_rules();
KindRules cluster_role_rules();
KindRules cron_job_rules();
KindRules endpoint_slice_rules();
KindRules job_rules();
KindRules lease_rules();
KindRules network_policy_rules();
KindRules pod_disruption_budget_rules();
KindRules priority_class_rules();
KindRules role_binding_rules();
KindRules role_rules();

Conversion event_conversion();
Conversion autoscaler_conversion();

}  // namespace porthole::apiserver
