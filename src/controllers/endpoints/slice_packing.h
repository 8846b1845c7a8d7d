#pragma once
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

/// Lays the endpoints of `groups` into slices of one address type, changing as few of `existing` as possible: a write of a slice goes
/// to every node. Slices are never merged or evened out; what is left over fills the fullest slice it fits into, then new ones.
/// With no endpoints at all one empty slice stays, so that a client sees that there are none. `fresh` is what a new slice looks like;
/// its labels are what existing ones are to have, too.
///
/// For example, with at most 3 in a slice, a slice of {a,b,c} and one of {d}: without c and with e, f → {a,b,e} and {d,f}, both changed;
/// with e alone added, only {d,e} is written.
SliceChanges pack_slices(std::vector<PortGroup> groups, std::vector<EndpointSlice> existing, const EndpointSlice& fresh, std::size_t most);

}  // namespace porthole::controllers::endpoints
