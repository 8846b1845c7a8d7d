#pragma once
#include <map>
#include <string>

#include "api/core_v1.h"
#include "base/values/quantity.h"
#include "objects/pod_resources.h"
#include "runtime/event_loop.h"
#include "schema/type.h"

/// How much of a ResourceQuota objects use: computed by admission before a write, and by the quota controller afterwards.
namespace porthole::objects {

using ResourceAmounts = ResourceList;

/// "count/deployments.apps", "count/pods": the number of objects of a kind.
std::string count_resource(const schema::Kind& kind);
/// The older name of the count ("configmaps"), which some kinds have in addition; "" for the others.
std::string old_count_resource(const schema::Kind& kind);
/// One object of the kind, by both names.
ResourceAmounts usage_of_kind(const schema::Kind& kind);

// One object each, under every name that a quota may carry, "count/…" included.
ResourceAmounts usage_of(const api::core::v1::Pod& pod, SystemTime now);
ResourceAmounts usage_of(const api::core::v1::Service& service);
ResourceAmounts usage_of(const api::core::v1::PersistentVolumeClaim& claim);

/// Whether the quota's scopes include the object. A quota without scopes includes every object.
bool covers(const api::core::v1::ResourceQuotaSpec& quota, const api::core::v1::Pod& pod);
bool covers(const api::core::v1::ResourceQuotaSpec& quota, const api::core::v1::PersistentVolumeClaim& claim);
bool has_scopes(const api::core::v1::ResourceQuotaSpec& quota);

/// What usage_of() and covers() read of the pod, which the pods of one template have in common.
api::core::v1::Pod quota_part(const api::core::v1::Pod& pod);

}  // namespace porthole::objects
