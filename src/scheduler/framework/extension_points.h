#pragma once
#include <string>

#include "scheduler/framework/plugin.h"

/// What is asked of all plugins once a cycle is over, in the order of the list. The errors name extension point and plugin, in
/// upstream's words.
namespace porthole::scheduler {

/// The first plugin that nominates a node ends it. Otherwise the messages of all, separated by a space.
PostFilter run_post_filters(const PluginList& plugins, const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters);

/// On the first failure it calls run_unreserve() and returns the error.
Result<void> run_reserve(const PluginList& plugins, const PodInfo& pod, const std::string& node);
/// In reverse order, and of every plugin: also of those whose reserve() failed or was not called.
void run_unreserve(const PluginList& plugins, const PodInfo& pod, const std::string& node);

/// Ends at the first failure; it is for the caller to unreserve.
Task<> run_pre_bind(const PluginList& plugins, PodRef pod, std::string node);

}  // namespace porthole::scheduler
