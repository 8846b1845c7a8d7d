#include "scheduler/plugins/volume_binder.h"

#include <algorithm>

#include "api/storage_v1.h"
#include "objects/volume_match.h"
#include "scheduler/framework/convert.h"
#include "scheduler/framework/plugin.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
namespace storage = api::storage::v1;
using schema::Value;

constexpr const char* NoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* SelectedNode = "volume.kubernetes.io/selected-node";
constexpr Duration LongestVolumeWait = std::chrono::minutes(10);

VolumeInfo volume_info(const core::PersistentVolume& volume) {
    VolumeInfo info;
    if (!volume.spec.node_affinity || !volume.spec.node_affinity->required) return info;
    info.node_terms.emplace();
    for (const auto& term : volume.spec.node_affinity->required->node_selector_terms) info.node_terms->push_back(node_term(term));
    return info;
}

std::string key_of(const PodInfo& pod, const std::string& claim) { return pod.namespace_ + "/" + claim; }

std::string selected_node(const core::PersistentVolumeClaim& claim) {
    const auto found = claim.metadata.annotations.find(SelectedNode);
    return found == claim.metadata.annotations.end() ? "" : found->second;
}

template <class T>
const T* find_in(const std::unordered_map<std::string, T>& all, const std::string& key) {
    const auto found = all.find(key);
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace

VolumeBinder::VolumeBinder(const Handle& handle)
    : handle_(handle),
      claim_source_(handle_.context.informers.get<core::PersistentVolumeClaim>()),
      volume_source_(handle_.context.informers.get<core::PersistentVolume>()),
      classes_(handle_.context.informers.get<storage::StorageClass>()) {
    claim_source_.subscribe({.added =
                                 [this](const auto& now) {
                                     claim_seen(*now);
                                     changed();
                                 },
                             .updated =
                                 [this](const auto&, const auto& now) {
                                     claim_seen(*now);
                                     changed();
                                 },
                             .deleted =
                                 [this](const auto& last) {
                                     claims_.erase(client::key_of(*last).text());
                                     reservations_.erase(client::key_of(*last).text());
                                 }});
    volume_source_.subscribe({.added = [this](const auto& now) { volume_seen(*now); },
                              .updated = [this](const auto&, const auto& now) { volume_seen(*now); },
                              .deleted =
                                  [this](const auto& last) {
                                      volumes_.erase(last->metadata.name);
                                      volumes_moved();
                                  }});
    classes_.on_change([this](const storage::StorageClass&) {
        for (const auto& claim : claim_source_.list()) claim_seen(*claim);
        changed();
    });
}

Task<> VolumeBinder::wait_for_sync() {
    for (client::InformerCore* source : {&claim_source_.core(), &volume_source_.core(), &classes_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    co_return {};
}

const ClaimInfo* VolumeBinder::find_claim(const PodInfo& pod, const std::string& name) const { return find_in(claims_, key_of(pod, name)); }

const std::string* VolumeBinder::find_reserved_node(const PodInfo& pod, const std::string& name) const {
    const Reservation* found = find_in(reservations_, key_of(pod, name));
    return found ? &found->node : nullptr;
}

void VolumeBinder::reserve(const PodInfo& pod, const std::string& node) {
    for (const std::string& name : pod.claims) {
        const ClaimInfo* claim = find_claim(pod, name);
        if (!claim || !claim->volume.empty()) continue;
        Reservation& reservation = reservations_[key_of(pod, name)];
        reservation.node = node;
        reservation.pods.insert(pod.uid);
    }
}

void VolumeBinder::unreserve(const PodInfo& pod) {
    for (const std::string& name : pod.claims) {
        const auto found = reservations_.find(key_of(pod, name));
        if (found == reservations_.end() || found->second.pods.erase(pod.uid) == 0 || !found->second.pods.empty()) continue;
        reservations_.erase(found);
        changed();
    }
}

const VolumeInfo* VolumeBinder::find_volume(const std::string& name) const { return find_in(volumes_, name); }

void VolumeBinder::claim_seen(const core::PersistentVolumeClaim& claim) {
    const auto storage_class = classes_.find({"", claim.spec.storage_class_name.value_or("")});
    const bool bound = claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed") || claim.status.phase == "Bound";
    ClaimInfo info{.volume = bound ? claim.spec.volume_name : "",
                   .terminating = claim.metadata.deletion_timestamp.has_value(),
                   .selected_node = selected_node(claim),
                   .waits_for_consumer = storage_class && storage_class->volume_binding_mode == "WaitForFirstConsumer"};
    if (!bound && info.waits_for_consumer && storage_class->provisioner == NoProvisioner) info.candidates = candidates_for(claim);
    const std::string key = client::key_of(claim).text();
    if (bound) reservations_.erase(key);
    claims_[key] = std::move(info);
}

void VolumeBinder::volume_seen(const core::PersistentVolume& volume) {
    volumes_[volume.metadata.name] = volume_info(volume);
    volumes_moved();
    changed();
}

std::vector<std::string> VolumeBinder::candidates_for(const core::PersistentVolumeClaim& claim) const {
    std::vector<std::string> names;
    for (const auto& volume : volume_source_.list()) {
        const bool free = !volume->spec.claim_ref && objects::fits(*volume, claim, nullptr);
        if (free || objects::is_reserved_for(*volume, claim)) names.push_back(volume->metadata.name);
    }
    return names;
}

void VolumeBinder::volumes_moved() {
    for (const auto& claim : claim_source_.list()) {
        const ClaimInfo* known = find_in(claims_, client::key_of(*claim).text());
        if (known && known->candidates) claim_seen(*claim);
    }
}

void VolumeBinder::changed() {
    changed_.set();
    handle_.happened({.kind = ClusterEvent::Kind::VolumesChanged});
}

bool VolumeBinder::all_bound(const PodInfo& pod) const {
    return std::ranges::all_of(pod.claims, [&](const std::string& name) {
        const ClaimInfo* claim = find_claim(pod, name);
        return claim && !claim->volume.empty();
    });
}

std::set<std::string> VolumeBinder::selected_for(const PodInfo& pod, const std::string& node) const {
    std::set<std::string> names;
    for (const std::string& name : pod.claims) {
        const ClaimInfo* claim = find_claim(pod, name);
        if (claim && claim->volume.empty() && claim->selected_node == node) names.insert(name);
    }
    return names;
}

Task<> VolumeBinder::bind(PodRef pod, std::string node) {
    if (all_bound(*pod)) co_return {};
    for (const std::string& name : pod->claims) {
        const ClaimInfo* claim = find_claim(*pod, name);
        if (claim && !claim->volume.empty()) continue;
        const Value patch = Value::object({{"metadata", Value::object({{"annotations", Value::object({{SelectedNode, node}})}})}});
        CO_TRY_VOID(co_await handle_.context.client.patch<core::PersistentVolumeClaim>({pod->namespace_, name}, client::PatchType::Merge,
                                                                                       schema::to_json(patch)));
    }
    const EventLoop& loop = handle_.context.loop;
    const MonotonicTime deadline = loop.now() + LongestVolumeWait;
    std::set<std::string> asked;
    while (!all_bound(*pod)) {
        changed_.reset();
        const std::set<std::string> selected = selected_for(*pod, node);
        for (const std::string& name : asked) {
            const ClaimInfo* claim = find_claim(*pod, name);
            if (!claim || (claim->volume.empty() && !selected.contains(name)))
                co_return Error(Reason::Conflict, "binding volumes: provisioning failed for PVC \"" + name + "\"");
        }
        asked.insert(selected.begin(), selected.end());
        CO_TRY_VOID(co_await with_timeout(changed_.wait(), deadline - loop.now(), "binding volumes"));
    }
    co_return {};
}

}  // namespace porthole::scheduler
