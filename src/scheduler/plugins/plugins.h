#pragma once
#include <memory>

#include "scheduler/framework/plugin.h"

/// The plugins of plugins.def.
namespace porthole::scheduler {

#define PORTHOLE_PLUGIN(name) std::unique_ptr<Plugin> make_##name(const Handle& handle);
#include "scheduler/plugins/plugins.def"
#undef PORTHOLE_PLUGIN

}  // namespace porthole::scheduler
