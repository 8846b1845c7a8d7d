#include "scheduler/framework/extension_points.h"

#include <ranges>

namespace porthole::scheduler {

namespace {

Error failed(const char* point, const Plugin& plugin, Error error) {
    return std::move(error).with_context("running " + std::string(point) + " plugin \"" + std::string(plugin.name()) + "\"");
}

}  // namespace

PostFilter run_post_filters(const PluginCalls& calls, const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters) {
    PostFilter all;
    for (Plugin* plugin : calls.post_filters) {
        PostFilter result = plugin->post_filter(pod, diagnosis, filters);
        if (!result.nominated_node.empty() || result.later) return result;
        all.ends_nomination = all.ends_nomination || result.ends_nomination;
        if (result.message.empty()) continue;
        if (!all.message.empty()) all.message += ", ";
        all.message += result.message;
    }
    return all;
}

Result<void> run_reserve(const PluginCalls& calls, const PodInfo& pod, const std::string& node) {
    for (Plugin* plugin : calls.reservers) {
        auto reserved = plugin->reserve(pod, node);
        if (reserved) continue;
        run_unreserve(calls, pod, node);
        return failed("Reserve", *plugin, std::move(reserved).error());
    }
    return {};
}

void run_unreserve(const PluginCalls& calls, const PodInfo& pod, const std::string& node) {
    for (Plugin* plugin : calls.reservers | std::views::reverse) plugin->unreserve(pod, node);
}

Task<> run_pre_bind(const PluginCalls& calls, PodRef pod, std::string node) {
    for (Plugin* plugin : calls.binders) {
        auto done = co_await plugin->pre_bind(pod, node);
        if (!done) co_return failed("PreBind", *plugin, std::move(done).error());
    }
    co_return {};
}

}  // namespace porthole::scheduler
