#pragma once
#include "api/core_v1.h"
#include "api/meta_v1.h"
#include "apiserver/kinds/core/pod_spec.h"

/// Rules shared by the kinds that create pods from a template.
namespace porthole::apiserver {

/// For kinds with a template in their spec: at creation and whenever the spec changes.
template <class Workload>
void warn_of_template(const Workload& object, const Workload* old, std::vector<std::string>& warnings) {
    if (old && object.metadata.generation == old->metadata.generation) return;
    if constexpr (requires { object.spec.template_->spec; }) {
        if (object.spec.template_) warn_of_pod(object.spec.template_->metadata, object.spec.template_->spec, "spec.template", warnings);
    } else {
        warn_of_pod(object.spec.template_.metadata, object.spec.template_.spec, "spec.template", warnings);
    }
}

/// As above, and at creation of a name that is not a DNS label.
template <class Workload>
void warn_of_workload(const Workload& object, const Workload* old, std::vector<std::string>& warnings) {
    if (!old) warn_of_name(object.metadata.name, "Pod names and hostnames", warnings);
    warn_of_template(object, old, warnings);
}

/// "selector" and "template" below `path`; `word` is the kind in messages, "deployment".
void validate_selector_and_template(const schema::Box<api::meta::v1::LabelSelector>& selector, const PodTemplateSpec& pod_template,
                                    const FieldPath& path, std::string_view word, FieldErrors& errors);
/// Templates of pods that are replaced when they end: restartPolicy must be Always, and there is no deadline. `kind` as in "ReplicaSet".
void validate_lasting_template(const PodTemplateSpec& pod_template, const FieldPath& path, std::string_view kind, FieldErrors& errors);
void check_selector_unchanged(const schema::Box<api::meta::v1::LabelSelector>& now, const schema::Box<api::meta::v1::LabelSelector>& before,
                              FieldErrors& errors);
/// A count or a percentage; not negative.
void check_amount(const IntOrString& amount, const FieldPath& path, FieldErrors& errors);
/// The number, or the percentage; 0 if it is neither.
std::int32_t number_in(const IntOrString& amount);
void check_at_most_whole(const IntOrString& amount, const FieldPath& path, FieldErrors& errors);
/// As shown in messages: 3 or "25%".
schema::Value value_of(const IntOrString& amount);
void check_collision_count(const std::optional<std::int32_t>& now, const std::optional<std::int32_t>& before, FieldErrors& errors);
/// No count of a status may exceed its replicas.
void check_within_replicas(std::int32_t count, std::int32_t replicas, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
