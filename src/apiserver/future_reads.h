#pragma once
#include <optional>
#include <string>

#include "apiserver/held_bodies.h"
#include "apiserver/request/request_info.h"
#include "apiserver/resources/resource_store.h"

namespace porthole::apiserver {

/// Reads of a version that this server has not seen yet: they wait for it before they take a seat, since a seat that only waits is missing
/// to everyone else. At most `limit` wait at a time, of one user a quarter. Lives on the server's loop; outlives its requests.
///
/// Differs from Kubernetes: there, they wait with their seats.
class FutureReads {
public:
    /// 0: they wait with their seats.
    FutureReads(ResourceStore& objects, std::size_t limit) : objects_(objects), limit_(limit), places_(limit) {}

    /// The version for which the request waits; nothing for any other.
    std::optional<store::Revision> awaited(const RequestInfo& info) const;
    /// Ends when the version is there. Errors: Timeout, as the read's own; TooManyRequests.
    Task<> wait(std::string user, store::Revision version);

private:
    ResourceStore& objects_;
    const std::size_t limit_;
    HeldBodies places_;  ///< each counts as a byte
};

}  // namespace porthole::apiserver
