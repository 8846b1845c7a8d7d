#pragma once
#include <map>
#include <string>

#include "api/core_v1.h"
#include "base/values/quantity.h"
#include "objects/pod_resources.h"
#include "runtime/event_loop.h"
#include "schema/type.h"

/// What objects use up of a ResourceQuota: counted by admission before a write, and by the quota controller afterwards.
namespace porthole::objects {

using ResourceAmounts = ResourceList;

/// "count/deployments.apps", "count/pods": the number of objects of a kind.
std::string count_resource(const schema::Kind& kind);
/// The older name for it ("configmaps"), which some kinds have in addition; "" for the others.
std::string old_count_resource(const schema::Kind& kind);
/// One object of the kind, by both names.
ResourceAmounts usage_of_kind(const schema::Kind& kind);

// One object each, under every name that a quota may carry, "count/…" included.
ResourceAmounts usage_of(const api::core::v1::Pod& pod, SystemTime now);
ResourceAmounts usage_of(const api::core::v1::Service& service);
ResourceAmounts usage_of(const api::core::v1::PersistentVolumeClaim& claim);

/// Whether the quota's scopes let it count the object. A quota without scopes counts every object, and no other kinds have scopes.
bool covers(const api::core::v1::ResourceQuotaSpec& quota, const api::core::v1::Pod& pod);
bool covers(const api::core::v1::ResourceQuotaSpec& quota, const api::core::v1::PersistentVolumeClaim& claim);
bool has_scopes(const api::core::v1::ResourceQuotaSpec& quota);

}  // namespace porthole::objects
