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

/// The API as a whole: store, caches, authentication and authorization, the strategy of every kind, and the routes. Construction only; each
/// part is in its own folder. Owns all of them, and lives on one loop; the seams must outlive it. The order is open(), start(), close(),
/// also if start() fails: destroying it without close() aborts.
class ApiServer {
public:
    using Seams = ApiServerSeams;
    /// Loads the store, on the server's loop, with the attributes that the API needs of each record. Errors: those of opening the store;
    /// BadRequest for invalid options.
    using OpenStore = std::function<Task<std::unique_ptr<store::Store>>(store::AttributesOf attributes_of)>;
    static Task<std::unique_ptr<ApiServer>> open(Seams seams, OpenStore open_store, ApiServerOptions options);
    /// The same with a store of this server only, on `engine`. Errors: those of the engine; BadRequest for invalid options.
    static Result<std::unique_ptr<ApiServer>> open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options);
    ~ApiServer();

    /// Follows the store and creates the objects of every cluster (bootstrap.h); the server is ready when it ends. Before its first
    /// suspension the authorizer allows nothing. Error: BadRequest, also for invalid access options.
    Task<> start();
    /// If several servers share a store: removes this server from the endpoints. Called before listeners are closed; may fail.
    Task<> withdraw();
    /// Ends the work of start() and closes the store. Transports and listeners must be closed before.
    Task<> close();

    /// Writes objects that could not be decrypted when the store was loaded and can be now, so that clients see them as added. Objects
    /// written or deleted since are not changed. Returns how many were written. Requires: start(). Error: as Store::commit().
    Task<std::size_t> restore(std::vector<StorageEncryption::Opened> opened);
    /// Publishes the authorities in `ca_pem`, which certify this server and its clients. Requires: start().
    Task<> use_authorities(std::string ca_pem);
    /// Replaces the keys; see ServiceAccountTokens::use_keys. `previous_pem` may be "". Error: BadRequest.
    Result<void> use_service_account_keys(const std::string& pem, const std::string& previous_pem);
    /// Another certificate for extension API servers from now on.
    void use_front_proxy_certificate(std::string certificate_pem, std::string key_pem);
    /// Replaces the token issuers and the rules for anonymous requests. Requires: start(). On an error the previous ones stay in use:
    /// Timeout if a new issuer cannot be asked for its keys.
    Task<> use_issuers(std::vector<JwtIssuer> issuers, AnonymousPolicy anonymous);
    /// Replaces the authorization webhooks, and the order of authorizers. Requires: start(). On an error the previous ones stay in use:
    /// BadRequest, also if authorizers other than webhooks are added or removed.
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
