#include <algorithm>
#include <set>
#include <tuple>

#include "api/resource_v1.h"
#include "apiserver/expressions/expression.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/resource/device_checks.h"
#include "apiserver/kinds/resource_names.h"
#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"
#include "objects/devices/device_selector.h"
#include "schema/json/json.h"

/// Device classes, claims and templates of claims.
namespace porthole::apiserver {
namespace {

using namespace api::resource::v1;
using Claim = api::resource::v1::ResourceClaim;  // not that of a pod

constexpr std::size_t MostRequests = 32, MostSubRequests = 8, MostConstraints = 32, MostConfigurations = 32, MostSelectors = 32;
constexpr std::size_t MostReservations = 256, MostTolerations = 16, MostDeviceConditions = 8;
constexpr std::size_t LongestSelector = 10 * 1024, LongestParameters = 10 * 1024;
constexpr std::string_view RequestReference =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

// --- Selectors ---

void validate_selector(const DeviceSelector& selector, cel::Work& work, const FieldPath& path, FieldErrors& errors) {
    if (!selector.cel) return errors.required(path / "cel");
    const std::string& text = selector.cel->expression;
    const FieldPath where = path / "cel" / "expression";
    if (text.size() > LongestSelector) return errors.too_long(where, LongestSelector);
    const objects::DeviceSelector compiled(text, work);
    if (!compiled.compiles()) return errors.invalid(where, text, compiled.problem());
    if (compiled.most_cost() > objects::DeviceSelectorCost) errors.forbidden(where, "too complex, exceeds cost limit");
}

/// `work` is that of compiling, of all selectors of the object: whoever may make a claim may write thousands.
void validate_selectors(const std::vector<DeviceSelector>& selectors, cel::Work& work, const FieldPath& path, FieldErrors& errors) {
    check_count(selectors, MostSelectors, path, errors);
    for (std::size_t i = 0; i < std::min(selectors.size(), MostSelectors); ++i)
        validate_selector(selectors[i], work, path.index(i), errors);
}

// --- Configuration ---

void validate_configuration(const DeviceConfiguration& configuration, const FieldPath& path, FieldErrors& errors) {
    if (!configuration.opaque) return errors.required(path / "opaque");
    check_driver_name(configuration.opaque->driver, path / "opaque" / "driver", errors);
    const schema::Value& parameters = configuration.opaque->parameters;
    const FieldPath where = path / "opaque" / "parameters";
    if (parameters.is_null())
        errors.required(where);
    else if (!parameters.is_object())
        errors.invalid(where, "<value omitted>", "must be a valid JSON object");
    else if (schema::to_json(parameters).size() > LongestParameters)
        errors.too_long(where, LongestParameters);
}

template <class T>
void validate_configurations(const std::vector<T>& list, const FieldPath& path, FieldErrors& errors) {
    check_count(list, MostConfigurations, path, errors);
    for (std::size_t i = 0; i < list.size(); ++i) validate_configuration(list[i], path.index(i), errors);
}

// --- Requests ---

/// Names by which results, constraints and configurations refer to requests: "gpu", "gpu/large".
std::set<std::string> request_names(const DeviceClaim& claim) {
    std::set<std::string> names;
    for (const DeviceRequest& request : claim.requests) {
        names.insert(request.name);
        for (const DeviceSubRequest& alternative : request.first_available) names.insert(request.name + "/" + alternative.name);
    }
    return names;
}

void validate_references(const std::vector<std::string>& references, const std::set<std::string>& names, const FieldPath& path,
                         FieldErrors& errors) {
    check_count(references, MostRequests, path, errors);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < references.size(); ++i) {
        if (!seen.insert(references[i]).second) errors.duplicate(path.index(i), references[i]);
        check(names.contains(references[i]), references[i], RequestReference, path.index(i), errors);
    }
}

void validate_toleration(const DeviceToleration& toleration, const FieldPath& path, FieldErrors& errors) {
    check_required_choice(toleration.operator_, {"Equal", "Exists"}, path / "operator", errors);
    if (!toleration.effect.empty()) check_choice(toleration.effect, {"NoExecute", "NoSchedule"}, path / "effect", errors);
    if (!toleration.key.empty()) invalid_all(errors, path / "key", toleration.key, names::check_qualified_name(toleration.key));
    if (toleration.operator_ == "Exists")
        check(toleration.value.empty(), toleration.value, "must be empty for operator `Exists`", path / "value", errors);
    else
        invalid_all(errors, path / "value", toleration.value, names::check_label_value(toleration.value));
}

/// With T an ExactDeviceRequest or a DeviceSubRequest.
template <class T>
void validate_wish(const T& wish, cel::Work& work, const FieldPath& path, FieldErrors& errors) {
    check_required_format(wish.device_class_name, names::check_dns1123_subdomain, path / "deviceClassName", errors);
    validate_selectors(wish.selectors, work, path / "selectors", errors);
    if (wish.allocation_mode == "All")
        check(wish.count == 0, wish.count, "must not be specified when allocationMode is 'All'", path / "count", errors);
    else if (wish.allocation_mode == "ExactCount")
        check(wish.count > 0, wish.count, "must be greater than zero", path / "count", errors);
    else
        check_choice(wish.allocation_mode, {"All", "ExactCount"}, path / "allocationMode", errors);
    check_count(wish.tolerations, MostTolerations, path / "tolerations", errors);
    for (std::size_t i = 0; i < wish.tolerations.size(); ++i)
        validate_toleration(wish.tolerations[i], (path / "tolerations").index(i), errors);
}

void validate_request(const DeviceRequest& request, cel::Work& work, const FieldPath& path, FieldErrors& errors) {
    check_required_format(request.name, names::check_dns1123_label, path / "name", errors);
    const FieldPath alternatives = path / "firstAvailable";
    if (!request.exactly && request.first_available.empty())
        return errors.required(path, "exactly one of `exactly` or `firstAvailable` is required");
    if (request.exactly && !request.first_available.empty())
        return errors.invalid(path, nullptr, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
    if (request.exactly) return validate_wish(*request.exactly, work, path / "exactly", errors);
    check_count(request.first_available, MostSubRequests, alternatives, errors);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < request.first_available.size(); ++i) {
        const DeviceSubRequest& alternative = request.first_available[i];
        if (!seen.insert(alternative.name).second) errors.duplicate(alternatives.index(i) / "name", alternative.name);
        check_required_format(alternative.name, names::check_dns1123_label, alternatives.index(i) / "name", errors);
        validate_wish(alternative, work, alternatives.index(i), errors);
    }
}

void validate_constraint(const DeviceConstraint& constraint, const std::set<std::string>& names, const FieldPath& path,
                         FieldErrors& errors) {
    validate_references(constraint.requests, names, path / "requests", errors);
    if (constraint.match_attribute.has_value() == constraint.distinct_attribute.has_value())
        return errors.required(path,
                               constraint.match_attribute
                                   ? R"(exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set)"
                                   : R"(exactly one of "matchAttribute" or "distinctAttribute" is required)");
    if (constraint.match_attribute)
        check_full_name(*constraint.match_attribute, path / "matchAttribute", errors);
    else
        check_full_name(*constraint.distinct_attribute, path / "distinctAttribute", errors);
}

void validate_claim(const DeviceClaim& claim, const FieldPath& path, FieldErrors& errors) {
    const std::set<std::string> names = request_names(claim);
    const FieldPath requests = path / "requests", constraints = path / "constraints", configurations = path / "config";
    check_count(claim.requests, MostRequests, requests, errors);
    std::set<std::string> seen;
    cel::Work work(expression_costs::Compilation);
    for (std::size_t i = 0; i < claim.requests.size(); ++i) {
        if (!seen.insert(claim.requests[i].name).second) errors.duplicate(requests.index(i) / "name", claim.requests[i].name);
        validate_request(claim.requests[i], work, requests.index(i), errors);
    }
    check_count(claim.constraints, MostConstraints, constraints, errors);
    for (std::size_t i = 0; i < claim.constraints.size(); ++i)
        validate_constraint(claim.constraints[i], names, constraints.index(i), errors);
    validate_configurations(claim.config, configurations, errors);
    for (std::size_t i = 0; i < claim.config.size(); ++i)
        validate_references(claim.config[i].requests, names, configurations.index(i) / "requests", errors);
}

void set_operators(std::vector<DeviceToleration>& tolerations) {
    for (DeviceToleration& toleration : tolerations)
        if (toleration.operator_.empty()) toleration.operator_ = "Equal";
}

void set_count(std::string& mode, std::int64_t& count) {
    if (mode.empty()) mode = "ExactCount";
    if (mode == "ExactCount" && count == 0) count = 1;
}

void default_claim(DeviceClaim& claim) {
    for (DeviceRequest& request : claim.requests) {
        if (request.exactly) {
            set_count(request.exactly->allocation_mode, request.exactly->count);
            set_operators(request.exactly->tolerations);
        }
        for (DeviceSubRequest& alternative : request.first_available) {
            set_count(alternative.allocation_mode, alternative.count);
            set_operators(alternative.tolerations);
        }
    }
}

// --- The kinds ---

void validate_class(const DeviceClass& object, FieldErrors& errors) {
    cel::Work work(expression_costs::Compilation);
    validate_selectors(object.spec.selectors, work, "spec.selectors", errors);
    validate_configurations(object.spec.config, "spec.config", errors);
    if (const auto& resource = object.spec.extended_resource_name; resource && !is_extended_resource(*resource))
        errors.invalid("spec.extendedResourceName", *resource, "must be a valid extended resource name");
}

void default_resource_claim(Claim& object) { default_claim(object.spec.devices); }
void validate_resource_claim(const Claim& object, FieldErrors& errors) { validate_claim(object.spec.devices, "spec.devices", errors); }

/// All of it is immutable: what was accepted once is not looked at again.
template <class T>
void validate_same_spec(const T& object, const T& old, FieldErrors& errors) {
    if (!(object.spec == old.spec)) errors.invalid_as_a_whole("spec", FieldIsImmutable);
}

void validate_reservations(const Claim& object, const Claim& old, FieldErrors& errors) {
    const auto& reservations = object.status.reserved_for;
    const FieldPath path = "status.reservedFor";
    check_count(reservations, MostReservations, path, errors);
    std::set<std::string> known, seen;
    for (const auto& one : old.status.reserved_for) known.insert(one.uid);
    bool is_new = false;
    for (std::size_t i = 0; i < reservations.size(); ++i) {
        check_required(reservations[i].resource, path.index(i) / "resource", errors);
        check_required(reservations[i].name, path.index(i) / "name", errors);
        check_required(reservations[i].uid, path.index(i) / "uid", errors);
        if (!seen.insert(reservations[i].uid).second) errors.duplicate(path.index(i) / "uid", reservations[i].uid);
        is_new = is_new || !known.contains(reservations[i].uid);
    }
    if (reservations.empty()) return;
    if (!object.status.allocation)
        errors.forbidden(path, "may not be specified when `allocated` is not set");
    else if (object.metadata.deletion_timestamp && is_new)
        errors.forbidden(path, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
}

/// What was said of devices that the claim no longer has: not all who take an allocation away know of it.
void drop_deallocated_devices(Claim& object, const Claim& old, const WriteContext&) {
    if (!old.status.allocation || object.status.devices.empty()) return;
    std::set<std::tuple<std::string, std::string, std::string, std::optional<std::string>>> deallocated;
    for (const auto& result : old.status.allocation->devices.results)
        deallocated.emplace(result.driver, result.pool, result.device, result.share_id);
    if (object.status.allocation)
        for (const auto& result : object.status.allocation->devices.results)
            deallocated.erase({result.driver, result.pool, result.device, result.share_id});
    std::erase_if(object.status.devices, [&](const AllocatedDeviceStatus& device) {
        return deallocated.contains({device.driver, device.pool, device.device, device.share_id});
    });
}

/// What drivers say of the devices that the claim has.
void validate_device_statuses(const Claim& object, FieldErrors& errors) {
    const auto& devices = object.status.devices;
    const FieldPath path = "status.devices";
    check_count(devices, MostRequests, path, errors);
    for (std::size_t i = 0; i < std::min(devices.size(), MostRequests); ++i) {
        const AllocatedDeviceStatus& device = devices[i];
        const bool has = object.status.allocation &&
                         std::ranges::any_of(object.status.allocation->devices.results, [&](const DeviceRequestAllocationResult& result) {
                             return result.driver == device.driver && result.pool == device.pool && result.device == device.device;
                         });
        if (!has) errors.invalid_as_a_whole(path.index(i), "must be an allocated device in the claim");
        check_count(device.conditions, MostDeviceConditions, path.index(i) / "conditions", errors);
        if (!device.data.is_null() && schema::to_json(device.data).size() > LongestParameters)
            errors.too_long(path.index(i) / "data", LongestParameters);
    }
}

void validate_status(const Claim& object, const Claim& old, FieldErrors& errors) {
    validate_reservations(object, old, errors);
    validate_device_statuses(object, errors);
    if (!object.status.allocation) return;
    const FieldPath path = "status.allocation";
    if (old.status.allocation) {
        if (!(*object.status.allocation == *old.status.allocation)) errors.invalid_as_a_whole(path, FieldIsImmutable);
        return;
    }
    check_one_term(object.status.allocation->node_selector, path / "nodeSelector", errors);
    const std::set<std::string> names = request_names(object.spec.devices);
    const auto& results = object.status.allocation->devices.results;
    check_count(results, MostRequests, path / "devices" / "results", errors);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const FieldPath where = (path / "devices" / "results").index(i);
        check(names.contains(results[i].request), results[i].request, RequestReference, where / "request", errors);
        check_driver_name(results[i].driver, where / "driver", errors);
        check_pool_name(results[i].pool, where / "pool", errors);
        check_required_format(results[i].device, names::check_dns1123_label, where / "device", errors);
        check_binding_conditions(results[i].binding_conditions, results[i].binding_failure_conditions, where, errors);
    }
    const auto& config = object.status.allocation->devices.config;
    check_count(config, 2 * MostConfigurations, path / "devices" / "config", errors);
    for (std::size_t i = 0; i < config.size(); ++i) {
        const FieldPath where = (path / "devices" / "config").index(i);
        check_required_choice(config[i].source, {"FromClaim", "FromClass"}, where / "source", errors);
        validate_references(config[i].requests, names, where / "requests", errors);
        validate_configuration(config[i], where, errors);
    }
}

void default_template(ResourceClaimTemplate& object) { default_claim(object.spec.spec.devices); }
void validate_template(const ResourceClaimTemplate& object, FieldErrors& errors) {
    validate_labels(object.spec.metadata.labels, "spec.metadata.labels", errors);
    validate_annotations(object.spec.metadata.annotations, "spec.metadata.annotations", errors);
    validate_claim(object.spec.spec.devices, "spec.spec.devices", errors);
}

}  // namespace

Strategy device_class_strategy() {
    Strategy strategy = strategy_for<DeviceClass>({.validate = validate_class});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

Strategy resource_claim_strategy() {
    return strategy_for<Claim>({.set_defaults = default_resource_claim,
                                .prepare_for_status_update = drop_deallocated_devices,
                                .validate = validate_resource_claim,
                                .validate_update = validate_same_spec<Claim>,
                                .validate_status_update = validate_status});
}

Strategy resource_claim_template_strategy() {
    return strategy_for<ResourceClaimTemplate>(
        {.set_defaults = default_template, .validate = validate_template, .validate_update = validate_same_spec<ResourceClaimTemplate>});
}

}  // namespace porthole::apiserver
