#include "controllers/node_ipam/node_ipam.h"

#include <algorithm>

#include "objects/owners.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using namespace api::core::v1;

namespace {

constexpr int MostBits = 16;

}  // namespace

Result<std::unique_ptr<NodeIpamController>> NodeIpamController::create(Context& context) {
    std::vector<CidrPool> pools;
    for (const std::string& text : context.settings.cluster_cidrs) {
        TRY(const IpPrefix range, IpPrefix::parse(text));
        TRY(CidrPool pool,
            CidrPool::create(range, range.base().is_v4() ? context.settings.node_mask_ipv4 : context.settings.node_mask_ipv6));
        for (const std::string& service_text : context.settings.service_cidrs) {
            TRY(const IpPrefix service, IpPrefix::parse(service_text));
            pool.occupy(service);
        }
        pools.push_back(std::move(pool));
    }
    return std::unique_ptr<NodeIpamController>(new NodeIpamController(context, std::move(pools)));
}

NodeIpamController::NodeIpamController(Context& context, std::vector<CidrPool> pools)
    : Controller(context.loop, context.log, {.name = "node-ipam", .workers = 30}),
      client_(context.client),
      events_(context.events.get("cidrAllocator")),
      nodes_(context.informers.get<Node>()),
      pools_(std::move(pools)) {
    // Before any range is given away every node's own must be known: handlers run while the first list is read.
    depends_on(nodes_).subscribe({.added = [this](const auto& node) { learn(*node); },
                                  .updated = [this](const auto&, const auto& node) { learn(*node); },
                                  .deleted = [this](const auto& node) { give_back(node->metadata.name); }});
    reconcile_each(nodes_);
}

void NodeIpamController::learn(const Node& node) {
    auto& held = held_[node.metadata.name];
    if (!held.empty()) return;
    for (const std::string& text : node.spec.pod_cidrs) {
        const auto prefix = IpPrefix::parse(text);
        if (!prefix) continue;
        for (CidrPool& pool : pools_) pool.occupy(*prefix);
        held.push_back(*prefix);
    }
}

void NodeIpamController::give_back(const std::string& node) {
    const auto found = held_.find(node);
    if (found == held_.end()) return;
    for (const IpPrefix& prefix : found->second) {
        for (CidrPool& pool : pools_) pool.release(prefix);
    }
    held_.erase(found);
}

Task<client::Requeue> NodeIpamController::reconcile(client::NamespacedName key) {
    const auto node = nodes_.find(key);
    if (!node || !node->spec.pod_cidrs.empty() || pools_.empty()) co_return client::Requeue::never();
    CO_TRY_VOID(co_await assign(*node));
    co_return client::Requeue::never();
}

Task<> NodeIpamController::assign(const Node& node) {
    const auto reference = objects::object_reference(node);
    auto& held = held_[node.metadata.name];
    if (held.empty()) {
        for (CidrPool& pool : pools_) {
            const auto prefix = pool.take();
            if (prefix) held.push_back(*prefix);
        }
    }
    if (held.size() < pools_.size()) {
        give_back(node.metadata.name);
        events_.normal(reference, "CIDRNotAvailable", "Node " + node.metadata.name + " status is now: CIDRNotAvailable");
        co_return Error(Reason::Conflict, "no range of pod addresses is left for node " + node.metadata.name);
    }
    schema::Value spec = schema::Value::object({{"podCIDR", held.front().to_string()}, {"podCIDRs", schema::Value::array()}});
    for (const IpPrefix& prefix : held) spec["podCIDRs"].as_array().emplace_back(prefix.to_string());
    const std::string patch = schema::to_json(schema::Value::object({{"spec", std::move(spec)}}));
    auto patched = co_await client_.patch<Node>(client::key_of(node), client::PatchType::Merge, patch);
    if (patched) co_return {};
    // It stays held for the next try: the write may have happened although its answer was lost.
    events_.normal(reference, "CIDRAssignmentFailed", "Node " + node.metadata.name + " status is now: CIDRAssignmentFailed");
    co_return std::move(patched).error();
}

Result<ControllerPtr> make_node_ipam(Context& context) {
    TRY(auto made, NodeIpamController::create(context.as(NodeIpamController::Account)));
    return made;
}

Result<CidrPool> CidrPool::create(const IpPrefix& range, int length) {
    const int bits = length - range.length();
    if (bits < 0 || bits > MostBits || length > range.base().bits()) {
        return Error(Reason::BadRequest, "the cluster's range " + range.to_string() + " cannot be cut into node ranges of /" +
                                             std::to_string(length) + "; choose another --cluster-cidr");
    }
    return CidrPool(range, length, std::size_t{1} << bits);
}

std::optional<IpPrefix> CidrPool::take() {
    while (first_free_ < users_.size() && users_[first_free_] > 0) ++first_free_;
    if (first_free_ == users_.size()) return std::nullopt;
    users_[first_free_] = 1;
    --free_;
    return part(first_free_++);
}

void CidrPool::occupy(const IpPrefix& prefix) { set(prefix, true); }
void CidrPool::release(const IpPrefix& prefix) { set(prefix, false); }

IpPrefix CidrPool::part(std::size_t index) const {
    const int shift = range_.base().bits() - length_;
    if (shift < 64) return IpPrefix(range_.base().plus(static_cast<std::uint64_t>(index) << shift), length_);
    // Parts of /64 and larger: the index counts in the upper half of the address.
    auto bytes = range_.base().bytes();
    std::uint64_t upper = 0;
    for (int i = 0; i < 8; ++i) upper = upper << 8 | bytes[static_cast<std::size_t>(i)];
    upper += static_cast<std::uint64_t>(index) << (shift - 64);
    for (int i = 7; i >= 0; --i, upper >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(upper);
    return IpPrefix(IpAddress::v6(bytes), length_);
}

/// Looks only at the parts that `prefix` overlaps: there are thousands, and each node of a large cluster comes by here.
void CidrPool::set(const IpPrefix& prefix, bool taken) {
    if (!range_.overlaps(prefix)) return;
    std::size_t first = 0, end = users_.size();
    if (prefix.length() > range_.length()) {
        // The number of a part is what its address has between the two lengths.
        for (int bit = range_.length(); bit < length_; ++bit)
            first = first << 1 | (prefix.base().bytes()[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1u);
        end = first + (std::size_t{1} << std::max(0, length_ - prefix.length()));
    }
    if (!taken) first_free_ = std::min(first_free_, first);
    for (std::size_t i = first; i < end; ++i) {
        if (taken && users_[i]++ == 0) --free_;
        if (!taken && --users_[i] == 0) ++free_;
    }
}

}  // namespace porthole::controllers
