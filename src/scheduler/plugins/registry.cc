#include "scheduler/plugins/registry.h"

#include <algorithm>

#include "base/result.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

using Factory = std::unique_ptr<Plugin> (*)(const Handle&);

constexpr Factory Factories[] = {
#define PORTHOLE_PLUGIN(name, Name, points) make_##name,
#include "scheduler/plugins/plugins.def"
#undef PORTHOLE_PLUGIN
};

constexpr PluginEntry Entries[] = {
#define PORTHOLE_PLUGIN(name, Name, points) {#Name, points},
#include "scheduler/plugins/plugins.def"
#undef PORTHOLE_PLUGIN
};

/// Makes plugins, and lets profiles share those that are alike.
class Maker {
public:
    explicit Maker(const Handle& handle) : handle_(handle) {}

    ConfiguredPlugins run() {
        for (const ProfileConfiguration& profile : handle_.configuration.profiles) {
            std::vector<std::uint32_t> positions;  // by entry
            for (std::size_t entry = 0; entry < std::size(Entries); ++entry) {
                positions.push_back(position_of(entry, profile));
            }
            made_.calls.push_back(calls_of(profile, positions));
        }
        return std::move(made_);
    }

private:
    struct Made {
        std::size_t entry;
        const ProfileConfiguration* profile;  // for which it was made
    };

    std::uint32_t position_of(std::size_t entry, const ProfileConfiguration& profile) {
        const auto known = std::ranges::find_if(made_for_, [&](const Made& made) { return made.entry == entry && serves(made, profile); });
        if (known != made_for_.end()) return static_cast<std::uint32_t>(known - made_for_.begin());
        CHECK(made_for_.size() < MostPlugins);
        made_.plugins.push_back(Factories[entry]({.context = handle_.context,
                                                  .configuration = handle_.configuration,
                                                  .profile = profile,
                                                  .events_of = handle_.events_of,
                                                  .cluster = handle_.cluster,
                                                  .scope = handle_.scope,
                                                  .happened = handle_.happened,
                                                  .reviewer = handle_.reviewer}));
        CHECK(made_.plugins.back()->name() == Entries[entry].name);
        made_for_.push_back({entry, &profile});
        return static_cast<std::uint32_t>(made_for_.size() - 1);
    }

    /// One that reserves has to know what the pods of all profiles have reserved.
    static bool serves(const Made& made, const ProfileConfiguration& profile) {
        const PluginEntry& entry = Entries[made.entry];
        if (entry.has(Point::Reserve)) return true;
        const auto mine = profile.arguments.find(entry.name), its = made.profile->arguments.find(entry.name);
        const bool given = mine != profile.arguments.end(), has = its != made.profile->arguments.end();
        return given == has && (!given || mine->second == its->second);
    }

    PluginCalls calls_of(const ProfileConfiguration& profile, const std::vector<std::uint32_t>& positions) const {
        PluginCalls calls;
        for (std::size_t point = 0; point < PointCount; ++point) {
            if (profile.plugins) {
                for (const PluginUse& use : (*profile.plugins)[point]) {
                    const auto entry = std::ranges::find(Entries, use.plugin, &PluginEntry::name);
                    CHECK(entry != std::end(Entries));
                    add(static_cast<Point>(point), positions[static_cast<std::size_t>(entry - Entries)], use.weight, calls);
                }
                continue;
            }
            for (std::size_t entry = 0; entry < std::size(Entries); ++entry) {
                if (Entries[entry].has(static_cast<Point>(point))) add(static_cast<Point>(point), positions[entry], 0, calls);
            }
        }
        return calls;
    }

    void add(Point point, std::uint32_t position, std::int64_t weight, PluginCalls& calls) const {
        Plugin* plugin = made_.plugins[position].get();
        switch (point) {
            case Point::Filter:
                return calls.filters.push_back({position, plugin});
            case Point::PostFilter:
                return calls.post_filters.push_back(plugin);
            case Point::Score:
                return calls.scorers.push_back({plugin, weight == 0 ? plugin->weight() : weight});
            case Point::Reserve:
                return calls.reservers.push_back(plugin);
            case Point::PreBind:
                return calls.binders.push_back(plugin);
        }
    }

    const Handle& handle_;
    ConfiguredPlugins made_;
    std::vector<Made> made_for_;  // by position
};

}  // namespace

std::span<const PluginEntry> plugin_entries() { return Entries; }

ConfiguredPlugins make_plugins(const Handle& handle) { return Maker(handle).run(); }

}  // namespace porthole::scheduler
