#pragma once
#include <string>

#include "scheduler/framework/plugin.h"

/// Calls to the plugins of a profile after a cycle, in its order. Errors name extension point and plugin, with upstream's message.
namespace porthole::scheduler {

/// The first plugin that nominates a node, or will answer later, ends it. Otherwise the messages of all, separated by commas.
PostFilter run_post_filters(const PluginCalls& calls, const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters);

/// On the first failure it calls run_unreserve() and returns the error.
Result<void> run_reserve(const PluginCalls& calls, const PodInfo& pod, const std::string& node);
/// In reverse order, and for every plugin, including those whose reserve() failed or was not called.
void run_unreserve(const PluginCalls& calls, const PodInfo& pod, const std::string& node);

/// Ends at the first failure; it is for the caller to unreserve.
Task<> run_pre_bind(const PluginCalls& calls, PodRef pod, std::string node);

}  // namespace porthole::scheduler
