#pragma once
#include <functional>
#include <string>

#include "base/log.h"
#include "kubelet/cri/cri.h"
#include "kubelet/node/node_facts.h"

namespace porthole::kubelet {

/// Reads the container runtime's version and conditions, every five seconds, or twice per second while there is a problem.
class RuntimeCheck {
public:
    /// Writes the runtime's name, version and handlers and the network's problem into `node`. `changed` is called when the outcome is not
    /// the one before.
    RuntimeCheck(EventLoop& loop, RuntimeService& runtime, NodeFacts& node, Logger log, std::function<void()> changed)
        : loop_(loop), runtime_(runtime), node_(node), log_(std::move(log)), changed_(std::move(changed)) {}

    /// Until cancelled.
    Task<> run();
    /// Why no container can run; "" if they can. The network's problem is the node's.
    const std::string& problem() const { return problem_; }
    /// "containerd://1.6.20"; "" until known.
    const std::string& version() const { return node_.runtime_version; }
    /// The image that the runtime uses for sandboxes, if it reports one, as containerd does; otherwise "".
    const std::string& sandbox_image() const { return sandbox_image_; }
    bool is_well() const { return problem_.empty() && node_.network_problem.empty(); }

private:
    Task<> check();
    Task<> read_version();
    void take_conditions(const cri::StatusResponse& response);
    void tell() const;

    EventLoop& loop_;
    RuntimeService& runtime_;
    NodeFacts& node_;
    Logger log_;
    std::function<void()> changed_;
    std::string problem_ = "container runtime status check may not have completed yet", sandbox_image_;
};

}  // namespace porthole::kubelet
