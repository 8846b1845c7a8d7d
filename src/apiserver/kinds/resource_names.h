#pragma once
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"
#include "base/values/quantity.h"

/// Properties that follow from a resource's name: "cpu", "hugepages-2Mi", "example.com/gpu".
namespace porthole::apiserver {

/// Kubernetes' own: without a domain, or in one of its domains.
bool is_native_resource(std::string_view name);
/// In another domain than Kubernetes': counted, never overcommitted.
bool is_extended_resource(std::string_view name);
/// Counted in whole numbers: "pods", "count/jobs.batch", extended ones.
bool is_counted_resource(std::string_view name);
/// Whether a node may promise more of it than it has.
bool may_be_overcommitted(std::string_view name);

/// The name in a quota.
void check_quota_resource_name(const std::string& name, const FieldPath& path, FieldErrors& errors);
/// The name in a limit range.
void check_limit_resource_name(const std::string& type, const std::string& name, const FieldPath& path, FieldErrors& errors);
/// Not negative, and whole where the resource is counted.
void check_resource_amount(const std::string& name, const Quantity& amount, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
