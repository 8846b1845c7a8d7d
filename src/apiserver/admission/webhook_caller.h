#pragma once
#include <memory>
#include <string>

#include "api/admissionregistration_v1.h"
#include "apiserver/outgoing/outgoing_client.h"
#include "apiserver/storage/object_reader.h"
#include "base/lru_map.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// Sends reviews to the servers that webhook configurations name, by URL or as a service of the cluster. A service is reached at one of its
/// endpoints; its certificate must be for the name "SERVICE.NAMESPACE.svc".
///
/// Connections are kept for later calls. Used on the API server's loop; collaborators outlive it.
class WebhookCaller {
public:
    using ClientConfig = api::admissionregistration::v1::WebhookClientConfig;
    /// `clients` may be null: then every call fails.
    WebhookCaller(OutgoingClients* clients, const ObjectReader& reader, Random& random)
        : clients_(clients), reader_(reader), random_(random) {}

    struct Answer {
        int code = 0;                 ///< 2xx; where it is not, `outcome` is an error
        Result<std::string> outcome;  ///< the body. Error: InternalError with upstream's message, Cancelled
    };
    /// Posts `body`. `time` is for the whole call; an answer is as long as a review's may be.
    Task<Answer> post(ClientConfig config, std::string body, std::chrono::seconds time);

private:
    /// The address to connect to, and the name of the server.
    struct Target {
        client::ClientConfig config;
        std::string host;  ///< for the header Host; "" for that of the URL
    };
    Result<Target> target_of(const ClientConfig& config) const;
    Result<std::shared_ptr<OutgoingClient>> client_of(const client::ClientConfig& config);

    static constexpr std::size_t MostClients = 256;
    OutgoingClients* clients_;
    const ObjectReader& reader_;
    Random& random_;
    LruMap<std::shared_ptr<OutgoingClient>> opened_{MostClients};
};

/// As messages name it: "https://svc.ns.svc:443/path?timeout=10s".
std::string webhook_url(const WebhookCaller::ClientConfig& config, std::chrono::seconds time);

}  // namespace porthole::apiserver
