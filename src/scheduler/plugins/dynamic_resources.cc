#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "base/result.h"
#include "objects/owners.h"
#include "objects/resource_claims.h"
#include "scheduler/devices/extended_requests.h"
#include "scheduler/framework/convert.h"
#include "scheduler/plugins/device_claims.h"
#include "scheduler/plugins/extended_claims.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

using namespace api::resource::v1;

constexpr std::string_view NotAllocatable = "cannot allocate all claims", NotAvailable = "resourceclaim not available on the node",
                           LeftOver = "cannot schedule extended resource claim";

constexpr std::int64_t MostAlternatives = 8;  // of a request, by the API

/// How good an allocation is by what its claim prefers: for each request with alternatives, 8 for the first, 7 for the second, and so on.
std::int64_t preference_of(const ResourceClaim& claim, const AllocationResult& allocation) {
    std::int64_t sum = 0;
    for (const DeviceRequest& request : claim.spec.devices.requests)
        for (std::size_t i = 0; i < request.first_available.size(); ++i) {
            const std::string name = request.name + "/" + request.first_available[i].name;
            if (std::ranges::find(allocation.devices.results, name, &DeviceRequestAllocationResult::request) !=
                allocation.devices.results.end())
                sum += MostAlternatives - static_cast<std::int64_t>(i);
        }
    return sum;
}

bool has_alternatives(const ResourceClaim& claim) {
    return std::ranges::any_of(claim.spec.devices.requests, [](const DeviceRequest& request) { return !request.first_available.empty(); });
}

/// A pod goes where its ResourceClaims have their devices, or where those that have none yet can get some.
class DynamicResources final : public Plugin {
public:
    explicit DynamicResources(const Handle& handle) : claims_(handle), extended_(handle, claims_) {}

    std::string_view name() const override { return "DynamicResources"; }
    std::int64_t weight() const override { return 2; }
    Task<> wait_for_sync() override {
        CO_TRY_VOID(co_await claims_.wait_for_sync());
        co_return co_await extended_.wait_for_sync();
    }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        unallocated_.clear();
        allocated_.clear();
        unavailable_.clear();
        places_.clear();
        variants_.clear();
        left_over_.reset();
        fixed_preference_ = 0;
        pod_ = nullptr;
        info_ = &pod;
        classes_ = extended_.classes_for(pod);
        has_claims_ = !pod.device_claims.empty() || !classes_.empty();
        if (!has_claims_) return PreFilter::skip();
        if (!classes_.empty()) {
            pod_ = extended_.find_pod(pod);
            if (!pod_) return PreFilter::reject("pod \"" + pod.key() + "\" not found");
            left_over_ = extended_.find(pod);
        }
        std::set<std::string> seen;
        for (const PodDeviceClaim& entry : pod.device_claims) {
            if (entry.claim.empty()) return PreFilter::reject("pod \"" + pod.key() + "\": ResourceClaim not created yet");
            if (!seen.insert(entry.claim).second) continue;
            const DeviceClaims::Claim claim = claims_.find({pod.namespace_, entry.claim});
            if (!claim) return PreFilter::reject("could not find ResourceClaim \"" + pod.namespace_ + "/" + entry.claim + "\"");
            if (std::string problem = problem_of(pod, entry, *claim); !problem.empty()) return PreFilter::reject(std::move(problem));
            if (!claim->status.allocation) {
                unallocated_.push_back(claim);
                continue;
            }
            fixed_preference_ += preference_of(*claim, *claim->status.allocation);
            if (const bool useless = claims_.is_useless(*claim, pod); useless || claim->status.allocation->node_selector)
                allocated_.push_back(
                    {claim, useless ? std::vector<NodeSelectorTerm>() : terms_of(*claim->status.allocation->node_selector)});
        }
        return unallocated_.empty() && allocated_.empty() && classes_.empty() ? PreFilter::skip() : PreFilter::run();
    }

    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (left_over_) {
            status.reject(LeftOver, false);
            return false;
        }
        Variant& variant = variant_for(node);
        if (!variant.allocator) return has_allocated(node, status);
        auto results = variant.allocator->allocate(node.spec());
        if (!results) {
            status.reject(NotAllocatable, false);
            status.error = results.error().message;
            return false;
        }
        if (!*results) {
            status.reject(NotAllocatable, false);
            return false;
        }
        // Only then, as upstream: a claim is not given up for a node where the others could not be allocated.
        if (!has_allocated(node, status)) return false;
        places_[node.name()] = {**std::move(results), &variant};
        return true;
    }

    /// Where devices are still to be chosen, nodes are preferred that have the earlier of a request's alternatives.
    bool pre_score(const PodInfo&, const Cluster&, std::span<const NodeInfo* const>) override {
        return std::ranges::any_of(unallocated_, [](const DeviceClaims::Claim& claim) { return has_alternatives(*claim); });
    }
    std::int64_t score(const NodeInfo& node) override {
        const auto found = places_.find(node.name());
        if (found == places_.end()) return 0;
        // What is allocated already counts as in upstream: it makes the difference between nodes smaller.
        std::int64_t sum = fixed_preference_;
        for (std::size_t i = 0; i < unallocated_.size(); ++i) sum += preference_of(*unallocated_[i], found->second.results[i]);
        return sum;
    }
    void normalize(std::span<std::int64_t> scores) override { normalize_to_largest(scores, false); }

    /// A claim that is on the wrong nodes, and that no other pod holds, may be allocated anew.
    PostFilter post_filter(const PodRef& pod, const Diagnosis& diagnosis, FilterRunner&) override {
        // Without a look at nodes, what is known may be of an earlier cycle.
        if (!has_claims_ || !diagnosis.pre_filter_message.empty()) return {.message = "no new claims to deallocate"};
        if (left_over_) {
            extended_.remove({client::key_of(*left_over_), left_over_->metadata.uid});
            return {.message = "deletion of ResourceClaim completed"};
        }
        for (const DeviceClaims::Claim& claim : unavailable_) {
            const auto& holders = claim->status.reserved_for;
            if (holders.size() > 1 || (holders.size() == 1 && holders.front().uid != pod->uid)) continue;
            claims_.deallocate(claim);
            return {.message = "deallocation of ResourceClaim completed"};
        }
        return {.message = "still not schedulable"};
    }

    Result<void> reserve(const PodInfo& pod, const std::string& node) override {
        const auto found = places_.find(node);
        if (found == places_.end())
            return unallocated_.empty() ? Result<void>() : Error(Reason::InternalError, "claim allocation not found for node");
        auto& [results, variant] = found->second;
        for (std::size_t i = 0; i < unallocated_.size(); ++i) claims_.reserve(pod, *unallocated_[i], std::move(results[i]));
        if (variant->claim) extended_.reserve(pod, variant->claim, variant->mappings, std::move(results.back()));
        places_.clear();
        return {};
    }
    void unreserve(const PodInfo& pod, const std::string&) override {
        claims_.unreserve(pod);
        if (!pod.requests.extended.empty()) extended_.unreserve(pod);
    }
    Task<> pre_bind(PodRef pod, std::string node) override {
        std::vector<DeviceClaims::ClaimId> bound;
        for (const PodDeviceClaim& entry : pod->device_claims) {
            const client::NamespacedName key{pod->namespace_, entry.claim};
            const DeviceClaims::Claim claim = claims_.find(key);
            if (!claim) co_return Error(Reason::Conflict, "claim " + key.text() + " got deleted in the meantime");
            bound.push_back({key, claim->metadata.uid});
            CO_TRY_VOID(co_await claims_.bind(pod, bound.back()));
        }
        CO_TRY(auto extended, co_await extended_.bind(pod));
        if (extended) bound.push_back(*std::move(extended));
        co_return co_await claims_.wait_for_devices(std::move(pod), std::move(node), std::move(bound));
    }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        if (event.kind == ClusterEvent::Kind::NodeAdded) return true;
        if (event.kind == ClusterEvent::Kind::NodeChanged) return event.old_node->labels != event.node->labels;
        if (event.kind != ClusterEvent::Kind::DevicesChanged) return false;
        return !event.device_claim || std::ranges::any_of(waiting.device_claims, [&](const PodDeviceClaim& entry) {
            return waiting.namespace_ + "/" + entry.claim == *event.device_claim;
        });
    }
    void append_metrics(std::string& out) const override {
        claims_.append_metrics(out);
        extended_.append_metrics(out);
    }

private:
    struct Allocated {
        DeviceClaims::Claim claim;
        std::vector<NodeSelectorTerm> terms;
    };

    /// Whether the node has the claims that are allocated.
    bool has_allocated(const NodeInfo& node, FilterStatus& status) {
        bool available = true;
        for (const Allocated& one : allocated_) {
            const auto matches = [&](const NodeSelectorTerm& term) { return term.matches(node.spec().labels, node.name()); };
            if (std::ranges::any_of(one.terms, matches)) continue;
            available = false;
            unavailable_.insert(one.claim);
        }
        if (!available) status.reject(NotAvailable, false);
        return available;
    }

    /// What has to be allocated on nodes that have the same extended resources themselves.
    struct Variant {
        DeviceClaims::Claim claim;  ///< for the extended resources; null for none
        ExtendedClaims::Mappings mappings;
        std::optional<DeviceAllocator> allocator;  ///< for the unallocated claims, and then that one; nullopt if there are none
    };
    struct Place {
        DeviceAllocator::Results results;
        const Variant* variant = nullptr;
    };

    /// Extended resources that the node itself has are counted by NodeResourcesFit.
    Variant& variant_for(const NodeInfo& node) {
        std::map<std::string, std::string> wanted = classes_;
        std::erase_if(wanted, [&](const auto& entry) { return node.spec().allocatable.extended_amount(entry.first) > 0; });
        const auto [found, is_new] = variants_.try_emplace(wanted);
        Variant& variant = found->second;
        if (!is_new) return variant;
        DeviceAllocator::Claims all = unallocated_;
        if (!wanted.empty()) {
            ExtendedRequests made = extended_requests(*pod_, wanted);
            variant.mappings = std::move(made.mappings);
            variant.claim = extended_.make(*info_, std::move(made.requests));
            all.push_back(variant.claim);
        }
        if (!all.empty()) variant.allocator.emplace(claims_.world(), std::move(all));
        return variant;
    }

    static std::vector<NodeSelectorTerm> terms_of(const api::core::v1::NodeSelector& selector) {
        std::vector<NodeSelectorTerm> terms;
        for (const auto& term : selector.node_selector_terms) terms.push_back(node_term(term));
        return terms;
    }

    /// Why the pod has to wait wherever it is to run; "" for nothing.
    std::string problem_of(const PodInfo& pod, const PodDeviceClaim& entry, const ResourceClaim& claim) const {
        const std::string key = client::key_of(claim).text();
        if (claim.metadata.deletion_timestamp) return "resourceclaim \"" + claim.metadata.name + "\" is being deleted";
        if (entry.is_generated && !objects::is_controlled_by(claim.metadata, pod.uid))
            return "ResourceClaim " + key + " was not created for Pod " + pod.key() + " (Pod is not owner)";
        if (claim.status.allocation)
            return can_be_reserved(claim) || objects::is_reserved_for(claim, pod.uid) ? "" : "resourceclaim in use";
        if (claims_.is_being_allocated(claim.metadata.uid)) return "resource claim " + key + " is in the process of being allocated";
        const auto missing = [&](const std::string& request, const std::string& name) {
            return claims_.has_class(name) ? "" : "request " + request + ": device class " + name + " does not exist";
        };
        for (const DeviceRequest& request : claim.spec.devices.requests) {
            if (request.exactly) {
                if (std::string problem = missing(request.name, request.exactly->device_class_name); !problem.empty()) return problem;
            }
            for (const DeviceSubRequest& one : request.first_available) {
                if (std::string problem = missing(request.name + "/" + one.name, one.device_class_name); !problem.empty()) return problem;
            }
        }
        return "";
    }

    DeviceClaims claims_;
    ExtendedClaims extended_;
    // Of this cycle.
    DeviceAllocator::Claims unallocated_;
    std::vector<Allocated> allocated_;            // that cannot be used everywhere, or nowhere
    std::set<DeviceClaims::Claim> unavailable_;   // of those, what some node was turned down for
    bool has_claims_ = false;                     // or wants extended resources that devices may satisfy
    std::int64_t fixed_preference_ = 0;           // of the claims that have an allocation
    std::map<std::string, std::string> classes_;  // of the extended resources that devices may satisfy
    DeviceClaims::Claim left_over_;               // made for these by an earlier attempt
    const PodInfo* info_ = nullptr;
    std::shared_ptr<const api::core::v1::Pod> pod_;                   // null where no such resource is wanted
    std::map<std::map<std::string, std::string>, Variant> variants_;  // by the classes that are needed
    std::unordered_map<std::string, Place> places_;                   // by the node that passed
};

}  // namespace

std::unique_ptr<Plugin> make_dynamic_resources(const Handle& handle) { return std::make_unique<DynamicResources>(handle); }

}  // namespace porthole::scheduler
