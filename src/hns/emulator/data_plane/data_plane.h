#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hns/emulator/model/model.h"
#include "runtime/task.h"

namespace porthole::hns::emulator {

/// Traffic of one endpoint, from the pod's point of view.
struct Counters {
    std::uint64_t bytes_received = 0, bytes_sent = 0;
    std::uint64_t packets_received = 0, packets_sent = 0;
    std::uint64_t dropped_incoming = 0, dropped_outgoing = 0;
};

/// A physical network adapter of the host, as external networks need it.
struct Adapter {
    std::string name;     ///< "Ethernet"
    std::string address;  ///< "192.0.2.13", where it is now: on the adapter or on the virtual one that took it over
    int prefix_length = 0;
    std::string mac;      ///< canonical
    std::string renamed;  ///< the name that programs see; "" for its own
};

/// Brings the host's network to the state of the model: the seam between the emulator's rules and the kernel. On the emulator's loop.
///
/// Calls are sequential: each begins after the previous one has ended. Failures carry an HRESULT (hns/hresult.h) if HNS has one for the
/// case; any other failure is answered as Hresult::Unexpected.
class DataPlane {
public:
    virtual ~DataPlane() = default;

    /// Changes the state from `before` to `after`, which differ only in `changes`: completely or not at all. Level-triggered for the named
    /// objects, so that it also repairs what was lost there. `before` is the state after the last successful call.
    virtual Task<> apply(const Model& before, const Model& after, const Changes& changes) = 0;
    /// Establishes exactly `model`, whatever exists: at start, after a crash, and after lose_rules(). Keeps what is already correct, above
    /// all network namespaces with processes in them.
    virtual Task<> restore(const Model& model) = 0;
    /// Of an attached endpoint; zeros for others.
    virtual Task<Counters> counters(std::string endpoint_id) = 0;
    /// The physical adapters in order; networks that name none use the first.
    virtual Task<std::vector<Adapter>> adapters() = 0;
    /// Where a namespace is, or would be, on Linux: "/run/netns/...".
    virtual std::string namespace_path(const std::string& namespace_id) const = 0;
    /// Simulated fault: removes load balancer and policy rules without a notification. restore() re-creates them.
    virtual Task<> lose_rules() = 0;
};

}  // namespace porthole::hns::emulator
