#pragma once
#include <memory>
#include <string_view>

#include "scheduler/framework/plugin.h"

/// The plugins of plugins.def.
namespace porthole::scheduler {

/// The reason of TaintToleration.
inline constexpr std::string_view UntoleratedTaint = "node(s) had untolerated taint(s)";

#define PORTHOLE_PLUGIN(name, Name, points) std::unique_ptr<Plugin> make_##name(const Handle& handle);
#include "scheduler/plugins/plugins.def"
#undef PORTHOLE_PLUGIN

}  // namespace porthole::scheduler
