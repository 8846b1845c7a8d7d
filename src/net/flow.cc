#include "net/flow.h"

#include "base/hash.h"

namespace porthole::net {
namespace {

constexpr std::uint64_t FlowsOfAddresses = 16;

}  // namespace

Flow::Body::Body(std::shared_ptr<Flow> flow) : flow_(std::move(flow)) {
    if (!flow_) return;
    ++flow_->bodies_;
    // Others keep their place in the flow of their address.
    if (flow_->reading_ && flow_->authenticated_) flow_->reading_->move(flow_->user(), flow_->stage());
}

std::shared_ptr<Flow> flow_of(const std::string& address) { return std::make_shared<Flow>(1 + fnv1a_64(address) % FlowsOfAddresses); }

}  // namespace porthole::net
