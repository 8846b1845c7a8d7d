#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/api_server_options.h"
#include "apiserver/authentication/client_certificates.h"
#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/local_transport.h"
#include "apiserver/server.h"
#include "store/store.h"

namespace porthole::apiserver {

struct ApiServerParts;

/// The API as a whole: store, caches, who may do what, the rules of every kind, and the routes. Construction only; each part
/// is in the folder of its name. Owns them all, and lives on one loop; the seams must outlive it. The order is open(), start(), close(),
/// also when start() fails: destroying it without close() aborts.
class ApiServer {
public:
    using Seams = ApiServerSeams;
    /// Loads the store, on the server's loop, with what the API wants to know of each record. Errors: those of opening the store;
    /// BadRequest for options that are not valid.
    using OpenStore = std::function<Task<std::unique_ptr<store::Store>>(store::AttributesOf attributes_of)>;
    static Task<std::unique_ptr<ApiServer>> open(Seams seams, OpenStore open_store, ApiServerOptions options);
    /// The same with a store of this server's own, on `engine`. Errors: those of the engine; BadRequest for options that are not valid.
    static Result<std::unique_ptr<ApiServer>> open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options);
    ~ApiServer();

    /// Follows the store and creates what every cluster has (bootstrap.h); the server is ready when it ends. Before its first suspension
    /// the authorizer allows nothing. Error: BadRequest, too, for options about access that are not valid.
    Task<> start();
    /// Where several servers share a store: others send no one here any more. Before listeners are closed; need not succeed.
    Task<> withdraw();
    /// Ends what start() began and closes the store. Transports and listeners must be closed before.
    Task<> close();

    /// Writes what could not be decrypted when the store was loaded and can be now, so that clients see it as added. What has been written
    /// or deleted meanwhile stays as it is. Yields how many. Requires: start(). Error: as Store::commit().
    Task<std::size_t> restore(std::vector<StorageEncryption::Opened> opened);
    /// Tells others of the authorities that certify this server and its clients, from now on those of `ca_pem`. Requires: start().
    Task<> use_authorities(std::string ca_pem);
    /// Other keys from now on; see ServiceAccountTokens::use_keys. `previous_pem` may be "". Error: BadRequest.
    Result<void> use_service_account_keys(const std::string& pem, const std::string& previous_pem);
    /// Another certificate for extension API servers from now on.
    void use_front_proxy_certificate(std::string certificate_pem, std::string key_pem);
    /// Other issuers of tokens and rules for anonymous requests from now on. Requires: start(). Error: with what was before still in use,
    /// Timeout when a new issuer cannot be asked for its keys.
    Task<> use_issuers(std::vector<JwtIssuer> issuers, AnonymousPolicy anonymous);
    /// Other webhooks that decide about requests, and another order, from now on. Requires: start(). Error: with what was before still in
    /// use, BadRequest, also when others than webhooks are added or removed.
    Result<void> use_authorizers(const std::vector<AuthorizerOptions>& authorizers);
    ClientCertificates& client_certificates();
    Server& server();
    store::Store& store();
    const schema::Registry& registry() const;
    /// The API for a component in this process.
    std::unique_ptr<LocalTransport> transport(User user, std::string agent, std::shared_ptr<const LeaderFence> fence = nullptr);

private:
    struct Prepared;
    static Result<Prepared> prepare(const Seams& seams, const ApiServerOptions& options);
    static std::unique_ptr<ApiServer> make(Prepared prepared, Seams seams, std::unique_ptr<store::Store> store, ApiServerOptions options);
    explicit ApiServer(std::unique_ptr<ApiServerParts> parts);
    std::unique_ptr<ApiServerParts> parts_;
};

}  // namespace porthole::apiserver
