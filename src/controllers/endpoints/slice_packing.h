#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/discovery_v1.h"

namespace porthole::controllers::endpoints {

using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointPort;
using api::discovery::v1::EndpointSlice;

/// The writes that bring a service's slices up to date.
struct SliceChanges {
    std::vector<EndpointSlice> create, update, remove;
    bool empty() const { return create.empty() && update.empty() && remove.empty(); }
};

/// All endpoints that share their ports.
struct PortGroup {
    std::vector<EndpointPort> ports;
    std::vector<Endpoint> endpoints;
};

/// What existing slices get of the template of a new one.
enum class Renew : std::uint8_t { Labels, Metadata };  ///< Metadata: owners and annotations, too

/// Distributes the endpoints of `groups` over slices of one address type, and changes as few of `existing` as possible, because every write
/// of a slice is sent to every node. Slices are never merged or balanced; remaining endpoints go into the fullest slice that has room, then
/// into new ones. Without endpoints, one empty slice remains, so that clients see that there are none. `fresh` is the template of a new
/// slice; existing slices get its labels, and what `renew` says, too.
///
/// For example, with at most 3 in a slice, a slice of {a,b,c} and one of {d}: without c and with e, f → {a,b,e} and {d,f}, both changed;
/// with e alone added, only {d,e} is written.
SliceChanges pack_slices(std::vector<PortGroup> groups, std::vector<EndpointSlice> existing, const EndpointSlice& fresh, std::size_t most,
                         Renew renew = Renew::Labels);

}  // namespace porthole::controllers::endpoints
