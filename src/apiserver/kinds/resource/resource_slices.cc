#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/resource_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/resource/device_checks.h"
#include "apiserver/kinds/resource/request_policy.h"
#include "cel/library/libraries.h"

/// Slices: nodes write them for their drivers, and the scheduler reads all of them.
namespace porthole::apiserver {
namespace {

using namespace api::resource::v1;

constexpr std::size_t MostDevices = 128, MostDevicesWithTaintsOrCounters = 64, MostAttributes = 32, MostTaints = 16, MostCounterSets = 8,
                      MostConsumedSets = 2, MostCounters = 32, LongestAttribute = 64;
constexpr std::string_view OneOfSlice = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
constexpr std::string_view OneOfDevice =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec";

void validate_attribute(const DeviceAttribute& attribute, const FieldPath& path, FieldErrors& errors) {
    const int values =
        attribute.int_.has_value() + attribute.bool_.has_value() + attribute.string.has_value() + attribute.version.has_value();
    if (values == 0) return errors.required(path, "exactly one value must be specified");
    if (values > 1) return errors.invalid_as_a_whole(path, "exactly one value must be specified");
    if (attribute.string && attribute.string->size() > LongestAttribute) errors.too_long(path / "string", LongestAttribute);
    if (!attribute.version) return;
    if (attribute.version->size() > LongestAttribute) return errors.too_long(path / "version", LongestAttribute);
    check(!cel::make_semver(*attribute.version).is_error(), *attribute.version, "must be a string compatible with semver.org spec 2.0.0",
          path / "version", errors);
}

/// "model", or "gpu.example.com/model".
void validate_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    if (name.contains('/'))
        check_full_name(name, path, errors);
    else
        check_identifier(name, path, errors);
}

/// The fields that say which nodes can use something, of a slice or of a device. A field that is set says something.
template <class T>
std::vector<std::string_view> validate_nodes(const T& from, const FieldPath& path, FieldErrors& errors) {
    std::vector<std::string_view> set;
    if (from.node_name) {
        set.emplace_back("`nodeName`");
        check_required_format(*from.node_name, names::check_dns1123_subdomain, path / "nodeName", errors);
    }
    if (from.node_selector) set.emplace_back("`nodeSelector`");
    check_one_term(from.node_selector, path / "nodeSelector", errors);
    if (from.all_nodes == true) set.emplace_back("`allNodes`");
    check(from.all_nodes != false, false, "must be either unset or set to true", path / "allNodes", errors);
    return set;
}

/// Requires exactly one of the fields to be set.
void check_one_choice(const std::vector<std::string_view>& set, std::string_view detail, std::string_view of_several, const FieldPath& path,
                      FieldErrors& errors) {
    if (set.empty()) errors.required(path, detail);
    if (set.size() > 1) errors.invalid(path, fmt::format("{{{}}}", fmt::join(set, ", ")), of_several);
}

void validate_counters(const std::map<std::string, Counter>& counters, const FieldPath& path, FieldErrors& errors) {
    if (counters.empty()) return errors.required(path);
    if (counters.size() > MostCounters) return errors.too_many(path, counters.size(), MostCounters);
    for (const auto& [name, counter] : counters) invalid_all(errors, path, name, names::check_dns1123_label(name));
}

/// Sets of counters, of a slice or of a device: `name_of` gives the name of one, which the field `name_field` holds.
template <class T>
void validate_counter_sets(const std::vector<T>& sets, std::size_t most, std::string T::* name_of, const char* name_field,
                           const FieldPath& path, FieldErrors& errors) {
    check_count(sets, most, path, errors);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < std::min(sets.size(), most); ++i) {
        const std::string& name = sets[i].*name_of;
        check_required_format(name, names::check_dns1123_label, path.index(i) / name_field, errors);
        if (!seen.insert(name).second) errors.duplicate(path.index(i), name);
        validate_counters(sets[i].counters, path.index(i) / "counters", errors);
    }
}

void validate_taint(const DeviceTaint& taint, const FieldPath& path, FieldErrors& errors) {
    invalid_all(errors, path / "key", taint.key, names::check_qualified_name(taint.key));
    invalid_all(errors, path / "value", taint.value, names::check_label_value(taint.value));
    check_required_choice(taint.effect, {"NoExecute", "NoSchedule", "None"}, path / "effect", errors);
}

void validate_device(const Device& device, bool chooses_nodes, const FieldPath& path, FieldErrors& errors) {
    check_required_format(device.name, names::check_dns1123_label, path / "name", errors);
    if (device.attributes.size() + device.capacity.size() > MostAttributes)
        errors.invalid(path, device.attributes.size() + device.capacity.size(),
                       "the total number of attributes and capacities must not exceed " + std::to_string(MostAttributes));
    for (const auto& [name, attribute] : device.attributes) {
        validate_name(name, path / "attributes", errors);
        validate_attribute(attribute, (path / "attributes").key(name), errors);
    }
    const bool allows_multiple = device.allow_multiple_allocations.value_or(false);
    for (const auto& [name, capacity] : device.capacity) {
        validate_name(name, path / "capacity", errors);
        validate_request_policy(capacity, allows_multiple, (path / "capacity").key(name), errors);
    }
    check_count(device.taints, MostTaints, path / "taints", errors);
    for (std::size_t i = 0; i < std::min(device.taints.size(), MostTaints); ++i)
        validate_taint(device.taints[i], (path / "taints").index(i), errors);
    validate_counter_sets(device.consumes_counters, MostConsumedSets, &DeviceCounterConsumption::counter_set, "counterSet",
                          path / "consumesCounters", errors);
    const std::vector<std::string_view> nodes = validate_nodes(device, path, errors);
    if (chooses_nodes)
        check_one_choice(nodes, OneOfDevice, OneOfDevice, path, errors);
    else if (device.node_name || device.node_selector || device.all_nodes)
        errors.invalid(path, nullptr,
                       "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
                       "ResourceSlice spec");
    check_binding_conditions(device.binding_conditions, device.binding_failure_conditions, path, errors);
}

void validate_slice(const ResourceSlice& object, FieldErrors& errors) {
    const FieldPath path = "spec", devices = path / "devices";
    const ResourceSliceSpec& spec = object.spec;
    check_driver_name(spec.driver, path / "driver", errors);
    check_pool_name(spec.pool.name, path / "pool" / "name", errors);
    check(spec.pool.resource_slice_count > 0, spec.pool.resource_slice_count, "must be greater than zero",
          path / "pool" / "resourceSliceCount", errors);
    check_not_negative(spec.pool.generation, path / "pool" / "generation", errors);
    std::vector<std::string_view> nodes = validate_nodes(spec, path, errors);
    const bool each = spec.per_device_node_selection.value_or(false);
    if (each) nodes.emplace_back("`perDeviceNodeSelection`");
    check(spec.per_device_node_selection != false, false, "must be either unset or set to true", path / "perDeviceNodeSelection", errors);
    check_one_choice(nodes, OneOfSlice, std::string(OneOfSlice) + ", but multiple fields are set", path, errors);
    check(spec.shared_counters.empty() || spec.devices.empty(), "", "only one of `sharedCounters` or `devices` is allowed", path, errors);
    const bool is_costly =
        std::ranges::any_of(spec.devices, [](const Device& device) { return !device.taints.empty() || !device.consumes_counters.empty(); });
    check_count(spec.devices, is_costly ? MostDevicesWithTaintsOrCounters : MostDevices, devices, errors);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < std::min(spec.devices.size(), MostDevices); ++i) {
        if (!seen.insert(spec.devices[i].name).second) errors.duplicate(devices.index(i) / "name", spec.devices[i].name);
        validate_device(spec.devices[i], each, devices.index(i), errors);
    }
    validate_counter_sets(spec.shared_counters, MostCounterSets, &CounterSet::name, "name", path / "sharedCounters", errors);
}

/// Taints have a time, from which tolerations count. One that a driver leaves out when it publishes its devices anew stays as it was.
void set_times_of_taints(ResourceSlice& object, const ResourceSlice* old, Timestamp now) {
    for (Device& device : object.spec.devices)
        for (DeviceTaint& taint : device.taints) {
            if (taint.time_added) continue;
            taint.time_added = now;
            if (!old) continue;
            const auto before = std::ranges::find(old->spec.devices, device.name, &Device::name);
            if (before == old->spec.devices.end()) continue;
            for (const DeviceTaint& known : before->taints)
                if (known.key == taint.key && known.value == taint.value && known.effect == taint.effect && known.time_added)
                    taint.time_added = known.time_added;
        }
}

void validate_slice_update(const ResourceSlice& object, const ResourceSlice& old, FieldErrors& errors) {
    validate_slice(object, errors);
    const auto same = [&](bool holds, const FieldPath& path) {
        if (!holds) errors.invalid_as_a_whole(path, FieldIsImmutable);
    };
    same(object.spec.driver == old.spec.driver, "spec.driver");
    same(object.spec.pool.name == old.spec.pool.name, "spec.pool.name");
    same(object.spec.node_name == old.spec.node_name, "spec.nodeName");
}

}  // namespace

Strategy resource_slice_strategy() {
    Strategy strategy = strategy_for<ResourceSlice>(
        {.prepare_for_create = [](ResourceSlice& object,
                                  const WriteContext& context) { set_times_of_taints(object, nullptr, context.now); },
         .prepare_for_update = [](ResourceSlice& object, const ResourceSlice& old,
                                  const WriteContext& context) { set_times_of_taints(object, &old, context.now); },
         .validate = validate_slice,
         .validate_update = validate_slice_update});
    strategy.selectable_fields = {{"spec.nodeName"}, {"spec.driver"}};
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
