#include <algorithm>
#include <array>
#include <ranges>

#include "apiserver/admission/plugins.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

enum class When { Always, On, Off };

struct Listed {
    std::string_view name;
    When when;
    Result<AdmissionPluginPtr> (*make)(const AdmissionDependencies& given);
};

/// plugins.def, in its order.
constexpr Listed Plugins[] = {
#define PORTHOLE_ADMISSION_PLUGIN(name, Name, when) \
    {#Name, When::when, [](const AdmissionDependencies& given) -> Result<AdmissionPluginPtr> { return make_##name(given); }},
#define PORTHOLE_CONFIGURED_ADMISSION_PLUGIN(name, Name, when) {#Name, When::when, make_##name},
#include "apiserver/admission/plugins.def"
};

/// What upstream has and this server does not. They can be disabled, which changes nothing, but not enabled.
constexpr std::array<std::string_view, 10> Missing = {
    "AlwaysAdmit",
    "AlwaysDeny",
    "ExtendedResourceToleration",
    "JobValidation",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "OwnerReferencesPermissionEnforcement",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
};

bool contains(const std::vector<std::string>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_switchable(std::string_view name) {
    return std::ranges::any_of(Plugins, [&](const Listed& one) { return one.name == name && one.when != When::Always; });
}

Error refused(const std::string& what) { return Error(Reason::BadRequest, what); }

Result<void> check_names(const AdmissionOptions& options) {
    for (const std::string& name : options.enabled) {
        if (is_switchable(name)) continue;
        if (std::ranges::find(Missing, name) != Missing.end())
            return refused("enable-admission-plugins plugin " + quote(name) + " is not supported by this server");
        return refused("enable-admission-plugins plugin " + quote(name) + " is unknown");
    }
    for (const std::string& name : options.disabled)
        if (!is_switchable(name) && std::ranges::find(Missing, name) == Missing.end())
            return refused("disable-admission-plugins plugin " + quote(name) + " is unknown");
    std::vector<std::string> both;
    std::ranges::copy_if(options.enabled, std::back_inserter(both),
                         [&](const std::string& name) { return contains(options.disabled, name); });
    if (both.empty()) return {};
    std::ranges::sort(both);
    return refused("[" + join(both, " ") + "] in enable-admission-plugins and disable-admission-plugins overlapped");
}

bool runs(const Listed& plugin, const AdmissionOptions& options) {
    if (plugin.when == When::Always) return true;
    return contains(options.enabled, plugin.name) || (plugin.when == When::On && !contains(options.disabled, plugin.name));
}

}  // namespace

Result<AdmissionChain> make_admission_chain(AdmissionDependencies dependencies, const AdmissionOptions& options) {
    TRY_VOID(check_names(options));
    dependencies.configurations = &options.configurations;
    dependencies.windows_strict = options.windows_strict;
    dependencies.identify_pod_os = options.identify_pod_os;
    AdmissionChain chain;
    for (const Listed& listed : Plugins) {
        if (!runs(listed, options)) continue;
        auto plugin = listed.make(dependencies);
        if (!plugin) return std::move(plugin).error().with_context("admission plugin " + quote(listed.name));
        if ((*plugin)->name() != listed.name)
            return Error(Reason::InternalError, "plugins.def calls an admission plugin " + quote(listed.name) + ", which calls itself " +
                                                    quote((*plugin)->name()));
        chain.add(std::move(*plugin));
    }
    return chain;
}

std::string admission_plugin_help() {
    std::string on, off;
    for (const Listed& listed : Plugins) {
        if (listed.when == When::Always) continue;
        std::string& names = listed.when == When::On ? on : off;
        if (!names.empty()) names += ", ";
        names += listed.name;
    }
    return "on without this flag: " + on + "; others: " + off;
}

}  // namespace porthole::apiserver
