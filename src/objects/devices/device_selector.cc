#include "objects/devices/device_selector.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/version.h"
#include "cel/environment.h"
#include "cel/library/libraries.h"

namespace porthole::objects {
namespace {

using namespace api::resource::v1;

/// The bounds are those of a ResourceSlice, by which costs are estimated.
const cel::Environment& selector_environment() {
    constexpr std::uint64_t LongestDomain = 63, LongestId = 32, LongestDriver = 63, LongestAttribute = 64, MostAttributes = 32;
    static cel::ObjectTypes types;
    static const cel::Environment environment = [] {
        const auto by_name = [](const cel::TypeRef& value) {
            namespace types = cel::types;
            const auto inner = types::bounded(types::map(types::bounded(types::string(), LongestId), value), MostAttributes);
            return types::bounded(types::map(types::bounded(types::string(), LongestDomain), inner), MostAttributes);
        };
        cel::ObjectType& device = types.declare("kubernetes.DRADevice");
        device.add("driver", cel::types::bounded(cel::types::string(), LongestDriver), true);
        device.add("attributes", by_name(cel::types::any(LongestAttribute)), true);
        device.add("capacity", by_name(cel::types::opaque("kubernetes.Quantity")), true);
        device.add("allowMultipleAllocations", cel::types::bounded(cel::types::boolean(), 1), true);
        return cel::Environment::extended({.minor = KubernetesMinor}).with_variable("device", cel::types::object(device));
    }();
    return environment;
}

cel::Value attribute_value(const DeviceAttribute& attribute) {
    if (attribute.int_) return cel::Value::integer(*attribute.int_);
    if (attribute.bool_) return cel::Value::boolean(*attribute.bool_);
    if (attribute.string) return cel::Value::string(*attribute.string);
    if (!attribute.version) return cel::Value::error("unsupported attribute value");
    cel::Value version = cel::make_semver(*attribute.version);
    return version.is_error() ? cel::Value::error("parse semantic version: " + std::string(version.as_text())) : version;
}

/// Names without a domain are the driver's. What a domain does not have is an error; a domain that is not there has nothing.
class ByDomain {
public:
    explicit ByDomain(const std::string& driver) : driver_(driver) {}

    void add(const std::string& name, cel::Value value) {
        const std::size_t slash = name.find('/');
        const bool qualified = slash != std::string::npos;
        domains_[qualified ? name.substr(0, slash) : driver_].emplace_back(cel::Value::string(qualified ? name.substr(slash + 1) : name),
                                                                           std::move(value));
    }
    cel::Value made() {
        std::vector<cel::Value::Entry> entries;
        for (auto& [domain, values] : domains_) entries.emplace_back(cel::Value::string(domain), cel::Value::map(std::move(values)));
        return cel::Value::map_with_default(std::move(entries), cel::Value::map({}));
    }

private:
    const std::string& driver_;
    std::map<std::string, std::vector<cel::Value::Entry>> domains_;
};

cel::Value device_value(const std::string& driver, const Device& device) {
    ByDomain attributes(driver), capacity(driver);
    for (const auto& [name, attribute] : device.attributes) {
        cel::Value value = attribute_value(attribute);
        if (value.is_error()) return cel::Value::error("attribute " + name + ": " + std::string(value.as_text()));
        attributes.add(name, std::move(value));
    }
    for (const auto& [name, amount] : device.capacity) capacity.add(name, cel::make_quantity(amount.value));
    return cel::Value::map(
        {{cel::Value::string("driver"), cel::Value::string(driver)},
         {cel::Value::string("allowMultipleAllocations"), cel::Value::boolean(device.allow_multiple_allocations.value_or(false))},
         {cel::Value::string("attributes"), attributes.made()},
         {cel::Value::string("capacity"), capacity.made()}});
}

}  // namespace

DeviceView::DeviceView(const std::string& driver, const Device& device) : value_(device_value(driver, device)) {}

DeviceSelector::DeviceSelector(const std::string& expression) {
    cel::Work work;
    *this = DeviceSelector(expression, work);
}

DeviceSelector::DeviceSelector(const std::string& expression, cel::Work& work) {
    auto compiled = selector_environment().compile(expression, work);
    if (!compiled) {
        problem_ = "compilation failed: " + compiled.error().to_string();
        work.make(problem_.size());
        return;
    }
    const cel::TypeRef type = compiled->type();
    if (type->is(cel::TypeKind::Bool) || type->is_any())
        program_ = *std::move(compiled);
    else
        problem_ = "must evaluate to bool or the unknown type, not " + type->to_string();
}

Result<bool> DeviceSelector::matches(const DeviceView& device, std::uint64_t& cost) const {
    if (device.value().is_error()) return Error(Reason::BadRequest, std::string(device.value().as_text()));
    const cel::Evaluation done = program_->evaluate(cel::Activation().set("device", device.value()), {.cost_limit = DeviceSelectorCost});
    cost += std::min(std::max(done.cost, done.work / cel::EvaluateOptions::WorkInUnit), DeviceSelectorCost);
    if (done.value.is_error()) return Error(Reason::BadRequest, std::string(done.value.as_text()));
    if (!done.value.is(cel::Kind::Bool))
        return Error(Reason::BadRequest, "CEL result of type " + done.value.type()->name + " could not be converted to bool");
    return done.value.as_bool();
}

}  // namespace porthole::objects
