#include "apiserver/admission/admission.h"

namespace porthole::apiserver {

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
    for (const auto& plugin : plugins_) CO_TRY_VOID(co_await plugin->admit(attributes));
    if (!attributes.reinvocation.changed) co_return {};
    // As upstream: once, and by all, since what a webhook adds may need the defaults of the others.
    attributes.reinvocation.running = true;
    for (const auto& plugin : plugins_) CO_TRY_VOID(co_await plugin->admit(attributes));
    co_return {};
}

Task<> AdmissionChain::validate(const AdmissionAttributes& attributes) const {
    for (const auto& plugin : plugins_) CO_TRY_VOID(co_await plugin->validate(attributes));
    co_return {};
}

Error admission_forbidden(const AdmissionAttributes& attributes, const std::string& why) {
    Error error(Reason::Forbidden, "");
    error.details->group = attributes.kind.group;
    error.details->kind = attributes.kind.plural;
    error.details->name = attributes.name;
    const std::string group = attributes.kind.group.empty() ? "" : "." + std::string(attributes.kind.group);
    error.message = std::string(attributes.kind.plural) + group + " \"" + attributes.name + "\" is forbidden: " + why;
    return error;
}

}  // namespace porthole::apiserver
