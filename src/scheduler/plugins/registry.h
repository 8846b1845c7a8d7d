#pragma once
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// The default plugins in the order of their filters: for each node the first that turns it down ends the chain.
PluginList make_plugins(const Handle& handle);

}  // namespace porthole::scheduler
