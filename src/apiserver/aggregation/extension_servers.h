#pragma once
#include <memory>
#include <string>

#include "apiserver/aggregation/api_service_order.h"
#include "apiserver/outgoing/outgoing_client.h"
#include "apiserver/request/user.h"
#include "apiserver/storage/object_reader.h"
#include "base/lru_map.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// Connections to the servers that APIServices name. A service is reached at one of its endpoints; its certificate must be for the name
/// "SERVICE.NAMESPACE.svc", and this server presents its front-proxy certificate.
///
/// Connections are kept for later requests. Used on the API server's loop; collaborators outlive it.
class ExtensionServers {
public:
    /// `clients` may be null: then no server can be reached.
    ExtensionServers(OutgoingClients* clients, const ObjectReader& reader, Random& random)
        : clients_(clients), reader_(reader), random_(random) {}

    /// Of later connections; "" for none.
    void use_client_certificate(std::string certificate_pem, std::string key_pem);

    enum class Trust {
        AsConfigured,  ///< by the APIService's caBundle or insecureSkipTLSVerify
        Anyone,        ///< to see whether someone answers at all
    };
    /// A client of one server.
    struct Way {
        std::shared_ptr<OutgoingClient> client;  ///< stays valid when another one replaces it
        std::string host;                        ///< of the header Host
        std::string url;                         ///< "https://10.0.0.1:443", for messages
    };
    /// Uses another endpoint of the service each time. Requires: the APIService names a service. Errors: those of resolve_service();
    /// BadRequest for an invalid caBundle.
    Result<Way> way_to(const APIService& service, Trust trust = Trust::AsConfigured);

private:
    static constexpr std::size_t MostClients = 256;
    OutgoingClients* clients_;
    const ObjectReader& reader_;
    Random& random_;
    std::string certificate_pem_, key_pem_;
    LruMap<std::shared_ptr<OutgoingClient>> opened_{MostClients};
};

/// Adds the user as X-Remote-User, -Uid, -Group and -Extra-. Error: BadRequest for names that a header cannot contain.
Result<void> add_identity(net::Headers& headers, const User& user);

/// Sends a request of the aggregation layer itself, as an administrator. Errors: those of OutgoingClient::send.
Task<net::HttpResponse> ask(ExtensionServers::Way way, net::HttpRequest request, OutgoingLimits limits);

}  // namespace porthole::apiserver
