#include "apiserver/kinds/batch/job.h"

#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation/label_selector.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::batch::v1::Job;
using api::batch::v1::JobSpec;
using api::batch::v1::JobStatus;

constexpr const char* ControllerUid = "batch.kubernetes.io/controller-uid";
constexpr const char* JobName = "batch.kubernetes.io/job-name";
constexpr const char* OldControllerUid = "controller-uid";
constexpr const char* OldJobName = "job-name";
constexpr std::int32_t IndexedLimit = 100'000, PerIndexLimit = 10'000;
constexpr std::size_t ManagedByLimit = 63;
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
    if (spec.pod_failure_policy) {
        for (auto& rule : spec.pod_failure_policy->rules)
            for (auto& pattern : rule.on_pod_conditions)
                if (pattern.status.empty()) pattern.status = "True";
    }
    if (object.metadata.labels.empty()) object.metadata.labels = spec.template_.metadata.labels;
    default_pod_spec(spec.template_.spec);
}

/// A job without a selector of its own selects its pods by its uid.
void prepare_for_create(Job& object, const WriteContext&) {
    if (object.spec.manual_selector.value_or(false)) return;
    auto& labels = object.spec.template_.metadata.labels;
    for (const char* key : {ControllerUid, OldControllerUid}) labels.emplace(key, object.metadata.uid);
    for (const char* key : {JobName, OldJobName}) labels.emplace(key, object.metadata.name);
    if (!object.spec.selector) object.spec.selector.emplace();
    object.spec.selector->match_labels.emplace(ControllerUid, object.metadata.uid);
}

/// A client that sends its manifest again leaves out what was generated.
void prepare_for_update(Job& object, const Job& old, const WriteContext&) {
    if (object.spec.manual_selector.value_or(false)) return;
    if (!object.spec.selector) object.spec.selector = old.spec.selector;
    for (const char* key : {ControllerUid, OldControllerUid, JobName, OldJobName}) {
        const auto before = old.spec.template_.metadata.labels.find(key);
        if (before != old.spec.template_.metadata.labels.end()) object.spec.template_.metadata.labels.emplace(key, before->second);
    }
}

schema::Value value_of(const std::map<std::string, std::string>& labels) {
    schema::Value value = schema::Value::object();
    for (const auto& [key, text] : labels) value[key] = text;
    return value;
}

void validate_counts(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    check_not_negative(spec.parallelism, path / "parallelism", errors);
    check_not_negative(spec.completions, path / "completions", errors);
    check_not_negative(spec.active_deadline_seconds, path / "activeDeadlineSeconds", errors);
    check_not_negative(spec.backoff_limit, path / "backoffLimit", errors);
    check_not_negative(spec.ttl_seconds_after_finished, path / "ttlSecondsAfterFinished", errors);
    check_not_negative(spec.backoff_limit_per_index, path / "backoffLimitPerIndex", errors);
    check_not_negative(spec.max_failed_indexes, path / "maxFailedIndexes", errors);
}

void validate_indexed(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.completions) errors.required(path / "completions", "when completion mode is Indexed");
    check(spec.parallelism.value_or(0) <= IndexedLimit, spec.parallelism.value_or(0),
          "must be less than or equal to 100000 when completion mode is Indexed", path / "parallelism", errors);
    const FieldPath failed = path / "maxFailedIndexes";
    if (spec.max_failed_indexes) {
        if (spec.completions)
            check(*spec.max_failed_indexes <= *spec.completions, *spec.max_failed_indexes, "must be less than or equal to completions",
                  failed, errors);
        check(*spec.max_failed_indexes <= IndexedLimit, *spec.max_failed_indexes, "must be less than or equal to 100000", failed, errors);
        if (!spec.backoff_limit_per_index) errors.required(path / "backoffLimitPerIndex", "when maxFailedIndexes is specified");
    }
    if (spec.completions.value_or(0) <= IndexedLimit || !spec.backoff_limit_per_index) return;
    if (!spec.max_failed_indexes)
        errors.required(failed, "must be specified when completions is above 100000");
    else
        check(*spec.max_failed_indexes <= PerIndexLimit, *spec.max_failed_indexes,
              "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index", failed,
              errors);
    check(spec.parallelism.value_or(0) <= PerIndexLimit, spec.parallelism.value_or(0),
          "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
          path / "parallelism", errors);
}

void validate_mode(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const std::string mode = spec.completion_mode.value_or("NonIndexed");
    if (mode == "Indexed") return validate_indexed(spec, path, errors);
    check_choice(mode, {"Indexed", "NonIndexed"}, path / "completionMode", errors);
    if (spec.backoff_limit_per_index)
        errors.invalid(path / "backoffLimitPerIndex", *spec.backoff_limit_per_index, "requires indexed completion mode");
    if (spec.max_failed_indexes) errors.invalid(path / "maxFailedIndexes", *spec.max_failed_indexes, "requires indexed completion mode");
}

void validate_restart_policy(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const std::string& restart = spec.template_.spec.restart_policy;
    // "Always" is what it becomes when nobody said anything.
    if (restart.empty() || restart == "Always")
        errors.required(path, "valid values: \"OnFailure\", \"Never\"");
    else if (restart != "OnFailure" && restart != "Never")
        errors.not_supported(path, restart, {"OnFailure", "Never"});
    else if (spec.pod_failure_policy && restart != "Never")
        errors.invalid(path, restart, "only \"Never\" is supported when podFailurePolicy is specified");
}

}  // namespace

void validate_job_spec(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    validate_counts(spec, path, errors);
    if (spec.managed_by) {
        invalid_all(errors, path / "managedBy", *spec.managed_by, names::check_domain_prefixed_path(*spec.managed_by));
        if (spec.managed_by->size() > ManagedByLimit) errors.too_long(path / "managedBy", ManagedByLimit);
    }
    validate_mode(spec, path, errors);
    validate_job_policies(spec, path, errors);
    if (spec.pod_failure_policy)
        check_choice(spec.pod_replacement_policy, {"Failed"}, path / "podReplacementPolicy", errors);
    else
        check_choice(spec.pod_replacement_policy, {"Failed", "TerminatingOrFailed"}, path / "podReplacementPolicy", errors);
    validate_pod_template(spec.template_, path / "template", errors);
    validate_restart_policy(spec, path / "template" / "spec" / "restartPolicy", errors);
}

namespace {

/// The labels by which the job finds its pods are the server's to set.
void validate_generated_labels(const Job& object, FieldErrors& errors) {
    if (object.spec.manual_selector.value_or(false) || !object.spec.selector || object.metadata.uid.empty()) return;
    const auto& labels = object.spec.template_.metadata.labels;
    const std::map<std::string, std::string> expected = {{ControllerUid, object.metadata.uid},
                                                         {OldControllerUid, object.metadata.uid},
                                                         {JobName, object.metadata.name},
                                                         {OldJobName, object.metadata.name}};
    for (const auto& [key, value] : expected) {
        const FieldPath path = FieldPath("spec.template.metadata.labels").key(key);
        const auto found = labels.find(key);
        if (found == labels.end())
            errors.required(path, "must be '" + value + "'");
        else if (found->second != value)
            errors.invalid(path, value_of(labels), "must be '" + value + "'");
    }
    if (!LabelSelector::from(*object.spec.selector).matches(expected))
        errors.invalid("spec.selector", schema::to_value(*object.spec.selector), "`selector` not auto-generated");
}

/// Pods of an indexed job are named for it and their index.
void validate_name(const Job& object, FieldErrors& errors) {
    if (object.spec.completion_mode.value_or("") != "Indexed" || object.spec.completions.value_or(0) <= 0) return;
    const std::string longest = object.metadata.name + "-" + std::to_string(*object.spec.completions - 1);
    invalid_all(errors, "metadata.name", object.metadata.name, names::check_dns1123_label(longest));
}

void validate_selector(const JobSpec& spec, FieldErrors& errors) {
    if (!spec.selector) return errors.required(Spec / "selector");
    const std::size_t before = errors.size();
    validate_label_selector(*spec.selector, Spec / "selector", errors);
    if (errors.size() == before && !LabelSelector::from(*spec.selector).matches(spec.template_.metadata.labels))
        errors.invalid(Spec / "template" / "metadata" / "labels", value_of(spec.template_.metadata.labels),
                       "`selector` does not match template `labels`");
}

void validate(const Job& object, FieldErrors& errors) {
    validate_generated_labels(object, errors);
    validate_name(object, errors);
    validate_job_spec(object.spec, Spec, errors);
    validate_selector(object.spec, errors);
}

/// What a template may still be while none of the job's pods has been made.
PodTemplateSpec adjustable(PodTemplateSpec now, const PodTemplateSpec& before) {
    now.metadata.labels = before.metadata.labels;
    now.metadata.annotations = before.metadata.annotations;
    now.spec.node_selector = before.spec.node_selector;
    now.spec.tolerations = before.spec.tolerations;
    now.spec.scheduling_gates = before.spec.scheduling_gates;
    schema::Box<api::core::v1::NodeAffinity> node_affinity;
    if (before.spec.affinity) node_affinity = before.spec.affinity->node_affinity;
    if (now.spec.affinity)
        now.spec.affinity->node_affinity = node_affinity;
    else if (before.spec.affinity && node_affinity)
        now.spec.affinity = api::core::v1::Affinity{.node_affinity = node_affinity};
    if (now.spec.affinity == api::core::v1::Affinity() && !before.spec.affinity) now.spec.affinity.reset();
    return now;
}

void validate_update(const Job& object, const Job& old, FieldErrors& errors) {
    const JobSpec &now = object.spec, &before = old.spec;
    validate_job_spec(now, Spec, errors);
    validate_selector(now, errors);
    const schema::Value after = schema::to_value(now), was = schema::to_value(before);
    const auto immutable = [&](std::string_view member) {
        if (!(schema::at(after, member) == schema::at(was, member)))
            errors.invalid(Spec / member, schema::at(after, member), FieldIsImmutable);
    };
    const bool elastic = now.completion_mode == "Indexed" && now.completions && before.completions;
    if (!elastic)
        immutable("completions");
    else if (now.completions != before.completions && now.completions != now.parallelism)
        errors.invalid(Spec / "completions", *now.completions, "can only be modified in tandem with spec.parallelism");
    for (const std::string_view member :
         {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "successPolicy", "managedBy"})
        immutable(member);
    const bool not_started = before.suspend.value_or(false) && !old.status.start_time;
    const PodTemplateSpec fixed = not_started ? adjustable(now.template_, before.template_) : now.template_;
    if (!(fixed == before.template_)) errors.invalid(Spec / "template", schema::at(after, "template"), FieldIsImmutable);
}

bool is_true(const JobStatus& status, std::string_view type) {
    for (const auto& condition : status.conditions)
        if (condition.type == type) return condition.status == "True";
    return false;
}

void validate_status_update(const Job& object, const Job& old, FieldErrors& errors) {
    const FieldPath path = "status";
    const JobStatus& status = object.status;
    check_not_negative(status.active, path / "active", errors);
    check_not_negative(status.succeeded, path / "succeeded", errors);
    check_not_negative(status.failed, path / "failed", errors);
    check_not_negative(status.ready, path / "ready", errors);
    check_not_negative(status.terminating, path / "terminating", errors);
    const bool complete = is_true(status, "Complete"), failed = is_true(status, "Failed");
    if (complete && failed)
        errors.invalid(path / "conditions", schema::at(schema::to_value(status), "conditions"),
                       "cannot set Complete=True and Failed=true conditions");
    if (status.completion_time && !complete)
        errors.invalid(path / "completionTime", status.completion_time->to_string(),
                       "cannot set completionTime when there is no Complete=True condition");
    if (complete && !status.completion_time) errors.required(path / "completionTime", "completionTime is required for Complete jobs");
    if (old.status.completion_time && status.completion_time != old.status.completion_time)
        errors.invalid(path / "completionTime",
                       status.completion_time ? schema::Value(status.completion_time->to_string()) : schema::Value(),
                       "completionTime cannot be mutated");
    if (status.start_time && status.completion_time && *status.completion_time < *status.start_time)
        errors.invalid(path / "completionTime", status.completion_time->to_string(), "completionTime cannot be set before startTime");
    if ((complete || failed) && status.active > 0 && !(is_true(old.status, "Complete") || is_true(old.status, "Failed")))
        errors.invalid(path / "active", status.active, "active>0 is invalid for finished job");
    for (const std::string_view type : {"Complete", "Failed"})
        if (is_true(old.status, type) && !is_true(status, type))
            errors.invalid(path / "conditions", schema::at(schema::to_value(status), "conditions"),
                           "cannot disable the terminal " + std::string(type) + "=True condition");
}

}  // namespace

Strategy job_strategy() {
    Strategy strategy = strategy_for<Job>({.set_defaults = set_defaults,
                                           .prepare_for_create = prepare_for_create,
                                           .prepare_for_update = prepare_for_update,
                                           .validate = validate,
                                           .validate_update = validate_update,
                                           .validate_status_update = validate_status_update,
                                           .warn = warn_of_workload<Job>});
    strategy.generation = Generation::OnSpecChange;
    strategy.orphans_by_default = true;
    strategy.selectable_fields = {{"status.successful", "0", "status.succeeded"}};
    return strategy;
}

}  // namespace porthole::apiserver
