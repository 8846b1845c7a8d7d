#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/values/ip.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Hands out the equal parts of a range of addresses, the first free one first.
class CidrPool {
public:
    /// Parts of `length` bits. Error: BadRequest if the range cannot be cut so, or into more than 2^16 parts.
    static Result<CidrPool> create(const IpPrefix& range, int length);

    /// nullopt if none is left.
    std::optional<IpPrefix> take();
    /// Marks everything that overlaps `prefix` as used. No effect outside the range.
    void occupy(const IpPrefix& prefix);
    /// Requires: take() or occupy() before. What overlaps another prefix that is occupied stays used.
    void release(const IpPrefix& prefix);
    std::size_t free() const { return free_; }

private:
    CidrPool(const IpPrefix& range, int length, std::size_t parts) : range_(range), length_(length), users_(parts), free_(parts) {}
    IpPrefix part(std::size_t index) const;
    void set(const IpPrefix& prefix, bool taken);

    IpPrefix range_;
    int length_;
    std::vector<std::uint32_t> users_;  ///< of each part: prefixes may overlap
    std::size_t free_;
    std::size_t first_free_ = 0;  ///< no part before it is free
};

/// Assigns pod ranges to every node, one of each of the cluster's ranges.
class NodeIpamController final : public client::Controller {
public:
    static constexpr const char* Account = "node-controller";
    /// Error: BadRequest if the settings' ranges cannot be used.
    static Result<std::unique_ptr<NodeIpamController>> create(Context& context);

private:
    NodeIpamController(Context& context, std::vector<CidrPool> pools);
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    /// Records the node's ranges as used, also for a newly observed node.
    void learn(const api::core::v1::Node& node);
    void give_back(const std::string& node);
    Task<> assign(const api::core::v1::Node& node);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::vector<CidrPool> pools_;
    std::map<std::string, std::vector<IpPrefix>> held_;  ///< by node
};

}  // namespace porthole::controllers
