#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "schema/convert.h"
#include "schema/value.h"

namespace porthole::net {
class TlsClientContext;
}

namespace porthole::scheduler {

/// Where a plugin is called. PreFilter belongs to Filter here, and PreScore to Score: they prepare the state of these.
enum class Point : std::uint8_t { Filter, PostFilter, Score, Reserve, PreBind };
inline constexpr std::size_t PointCount = 5;
using PointSet = std::uint8_t;
constexpr PointSet bit(Point point) { return static_cast<PointSet>(1u << static_cast<unsigned>(point)); }
constexpr PointSet operator|(Point one, Point other) { return bit(one) | bit(other); }
constexpr PointSet operator|(PointSet set, Point other) { return set | bit(other); }
constexpr PointSet operator+(Point one) { return bit(one); }

/// A plugin that an extension point calls.
struct PluginUse {
    std::string plugin;
    std::int64_t weight = 0;  ///< 0: the plugin's own. Only for Point::Score
    bool operator==(const PluginUse&) const = default;
};

/// How the pods of one scheduler name are placed.
struct ProfileConfiguration {
    std::string scheduler_name = "default-scheduler";
    std::optional<std::int64_t> percentage_of_nodes_to_score;  ///< instead of that of the Configuration
    /// By Point, in the order of the calls; nullopt: all plugins, in their own order.
    std::optional<std::array<std::vector<PluginUse>, PointCount>> plugins;
    /// By plugin: objects of the type `<plugin>Args` of api/kubescheduler.v1, which have been validated. Only those that were given.
    std::map<std::string, schema::Value, std::less<>> arguments;
};

/// A server that is asked about pods, over HTTP: an entry of `extenders`. A verb is "" for what it does not do.
struct ExtenderConfiguration {
    std::string url_prefix;  ///< http or https
    std::string filter_verb, prioritize_verb, preempt_verb, bind_verb;
    std::int64_t weight = 0;  ///< of its scores; > 0 if it gives any
    Duration timeout = std::chrono::seconds(5);
    std::shared_ptr<const net::TlsClientContext> tls;  ///< null for http
    bool node_cache_capable = false;                   ///< gets names of nodes, and identifiers of pods, instead of objects
    bool ignorable = false;                            ///< its failures do not stop a decision
    std::vector<std::string> managed_resources;        ///< it is asked only about pods that name one of them; empty: about all
};

/// The content of a KubeSchedulerConfiguration; by default what there is without one.
struct Configuration {
    std::int64_t percentage_of_nodes_to_score = 0;  ///< 0: by the size of the cluster
    Duration initial_backoff = std::chrono::seconds(1), longest_backoff = std::chrono::seconds(10);
    std::vector<ProfileConfiguration> profiles{1};  ///< never empty, and of different names
    std::vector<ExtenderConfiguration> extenders;   ///< in the order of the calls

    /// Requires: there is one.
    const ProfileConfiguration& profile(std::string_view scheduler_name) const;
};

/// The arguments of a plugin, with the defaults of the schema. `plugin` is its name in files.
schema::Value arguments_value(const ProfileConfiguration& profile, std::string_view plugin, const schema::Type& type);
template <class Arguments>
Arguments arguments_of(const ProfileConfiguration& profile, std::string_view plugin) {
    return schema::from_value<Arguments>(arguments_value(profile, plugin, Arguments::schema_type())).value();
}

}  // namespace porthole::scheduler
