#pragma once
#include "api/core_v1.h"
#include "api/meta_v1.h"
#include "apiserver/kinds/pod_spec.h"

/// What the kinds that make pods from a template share.
namespace porthole::apiserver {

/// "selector" and "template" below `path`; `word` names the kind in messages, "deployment".
void validate_selector_and_template(const schema::Box<api::meta::v1::LabelSelector>& selector, const PodTemplateSpec& pod_template,
                                    const FieldPath& path, std::string_view word, FieldErrors& errors);
/// Pods that are replaced when they end: they restart always and have no deadline. `kind` as in "ReplicaSet".
void validate_lasting_template(const PodTemplateSpec& pod_template, const FieldPath& path, std::string_view kind, FieldErrors& errors);
void check_selector_unchanged(const schema::Box<api::meta::v1::LabelSelector>& now, const schema::Box<api::meta::v1::LabelSelector>& before,
                              FieldErrors& errors);
/// A count or a percentage; not negative.
void check_amount(const IntOrString& amount, const FieldPath& path, FieldErrors& errors);
/// The number itself, or the per cent; 0 for what is neither.
std::int32_t number_in(const IntOrString& amount);
void check_at_most_whole(const IntOrString& amount, const FieldPath& path, FieldErrors& errors);
/// As it is shown in messages: 3 or "25%".
schema::Value value_of(const IntOrString& amount);
void check_collision_count(const std::optional<std::int32_t>& now, const std::optional<std::int32_t>& before, FieldErrors& errors);
/// No count of a status may exceed its replicas.
void check_within_replicas(std::int32_t count, std::int32_t replicas, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
