#include "apiserver/admission/admission.h"

#include "apiserver/request/status.h"

namespace porthole::apiserver {
namespace {

/// As upstream names what a request is about: a name may still have to be generated, and a deletecollection has none.
std::string_view told_name(const AdmissionAttributes& attributes) {
    if (!attributes.name.empty()) return attributes.name;
    const bool has_metadata = attributes.object && attributes.object->kind().type->find_field("metadata");
    if (!has_metadata) return "Unknown";
    const auto& metadata = attributes.object->metadata();
    if (!metadata.name.empty()) return metadata.name;
    return metadata.generate_name.empty() ? std::string_view("Unknown") : metadata.generate_name;
}

}  // namespace

Task<> AdmissionPlugin::admit(AdmissionAttributes&) { co_return {}; }
Task<> AdmissionPlugin::validate(const AdmissionAttributes&) { co_return {}; }

void AdmissionChain::add(std::unique_ptr<AdmissionPlugin> plugin) {
    for (const auto& other : plugins_) CHECK(other->name() != plugin->name());
    plugins_.push_back(std::move(plugin));
}

std::vector<std::string> AdmissionChain::names() const {
    std::vector<std::string> names;
    for (const auto& plugin : plugins_) names.emplace_back(plugin->name());
    return names;
}

Task<> AdmissionChain::admit(AdmissionAttributes& attributes) const {
    for (const auto& plugin : plugins_) {
        if (plugin->handles(attributes)) CO_TRY_VOID(co_await plugin->admit(attributes));
    }
    if (!attributes.reinvocation.changed) co_return {};
    // As upstream: once, and by all, since what a webhook adds may need the defaults of the others.
    attributes.reinvocation.running = true;
    for (const auto& plugin : plugins_) {
        if (plugin->handles(attributes)) CO_TRY_VOID(co_await plugin->admit(attributes));
    }
    co_return {};
}

Task<> AdmissionChain::validate(const AdmissionAttributes& attributes) const {
    for (const auto& plugin : plugins_) {
        if (plugin->handles(attributes)) CO_TRY_VOID(co_await plugin->validate(attributes));
    }
    co_return {};
}

Error admission_forbidden(const AdmissionAttributes& attributes, const std::string& why) {
    return forbidden_object(attributes.kind, told_name(attributes), why);
}

}  // namespace porthole::apiserver
