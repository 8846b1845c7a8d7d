#include "api/batch_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/workload.h"
#include "apiserver/request/label_selector.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::batch::v1::Job;
using api::batch::v1::JobSpec;

constexpr const char* ControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::int32_t IndexedLimit = 100000;
const FieldPath Spec = "spec";

void set_defaults(Job& object) {
    JobSpec& spec = object.spec;
    if (!spec.completions && !spec.parallelism) spec.completions = 1;
    if (!spec.parallelism) spec.parallelism = 1;
    if (!spec.backoff_limit) spec.backoff_limit = spec.backoff_limit_per_index ? INT32_MAX : 6;
    if (!spec.completion_mode) spec.completion_mode = "NonIndexed";
    if (!spec.suspend) spec.suspend = false;
    if (!spec.manual_selector) spec.manual_selector = false;
    if (!spec.pod_replacement_policy) spec.pod_replacement_policy = spec.pod_failure_policy ? "Failed" : "TerminatingOrFailed";
    if (object.metadata.labels.empty()) object.metadata.labels = spec.template_.metadata.labels;
    default_pod_spec(spec.template_.spec);
}

/// A job without a selector of its own selects its pods by its uid.
void prepare_for_create(Job& object, const WriteContext&) {
    if (object.spec.manual_selector.value_or(false)) return;
    auto& labels = object.spec.template_.metadata.labels;
    labels.emplace(ControllerUid, object.metadata.uid);
    labels.emplace("controller-uid", object.metadata.uid);
    if (!object.metadata.name.empty()) {
        labels.emplace("batch.kubernetes.io/job-name", object.metadata.name);
        labels.emplace("job-name", object.metadata.name);
    }
    if (!object.spec.selector) object.spec.selector.emplace();
    object.spec.selector->match_labels[ControllerUid] = object.metadata.uid;
}

void validate_counts(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const auto check = [&](const auto& value, const char* member) {
        if (value) check_not_negative(*value, path / member, errors);
    };
    check(spec.parallelism, "parallelism");
    check(spec.completions, "completions");
    check(spec.active_deadline_seconds, "activeDeadlineSeconds");
    check(spec.backoff_limit, "backoffLimit");
    check(spec.ttl_seconds_after_finished, "ttlSecondsAfterFinished");
    check(spec.backoff_limit_per_index, "backoffLimitPerIndex");
    check(spec.max_failed_indexes, "maxFailedIndexes");
}

void validate_mode(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const std::string mode = spec.completion_mode.value_or("NonIndexed");
    if (!is_one_of(mode, {"NonIndexed", "Indexed"})) return errors.not_supported(path / "completionMode", mode, {"Indexed", "NonIndexed"});
    if (mode == "NonIndexed") {
        if (spec.backoff_limit_per_index) errors.invalid(path / "backoffLimitPerIndex", *spec.backoff_limit_per_index, "requires indexed completion mode");
        if (spec.max_failed_indexes) errors.invalid(path / "maxFailedIndexes", *spec.max_failed_indexes, "requires indexed completion mode");
        return;
    }
    if (!spec.completions) errors.required(path / "completions", "when completion mode is Indexed");
    if (spec.parallelism.value_or(0) > IndexedLimit)
        errors.invalid(path / "parallelism", *spec.parallelism, "must be less than or equal to 100000 when completion mode is Indexed");
    if (spec.max_failed_indexes && spec.completions && *spec.max_failed_indexes > *spec.completions)
        errors.invalid(path / "maxFailedIndexes", *spec.max_failed_indexes, "must be less than or equal to completions");
    if (spec.max_failed_indexes && !spec.backoff_limit_per_index) errors.required(path / "backoffLimitPerIndex", "when maxFailedIndexes is specified");
}

}  // namespace

void validate_job_spec(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    validate_counts(spec, path, errors);
    validate_mode(spec, path, errors);
    validate_pod_template(spec.template_, path / "template", errors);
    const std::string& restart = spec.template_.spec.restart_policy;
    const FieldPath restart_path = path / "template" / "spec" / "restartPolicy";
    if (restart.empty() || restart == "Always") errors.required(restart_path, "valid values: \"OnFailure\", \"Never\"");
    else if (!is_one_of(restart, {"OnFailure", "Never"})) errors.not_supported(restart_path, restart, {"OnFailure", "Never"});
    else if (spec.pod_failure_policy && restart != "Never")
        errors.invalid(restart_path, restart, "only \"Never\" is supported when podFailurePolicy is specified");
    if (spec.pod_replacement_policy) {
        if (!is_one_of(*spec.pod_replacement_policy, {"Failed", "TerminatingOrFailed"}))
            errors.not_supported(path / "podReplacementPolicy", *spec.pod_replacement_policy, {"Failed", "TerminatingOrFailed"});
        else if (spec.pod_failure_policy && *spec.pod_replacement_policy != "Failed")
            errors.not_supported(path / "podReplacementPolicy", *spec.pod_replacement_policy, {"Failed"});
    }
}

namespace {

void validate(const Job& object, FieldErrors& errors) {
    const JobSpec& spec = object.spec;
    validate_job_spec(spec, Spec, errors);
    if (!spec.selector) {
        errors.required(Spec / "selector");
    } else if (!LabelSelector::from(*spec.selector).matches(spec.template_.metadata.labels)) {
        errors.invalid(Spec / "template" / "metadata" / "labels", schema::at(schema::to_value(spec.template_.metadata), "labels"),
                       "`selector` does not match template `labels`");
    }
}

void validate_update(const Job& object, const Job& old, FieldErrors& errors) {
    const JobSpec &now = object.spec, &before = old.spec;
    validate(object, errors);
    const schema::Value after = schema::to_value(now), was = schema::to_value(before);
    const auto immutable = [&](std::string_view member) {
        if (!(schema::at(after, member) == schema::at(was, member))) errors.invalid(Spec / member, schema::at(after, member), "field is immutable");
    };
    const bool elastic = now.completion_mode == "Indexed" && now.completions && before.completions;
    if (!elastic) immutable("completions");
    else if (now.completions != before.completions && now.completions != now.parallelism)
        errors.invalid(Spec / "completions", *now.completions, "can only be modified in tandem with spec.parallelism");
    for (const std::string_view member : {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "successPolicy", "managedBy"}) immutable(member);

    PodTemplateSpec allowed = now.template_;
    const bool not_started = before.suspend.value_or(false) && !old.status.start_time;
    if (not_started) {
        allowed.metadata.labels = before.template_.metadata.labels;
        allowed.metadata.annotations = before.template_.metadata.annotations;
        allowed.spec.node_selector = before.template_.spec.node_selector;
        allowed.spec.tolerations = before.template_.spec.tolerations;
        allowed.spec.scheduling_gates = before.template_.spec.scheduling_gates;
        allowed.spec.affinity = before.template_.spec.affinity;
    }
    if (!(allowed == before.template_)) errors.invalid(Spec / "template", schema::at(after, "template"), "field is immutable");
}

void prepare_for_update(Job& object, const Job& old, const WriteContext&) {
    // A client that sends its manifest again leaves out what was generated.
    if (object.spec.manual_selector.value_or(false)) return;
    if (!object.spec.selector) object.spec.selector = old.spec.selector;
    for (const char* key : {ControllerUid, "controller-uid", "batch.kubernetes.io/job-name", "job-name"}) {
        const auto before = old.spec.template_.metadata.labels.find(key);
        if (before != old.spec.template_.metadata.labels.end()) object.spec.template_.metadata.labels.emplace(key, before->second);
    }
}

}  // namespace

KindRules job_rules() {
    KindRules rules = rules_for<Job>({.set_defaults = set_defaults,
                                      .prepare_for_create = prepare_for_create,
                                      .prepare_for_update = prepare_for_update,
                                      .validate = validate,
                                      .validate_update = validate_update});
    rules.generation = Generation::OnSpecChange;
    rules.orphans_by_default = true;
    rules.selectable_fields = {{"status.successful", "0", "status.succeeded"}};
    return rules;
}

}  // namespace porthole::apiserver
