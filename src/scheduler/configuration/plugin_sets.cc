#include "scheduler/configuration/plugin_sets.h"

#include <algorithm>
#include <optional>

#include "scheduler/plugins/registry.h"

namespace porthole::scheduler {

namespace {

namespace file = api::kubescheduler::v1;
using file::Plugins;
using schema::FieldErrors;
using schema::FieldPath;

/// A list of the file, and where its plugins are called here.
struct List {
    const char* name;
    file::PluginSet Plugins::* set;
    std::optional<Point> point;
};
constexpr List Lists[] = {
    {"preEnqueue", &Plugins::pre_enqueue, {}},
    {"queueSort", &Plugins::queue_sort, {}},
    {"preFilter", &Plugins::pre_filter, {}},
    {"filter", &Plugins::filter, Point::Filter},
    {"postFilter", &Plugins::post_filter, Point::PostFilter},
    {"preScore", &Plugins::pre_score, {}},
    {"score", &Plugins::score, Point::Score},
    {"reserve", &Plugins::reserve, Point::Reserve},
    {"permit", &Plugins::permit, {}},
    {"preBind", &Plugins::pre_bind, Point::PreBind},
    {"bind", &Plugins::bind, {}},
    {"postBind", &Plugins::post_bind, {}},
    {"multiPoint", &Plugins::multi_point, {}},
    {"placementGenerate", &Plugins::placement_generate, {}},
    {"placementScore", &Plugins::placement_score, {}},
};

/// Plugins of upstream that the queue and the binding are here.
struct BuiltIn {
    std::string_view name;
    file::PluginSet Plugins::* set;
    const char* list;
};
constexpr BuiltIn BuiltIns[] = {
    {"SchedulingGates", &Plugins::pre_enqueue, "preEnqueue"},
    {"PrioritySort", &Plugins::queue_sort, "queueSort"},
    {"DefaultBinder", &Plugins::bind, "bind"},
};
/// Of upstream, off here and there by default or without an effect on what is scheduled here; nobody has to be told that they are off.
constexpr std::string_view NotHere[] = {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"};

const PluginEntry* find_entry(std::string_view name) {
    const auto found = std::ranges::find(plugin_entries(), name, &PluginEntry::name);
    return found == plugin_entries().end() ? nullptr : &*found;
}
bool is_built_in(std::string_view name) { return std::ranges::find(BuiltIns, name, &BuiltIn::name) != std::end(BuiltIns); }

const file::Plugin* find(const std::vector<file::Plugin>& list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &file::Plugin::name);
    return found == list.end() ? nullptr : &*found;
}
bool disables(const file::PluginSet& set, std::string_view name) { return find(set.disabled, name) || find(set.disabled, "*"); }

std::int64_t weight_of(const file::Plugin& plugin) { return plugin.weight.value_or(0) == 0 ? 1 : *plugin.weight; }

class Sets {
public:
    Sets(const Plugins& given, const FieldPath& path, FieldErrors& errors) : given_(given), path_(path), errors_(errors) {}

    std::array<std::vector<PluginUse>, PointCount> run() {
        for (const List& list : Lists) check(list);
        check_built_ins();
        choose_everywhere();
        std::array<std::vector<PluginUse>, PointCount> uses;
        for (const List& list : Lists) {
            if (list.point) uses[static_cast<std::size_t>(*list.point)] = uses_at(list);
        }
        for (const List& list : Lists) {
            if (list.point && *list.point != Point::Filter) drop_unprepared(list, uses);
        }
        return uses;
    }

private:
    void check(const List& list) {
        const file::PluginSet& set = given_.*list.set;
        const FieldPath path = path_.child(list.name);
        const bool everywhere = list.set == &Plugins::multi_point;
        for (std::size_t i = 0; i < set.enabled.size(); ++i) {
            const file::Plugin& plugin = set.enabled[i];
            const FieldPath at = path.child("enabled").index(i);
            if (find(set.enabled, plugin.name) != &plugin) errors_.duplicate(at.child("name"), plugin.name);
            if (plugin.weight.value_or(0) < 0) errors_.invalid(at.child("weight"), *plugin.weight, "must not be negative");
            if (!find_entry(plugin.name) && !is_built_in(plugin.name))
                errors_.invalid(at.child("name"), plugin.name, "this scheduler has no plugin of that name; it has " + all_names());
            else if (!everywhere && !extends(plugin.name, list))
                refuse_point(at.child("name"), plugin.name, list);
        }
        for (std::size_t i = 0; i < set.disabled.size(); ++i) {
            const std::string& name = set.disabled[i].name;
            if (name == "*" || find_entry(name) || is_built_in(name) || std::ranges::find(NotHere, name) != std::end(NotHere)) continue;
            warn(path.child("disabled").index(i), "this scheduler has no plugin " + name);
        }
        const bool prepares = list.set == &Plugins::pre_filter || list.set == &Plugins::pre_score;
        if (prepares && !(set.enabled.empty() && set.disabled.empty()))
            warn(path, "a plugin prepares itself wherever it is called at the next extension point");
    }
    /// Upstream's VolumeBinding scores only by a feature that is off, and may be named for it.
    void refuse_point(const FieldPath& path, const std::string& name, const List& list) {
        if (list.set == &Plugins::score && name == "VolumeBinding") return warn(path, name + " does not score");
        errors_.invalid(path, name, std::string("the plugin does not extend ") + list.name);
    }
    static bool extends(const std::string& name, const List& list) {
        if (const PluginEntry* entry = find_entry(name)) {
            if (list.point) return entry->has(*list.point);
            if (list.set == &Plugins::pre_filter) return entry->has(Point::Filter);
            if (list.set == &Plugins::pre_score) return entry->has(Point::Score);
            return list.set == &Plugins::pre_enqueue && name == "DynamicResources";
        }
        const auto built_in = std::ranges::find(BuiltIns, name, &BuiltIn::name);
        return built_in->set == list.set;
    }

    void check_built_ins() {
        for (const auto& [name, set, list] : BuiltIns) {
            const file::PluginSet &own = given_.*set, &everywhere = given_.multi_point;
            const bool is_everywhere = find(everywhere.enabled, name) || !disables(everywhere, name);
            if (find(own.enabled, name) || (is_everywhere && !disables(own, name))) continue;
            if (name == "SchedulingGates")
                warn(path_.child(list), "scheduling gates are always observed");
            else
                errors_.required(path_.child(list), std::string(name) + " cannot be disabled: there is no other plugin for it");
        }
    }

    /// What multiPoint leaves of the default plugins, and adds to them.
    void choose_everywhere() {
        const file::PluginSet& set = given_.multi_point;
        for (const PluginEntry& entry : plugin_entries()) {
            if (disables(set, entry.name)) continue;
            const file::Plugin* changed = find(set.enabled, entry.name);
            everywhere_.push_back({std::string(entry.name), changed ? weight_of(*changed) : 0});
        }
        const auto defaults = everywhere_.size();
        for (const file::Plugin& plugin : set.enabled) {
            const auto known = std::ranges::find(everywhere_.begin(), everywhere_.begin() + static_cast<std::ptrdiff_t>(defaults),
                                                 plugin.name, &PluginUse::plugin);
            if (known == everywhere_.begin() + static_cast<std::ptrdiff_t>(defaults) && find_entry(plugin.name))
                everywhere_.push_back({plugin.name, weight_of(plugin)});
        }
    }

    /// First those that multiPoint has too, in the order of the extension point's own list; then the others of multiPoint, and of the list.
    std::vector<PluginUse> uses_at(const List& list) const {
        const file::PluginSet& set = given_.*list.set;
        const auto applies = [&](const std::string& name) {
            const PluginEntry* entry = find_entry(name);
            return entry && entry->has(*list.point);
        };
        const bool skips_all = find(set.disabled, "*") != nullptr;
        const auto overrides = [&](const file::Plugin& plugin) {
            return !skips_all && !find(set.disabled, plugin.name) &&
                   std::ranges::find(everywhere_, plugin.name, &PluginUse::plugin) != everywhere_.end();
        };
        std::vector<PluginUse> uses;
        for (const bool first : {true, false}) {
            for (const file::Plugin& plugin : set.enabled)
                if (applies(plugin.name) && overrides(plugin) == first) uses.push_back({plugin.name, weight_of(plugin)});
            if (!first || skips_all) continue;
            for (const PluginUse& use : everywhere_)
                if (applies(use.plugin) && !find(set.disabled, use.plugin) && !find(set.enabled, use.plugin)) uses.push_back(use);
        }
        return uses;
    }

    /// What a plugin does after filtering depends on the state that it has then, which is otherwise that of an earlier pod.
    void drop_unprepared(const List& list, std::array<std::vector<PluginUse>, PointCount>& uses) const {
        const std::vector<PluginUse>& filters = uses[static_cast<std::size_t>(Point::Filter)];
        std::erase_if(uses[static_cast<std::size_t>(*list.point)], [&](const PluginUse& use) {
            const PluginEntry& entry = *find_entry(use.plugin);
            // Only a plugin that reserves scores what its filter has found; the others prepare themselves for scoring.
            if (*list.point == Point::Score && !entry.has(Point::Reserve)) return false;
            return entry.has(Point::Filter) && std::ranges::find(filters, use.plugin, &PluginUse::plugin) == filters.end();
        });
    }

    static std::string all_names() {
        std::string names;
        for (const PluginEntry& entry : plugin_entries()) names += (names.empty() ? "" : ", ") + std::string(entry.name);
        for (const BuiltIn& one : BuiltIns) names += ", " + std::string(one.name);
        return names;
    }
    void warn(const FieldPath& path, const std::string& why) { errors_.warn(std::string(path.text()) + " has no effect: " + why); }

    const Plugins& given_;
    const FieldPath path_;
    FieldErrors& errors_;
    std::vector<PluginUse> everywhere_;
};

}  // namespace

std::array<std::vector<PluginUse>, PointCount> plugin_uses(const Plugins& given, const FieldPath& path, FieldErrors& errors) {
    return Sets(given, path, errors).run();
}

}  // namespace porthole::scheduler
