#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hns/emulator/model/model.h"
#include "runtime/task.h"

namespace porthole::hns::emulator {

/// Traffic of one endpoint, seen from the pod.
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
    std::string renamed;  ///< what programs know it by; "" for its name
};

/// Makes the host's network what the model says: the seam between the emulator's rules and the kernel. On the emulator's loop.
///
/// Calls come one after the other, each after the last has ended. Failures carry an HRESULT (hns/hresult.h) where HNS has one
/// for the case; anything else is answered as Hresult::Unexpected.
class DataPlane {
public:
    virtual ~DataPlane() = default;

    /// Makes `after` of `before`, of which only `changes` differ: everything, or nothing at all. Level-triggered within the objects
    /// named, so that it also repairs what was lost there. `before` is what the last successful call made.
    virtual Task<> apply(const Model& before, const Model& after, const Changes& changes) = 0;
    /// Makes exactly `model` of whatever is there: at start, after a crash, and after lose_rules(). Adopts what is right already,
    /// above all the network namespaces with processes in them.
    virtual Task<> restore(const Model& model) = 0;
    /// Of an attached endpoint; zeros for others.
    virtual Task<Counters> counters(std::string endpoint_id) = 0;
    /// The physical adapters in order; the first is taken for networks that name none.
    virtual Task<std::vector<Adapter>> adapters() = 0;
    /// Where a namespace is, or would be, on Linux: "/run/netns/...".
    virtual std::string namespace_path(const std::string& namespace_id) const = 0;
    /// A fault: removes load balancer and policy rules without a notification. They come back with restore().
    virtual Task<> lose_rules() = 0;
};

}  // namespace porthole::hns::emulator
