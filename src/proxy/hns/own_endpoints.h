#pragma once
#include <map>
#include <string>

#include "hns/client.h"
#include "proxy/hns/host_view.h"
#include "proxy/hns/load_balancer.h"

namespace porthole::proxy::hns {

/// For an address that an endpoint represents on this host: on an overlay, the node that carries it and its MAC.
struct RemoteAddress {
    IpAddress provider;
    std::string mac;
};

/// The endpoints that the proxy creates on a host: one for each address of another node that a load balancer needs, and the one with the
/// source address of an overlay. On the proxy's loop, one caller at a time; the references outlive it. Errors: the service's.
class OwnEndpoints {
public:
    OwnEndpoints(porthole::hns::Client& client, HostView& view, ProgrammerCounts& counts) : client_(client), view_(view), counts_(counts) {}

    /// The service's errors for endpoints that it refused.
    using Refused = std::map<IpAddress, Error>;
    /// Creates the endpoints that the host lacks, many in one call; afterwards `view` contains them. Error: only one after which no other
    /// work is possible.
    Task<Refused> ensure_remote(std::map<IpAddress, RemoteAddress> wanted, bool overlay);
    /// Requires: the host is on an overlay and has a source address.
    Task<> ensure_source(const HostFacts& host);
    Task<> remove(std::string id);

private:
    bool is_present(const IpAddress& address, const RemoteAddress& wanted, bool overlay) const;
    hcn::HostComputeEndpoint remote_document(const IpAddress& address, const RemoteAddress& wanted, bool overlay) const;
    Task<> create(std::vector<hcn::HostComputeEndpoint> documents, Refused& refused);
    Task<> forgive_present(Refused& refused);

    porthole::hns::Client& client_;
    HostView& view_;
    ProgrammerCounts& counts_;
};

/// Objects that are created in one call: few enough that a shutdown, which waits for it, is not delayed much on a slow host.
inline constexpr std::size_t MadeAtOnce = 64;

/// The port, address or id is another's.
bool is_taken(const Error& error);
/// Whether no other work is possible after this error.
bool ends_work(const Error& error);

}  // namespace porthole::proxy::hns
