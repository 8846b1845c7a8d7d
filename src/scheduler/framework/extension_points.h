#pragma once
#include <string>

#include "scheduler/framework/plugin.h"

/// Calls to all plugins after a cycle, in the order of the list. Errors name extension point and plugin, with upstream's message.
namespace porthole::scheduler {

/// The first plugin that nominates a node ends it. Otherwise the messages of all, separated by a space.
PostFilter run_post_filters(const PluginList& plugins, const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters);

/// On the first failure it calls run_unreserve() and returns the error.
Result<void> run_reserve(const PluginList& plugins, const PodInfo& pod, const std::string& node);
/// In reverse order, and for every plugin, including those whose reserve() failed or was not called.
void run_unreserve(const PluginList& plugins, const PodInfo& pod, const std::string& node);

/// Ends at the first failure; it is for the caller to unreserve.
Task<> run_pre_bind(const PluginList& plugins, PodRef pod, std::string node);

}  // namespace porthole::scheduler
