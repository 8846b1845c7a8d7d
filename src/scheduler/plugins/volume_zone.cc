#include <algorithm>
#include <array>
#include <set>

#include "api/core_v1.h"
#include "base/strings.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;

constexpr const char *Zone = "topology.kubernetes.io/zone", *Region = "topology.kubernetes.io/region";
constexpr const char *BetaZone = "failure-domain.beta.kubernetes.io/zone", *BetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::array Keys{BetaZone, BetaRegion, Zone, Region};

const std::string* find_label(const Labels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
}

/// "a__b": zones a and b. Empty: the label is not understood, and does not count.
std::set<std::string> zones_of(const std::string& label) {
    std::set<std::string> zones;
    std::string_view rest = label;
    for (;;) {
        const std::size_t end = rest.find("__");
        const auto zone = trim(rest.substr(0, end));
        if (zone.empty()) return {};
        zones.emplace(zone);
        if (end == std::string_view::npos) return zones;
        rest.remove_prefix(end + 2);
    }
}

/// Zone and region in the labels of a pod's PersistentVolumes are those of the node, if it has any.
class VolumeZone final : public Plugin {
public:
    explicit VolumeZone(const Handle& handle)
        : claims_(handle.context.informers.get<PersistentVolumeClaim>()), volumes_(handle.context.informers.get<PersistentVolume>()) {}

    std::string_view name() const override { return "VolumeZone"; }
    Task<> wait_for_sync() override {
        CO_TRY_VOID(co_await claims_.wait_for_sync());
        co_return co_await volumes_.wait_for_sync();
    }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        places_.clear();
        for (const std::string& name : pod.claims) {
            const auto claim = claims_.find({pod.namespace_, name});
            if (!claim || claim->spec.volume_name.empty()) continue;
            const auto volume = volumes_.find({"", claim->spec.volume_name});
            if (!volume) return PreFilter::reject("persistentvolume \"" + claim->spec.volume_name + "\" not found");
            for (const char* key : Keys)
                if (const std::string* label = find_label(volume->metadata.labels, key))
                    if (auto zones = zones_of(*label); !zones.empty()) places_.push_back({key, std::move(zones)});
        }
        return places_.empty() ? PreFilter::skip() : PreFilter::run();
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        const Labels& labels = node.spec().labels;
        if (std::ranges::none_of(Keys, [&](const char* key) { return find_label(labels, key); })) return true;
        if (std::ranges::all_of(places_, [&](const Place& place) { return place.has(labels); })) return true;
        status.reject("node(s) had no available volume zone", false);
        return false;
    }
    bool queueing_hint(const ClusterEvent& event, const PodInfo&) const override {
        return event.kind == ClusterEvent::Kind::VolumesChanged || event.kind == ClusterEvent::Kind::NodeAdded ||
               (event.kind == ClusterEvent::Kind::NodeChanged && event.old_node->labels != event.node->labels);
    }

private:
    struct Place {
        const char* key;
        std::set<std::string> values;

        /// A volume's old key also means a node's new one.
        bool has(const Labels& labels) const {
            const std::string* value = find_label(labels, key);
            if (!value && key == BetaZone) value = find_label(labels, Zone);
            if (!value && key == BetaRegion) value = find_label(labels, Region);
            return value && values.contains(*value);
        }
    };

    client::Informer<PersistentVolumeClaim>& claims_;
    client::Informer<PersistentVolume>& volumes_;
    std::vector<Place> places_;  // of all volumes of the pod
};

}  // namespace

std::unique_ptr<Plugin> make_volume_zone(const Handle& handle) { return std::make_unique<VolumeZone>(handle); }

}  // namespace porthole::scheduler
