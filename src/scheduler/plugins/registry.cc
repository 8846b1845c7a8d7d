#include "scheduler/plugins/registry.h"

#include <set>

#include "base/result.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

PluginList make_plugins(const Handle& handle) {
    using Factory = std::unique_ptr<Plugin> (*)(const Handle&);
    constexpr Factory factories[] = {
#define PORTHOLE_PLUGIN(name) make_##name,
#include "scheduler/plugins/plugins.def"
#undef PORTHOLE_PLUGIN
    };
    PluginList plugins;
    std::set<std::string_view> names;
    for (const Factory make : factories) {
        plugins.push_back(make(handle));
        CHECK(names.insert(plugins.back()->name()).second);
    }
    return plugins;
}

}  // namespace porthole::scheduler
