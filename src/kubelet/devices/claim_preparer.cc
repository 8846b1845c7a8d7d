#include "kubelet/devices/claim_preparer.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/result.h"
#include "kubelet/devices/device_health.h"
#include "objects/owners.h"
#include "objects/resource_claims.h"

namespace porthole::kubelet {
namespace {

using api::core::v1::PodResourceClaim;

/// Lists of ids in which each is once.
class IdLists {
public:
    void add(const std::string& container, std::vector<std::string> ids) {
        for (std::string& id : ids)
            if (seen_[container].insert(id).second) lists_[container].push_back(std::move(id));
    }
    std::map<std::string, std::vector<std::string>> take() && { return std::move(lists_); }

private:
    std::map<std::string, std::set<std::string>> seen_;
    std::map<std::string, std::vector<std::string>> lists_;
};

}  // namespace

ClaimPreparer::ClaimPreparer(client::Client& client, FileSystem& files, DriverPlugins& drivers, Logger log, std::string checkpoint)
    : client_(client), files_(files), drivers_(drivers), log_(std::move(log)), checkpoint_(std::move(checkpoint)) {
    const auto text = files_.read(checkpoint_);
    if (is_not_found(text)) return;
    auto read = text ? parse_checkpoint(*text) : Result<PreparedClaims>(text.error());
    if (read) {
        claims_ = *std::move(read);
        return;
    }
    // It names what is still to be released: someone may yet make use of it.
    const std::string kept = checkpoint_ + ".unreadable";
    const auto renamed = files_.rename(checkpoint_, kept);
    log_.error("what drivers have prepared is not known any more",
               {{"file", checkpoint_}, {"error", read.error().message}, {"kept", renamed ? kept : renamed.error().message}});
}

Result<void> ClaimPreparer::save() {
    auto saved = files_.replace(checkpoint_, checkpoint_text(claims_), 0600);
    if (!saved) return std::move(saved).error().with_context("checkpoint ResourceClaim state");
    return {};
}

std::shared_ptr<Semaphore> ClaimPreparer::lock_of(const std::string& claim_uid) {
    std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Semaphore> lock = locks_[claim_uid].lock();
    if (!lock) locks_[claim_uid] = lock = std::make_shared<Semaphore>(1);
    return lock;
}

bool ClaimPreparer::is_prepared_for(const api::core::v1::Pod& pod) const {
    const std::string extended = objects::extended_claim_name(pod);
    if (pod.spec.resource_claims.empty() && extended.empty()) return true;
    const auto claims = claims_of(claims_, pod.metadata.namespace_);
    const auto is_prepared = [&](const std::string& name) {
        if (name.empty()) return true;
        const auto claim = claims.find(name);
        return claim != claims.end() && claim->second->is_prepared && claim->second->pods.contains(pod.metadata.uid);
    };
    return is_prepared(extended) && std::ranges::all_of(objects::resource_claim_names(pod),
                                                        [&](const auto& entry) { return entry.second && is_prepared(*entry.second); });
}

Task<> ClaimPreparer::prepare(Pod pod) {
    if (is_prepared_for(*pod)) co_return {};
    CO_TRY(const std::vector<Claim> claims, co_await read_claims(pod));
    // In one order for all pods, so that no two wait for each other.
    std::set<std::string> uids;
    for (const Claim& claim : claims) uids.insert(claim.metadata.uid);
    std::vector<std::pair<std::shared_ptr<Semaphore>, Semaphore::Permit>> held;
    for (const std::string& uid : uids) {
        std::shared_ptr<Semaphore> lock = lock_of(uid);
        CO_TRY(auto permit, co_await lock->acquire());
        held.emplace_back(std::move(lock), std::move(permit));
    }
    CO_TRY_VOID(begin(*pod, claims));
    co_return co_await ask_drivers({uids.begin(), uids.end()});
}

/// Nothing is noted before all of them may be used: a pod that fails here can end without a driver.
Task<std::vector<ClaimPreparer::Claim>> ClaimPreparer::read_claims(Pod pod) {
    std::set<std::pair<std::string, bool>> names;  // and whether it was made for the pod; thousands of entries may name one
    const auto by_entry = objects::resource_claim_names(*pod);
    for (const PodResourceClaim& entry : pod->spec.resource_claims) {
        const auto& name = by_entry.at(entry.name);
        if (!name) co_return Error(Reason::NotFound, "pod \"" + client::key_of(*pod).text() + "\": ResourceClaim not created yet");
        if (!name->empty()) names.emplace(*name, !entry.resource_claim_name);
    }
    if (std::string extended = objects::extended_claim_name(*pod); !extended.empty()) names.emplace(std::move(extended), true);
    std::vector<Claim> claims;
    const std::string& uid = pod->metadata.uid;
    for (const auto& [name, is_own] : names) {
        auto read = co_await client_.get<Claim>({pod->metadata.namespace_, name});
        if (!read) co_return std::move(read).error().with_context("fetch ResourceClaim " + name);
        if (is_own && !objects::is_controlled_by(read->metadata, uid))
            co_return Error(Reason::Forbidden, "ResourceClaim " + client::key_of(*read).text() + " was not created for pod " +
                                                   client::key_of(*pod).text() + " (pod is not owner)");
        if (!objects::is_reserved_for(*read, uid))
            co_return Error(Reason::Forbidden, "pod " + pod->metadata.name + " (" + uid + ") is not allowed to use ResourceClaim " + name +
                                                   " (" + read->metadata.uid + ")");
        if (!read->status.allocation) co_return Error(Reason::BadRequest, "ResourceClaim " + name + ": claim not allocated");
        for (const auto& result : read->status.allocation->devices.results) CO_TRY_VOID(drivers_.check_registered(result.driver));
        claims.push_back(*std::move(read));
    }
    co_return claims;
}

/// Notes who is about to be asked for what.
Result<void> ClaimPreparer::begin(const api::core::v1::Pod& pod, const std::vector<Claim>& claims) {
    const auto known = claims_of(claims_, pod.metadata.namespace_);
    for (const Claim& claim : claims)
        if (const auto old = known.find(claim.metadata.name); old != known.end() && old->second->uid != claim.metadata.uid)
            return Error(Reason::Conflict, "old ResourceClaim with same name " + claim.metadata.name + " and different UID " +
                                               old->second->uid + " still exists (previous pod force-deleted?!)");
    PreparedClaims before = claims_;
    for (const Claim& claim : claims) {
        PreparedClaim& noted = claims_[claim.metadata.uid];
        noted.namespace_ = claim.metadata.namespace_;
        noted.name = claim.metadata.name;
        noted.uid = claim.metadata.uid;
        noted.pods.insert(pod.metadata.uid);
        for (const auto& result : claim.status.allocation->devices.results) noted.drivers[result.driver];
    }
    auto saved = save();
    if (!saved) claims_ = std::move(before);  // no driver is asked
    return saved;
}

/// One call for each driver.
Task<> ClaimPreparer::ask_drivers(std::vector<std::string> claim_uids) {
    std::map<std::string, std::vector<ClaimName>> batches;
    for (const std::string& uid : claim_uids) {
        const PreparedClaim& claim = claims_.at(uid);
        if (claim.is_prepared) continue;
        for (const auto& [driver, devices] : claim.drivers) batches[driver].push_back({claim.namespace_, claim.name, uid});
    }
    for (const auto& [driver, claims] : batches) {
        CO_TRY(auto prepared, co_await drivers_.prepare(driver, claims));
        for (auto& [uid, devices] : prepared) claims_.at(uid).drivers[driver] = std::move(devices);
    }
    for (const std::string& uid : claim_uids) claims_.at(uid).is_prepared = true;
    if (!batches.empty()) CO_TRY_VOID(save());
    co_return {};
}

Task<> ClaimPreparer::unprepare(std::string pod_uid) {
    std::vector<std::string> uids;
    for (const auto& [uid, claim] : claims_)
        if (claim.pods.contains(pod_uid)) uids.push_back(uid);
    Result<void> result;
    for (const std::string& uid : uids) {
        const auto released = co_await release(uid, pod_uid);
        if (is_cancelled(released)) co_return released;
        if (!released) result = released;
    }
    co_return result;
}

/// The last pod takes the claim with it.
Task<> ClaimPreparer::release(std::string claim_uid, std::string pod_uid) {
    const std::shared_ptr<Semaphore> lock = lock_of(claim_uid);
    CO_TRY(const auto permit, co_await lock->acquire());
    const auto found = claims_.find(claim_uid);
    if (found == claims_.end() || !found->second.pods.contains(pod_uid)) co_return {};
    if (found->second.pods.size() > 1) {
        found->second.pods.erase(pod_uid);
        co_return save();
    }
    found->second.is_prepared = false;
    const PreparedClaim claim = found->second;
    for (const auto& [driver, devices] : claim.drivers) {
        auto released = co_await drivers_.unprepare(driver, {{claim.namespace_, claim.name, claim.uid}});
        if (!released) co_return std::move(released).error();
    }
    claims_.erase(claim_uid);
    co_return save();
}

Task<> ClaimPreparer::unprepare_stale(std::function<bool(const std::string& pod_uid)> is_known) {
    std::set<std::string> stale;
    for (const auto& [uid, claim] : claims_)
        for (const std::string& pod : claim.pods)
            if (!is_known(pod)) stale.insert(pod);
    for (const std::string& pod : stale) {
        const auto released = co_await unprepare(pod);
        if (is_cancelled(released)) co_return released;
        if (!released) log_.warn("claims of an ended pod not released", {{"uid", pod}, {"error", released.error().message}});
    }
    co_return {};
}

void ClaimPreparer::add_health(const api::core::v1::Pod& pod, api::core::v1::PodStatus& status) const {
    if (health_) health_->add_to(pod, claims_, status);
}

std::map<std::string, std::vector<std::string>> ClaimPreparer::cdi_ids(const api::core::v1::Pod& pod) const {
    IdLists ids;
    const auto claims = claims_of(claims_, pod.metadata.namespace_);
    const auto add = [&](const std::string& container, const std::string& claim_name, const std::string& request) {
        if (const auto claim = claims.find(claim_name); claim != claims.end()) ids.add(container, claim->second->cdi_ids(request));
    };
    const auto names = objects::resource_claim_names(pod);
    std::unordered_map<std::string_view, const api::core::v1::Container*> containers;
    for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
        for (const api::core::v1::Container& container : *list) {
            containers.try_emplace(container.name, &container);
            for (const auto& wanted : container.resources.claims)
                if (const auto name = names.find(wanted.name); name != names.end() && name->second)
                    add(container.name, *name->second, wanted.request);
        }
    if (const auto& extended = pod.status.extended_resource_claim_status)
        for (const auto& mapping : extended->request_mappings)
            if (const auto container = containers.find(mapping.container_name);
                container != containers.end() && container->second->resources.requests.contains(mapping.resource_name))
                add(mapping.container_name, extended->resource_claim_name, mapping.request_name);
    return std::move(ids).take();
}

}  // namespace porthole::kubelet
