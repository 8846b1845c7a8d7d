#include "api/apiregistration_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "base/strings.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using api::apiregistration::v1::APIService;
using api::apiregistration::v1::APIServiceCondition;
using api::apiregistration::v1::APIServiceConditionType;
using api::apiregistration::v1::APIServiceSpec;

constexpr std::int32_t MaxGroupPriority = 20000, MaxVersionPriority = 1000;

bool is_local(const APIService& object) { return !object.spec.service; }

/// What is served by this server needs no check.
void prepare_for_create(APIService& object, const WriteContext& context) {
    object.status = {};
    if (is_local(object))
        objects::set_condition(object.status.conditions,
                               APIServiceCondition{.type = APIServiceConditionType::Available,
                                                   .status = "True",
                                                   .last_transition_time = {},
                                                   .reason = "Local",
                                                   .message = "Local APIServices are always available"},
                               context.now);
}

void validate_group_version(const APIService& object, FieldErrors& errors) {
    const APIServiceSpec& spec = object.spec;
    const std::string wanted = spec.version + "." + spec.group;
    if (object.metadata.name != wanted && names::check_path_segment(object.metadata.name).empty())
        errors.invalid("metadata.name", object.metadata.name, "must be `spec.version+\".\"+spec.group`: " + quote(wanted));
    if (spec.group.empty() && spec.version != "v1")
        errors.required("spec.group", "only v1 may have an empty group and it better be legacy kube");
    if (!spec.group.empty()) invalid_all(errors, "spec.group", spec.group, names::check_dns1123_subdomain(spec.group));
    invalid_all(errors, "spec.version", spec.version, names::check_dns1035_label(spec.version));
}

void validate_api_service_target(const api::apiregistration::v1::ServiceReference& service, const FieldPath& path, FieldErrors& errors) {
    check_required(service.namespace_, path / "namespace", errors);
    check_required(service.name, path / "name", errors);
    const std::int32_t port = service.port.value_or(443);
    if (const auto problems = names::check_port_number(port); !problems.empty())
        errors.invalid(path / "port", port, "port is not valid: " + join(problems, ", "));
}

void validate(const APIService& object, FieldErrors& errors) {
    const APIServiceSpec& spec = object.spec;
    validate_group_version(object, errors);
    check(spec.group_priority_minimum > 0 && spec.group_priority_minimum <= MaxGroupPriority, spec.group_priority_minimum,
          "must be positive and less than 20000", "spec.groupPriorityMinimum", errors);
    check(spec.version_priority > 0 && spec.version_priority <= MaxVersionPriority, spec.version_priority,
          "must be positive and less than 1000", "spec.versionPriority", errors);
    if (is_local(object)) {
        check(spec.ca_bundle.empty(), std::to_string(spec.ca_bundle.size()) + " bytes", "local APIServices may not have a caBundle",
              "spec.caBundle", errors);
        check(!spec.insecure_skip_tls_verify, spec.insecure_skip_tls_verify, "local APIServices may not have insecureSkipTLSVerify",
              "spec.insecureSkipTLSVerify", errors);
        return;
    }
    validate_api_service_target(*spec.service, "spec.service", errors);
    check(!spec.insecure_skip_tls_verify || spec.ca_bundle.empty(), spec.insecure_skip_tls_verify, "may not be true if caBundle is present",
          "spec.insecureSkipTLSVerify", errors);
}

void validate_update(const APIService& object, const APIService&, FieldErrors& errors) { validate(object, errors); }

void validate_status_update(const APIService& object, const APIService&, FieldErrors& errors) {
    const auto& conditions = object.status.conditions;
    const FieldPath path = "status.conditions";
    for (std::size_t i = 0; i < conditions.size(); ++i)
        check_choice(conditions[i].status, {"True", "False", "Unknown"}, path.index(i) / "status", errors);
}

}  // namespace

Strategy api_service_strategy() {
    Strategy strategy = strategy_for<APIService>({.prepare_for_create = prepare_for_create,
                                                  .validate = validate,
                                                  .validate_update = validate_update,
                                                  .validate_status_update = validate_status_update});
    strategy.name_rule = names::NameRule::PathSegment;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace porthole::apiserver
