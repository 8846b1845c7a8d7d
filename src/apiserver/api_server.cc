#include "apiserver/api_server.h"

#include <set>

#include "api/registry.h"
#include "apiserver/api_server_parts.h"
#include "apiserver/authentication/signing_key.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/object_codec.h"
#include "base/hash.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

Result<ServiceAllocator::Settings> allocator_settings(const ApiServerOptions& options) {
    ServiceAllocator::Settings settings{.first_node_port = options.first_node_port, .last_node_port = options.last_node_port};
    for (const std::string& text : options.service_cidrs) {
        TRY(const IpPrefix cidr, IpPrefix::parse(text));
        settings.cidrs.push_back(cidr);
    }
    return settings;
}

/// Beta, but without it no CustomResourceDefinition could stop to serve a version that something was stored in.
constexpr std::string_view ServedBeta = "storagemigration.k8s.io";

/// The built-in kinds without the resources of other beta versions and of alpha versions, which Kubernetes has off unless asked for.
schema::Registry served_kinds(const std::set<std::string>& asked_for) {
    std::vector<const schema::Kind*> kinds;
    for (const schema::Kind* kind : api::kinds()) {
        const bool stable = kind->lifecycle.stage == schema::Stage::Stable || kind->group == ServedBeta;
        const bool asked =
            asked_for.contains(kind->api_version()) || asked_for.contains(kind->api_version() + "/" + std::string(kind->plural));
        if (!kind->is(schema::Kind::Resource) || stable || asked) kinds.push_back(kind);
    }
    return schema::Registry(kinds);
}

/// The key that signs, then the one before it, if there is one.
Result<std::vector<TokenKey>> token_keys(const std::string& pem, const std::string& previous_pem) {
    std::vector<TokenKey> keys;
    for (const std::string& one : {pem, previous_pem}) {
        if (one.empty() && !keys.empty()) continue;
        TRY(auto key, net::JwsKey::from_private_pem(one));
        keys.push_back(make_token_key(std::move(key)));
    }
    return keys;
}

/// Nobody is kept from ending by an etcd that does not answer: the lease of the endpoint ends by itself.
constexpr Duration WithdrawalTime = std::chrono::seconds(3);

}  // namespace

ApiServer::ApiServer(std::unique_ptr<ApiServerParts> parts) : parts_(std::move(parts)) {}
ApiServer::~ApiServer() = default;

struct ApiServer::Prepared {
    std::unique_ptr<ApiServerParts::Tables> tables;
    std::vector<TokenKey> keys;
};

Result<ApiServer::Prepared> ApiServer::prepare(const Seams& seams, const ApiServerOptions& options) {
    TRY(auto settings, allocator_settings(options));
    TRY(auto keys, token_keys(options.service_account_key_pem, options.previous_service_account_key_pem));
    return Prepared{std::make_unique<ApiServerParts::Tables>(served_kinds(options.served_versions), std::move(settings), seams.random),
                    std::move(keys)};
}

std::unique_ptr<ApiServer> ApiServer::make(Prepared prepared, Seams seams, std::unique_ptr<store::Store> store, ApiServerOptions options) {
    return std::unique_ptr<ApiServer>(new ApiServer(std::make_unique<ApiServerParts>(seams, std::move(options), std::move(prepared.tables),
                                                                                     std::move(store), std::move(prepared.keys))));
}

Task<std::unique_ptr<ApiServer>> ApiServer::open(Seams seams, OpenStore open_store, ApiServerOptions options) {
    CO_TRY(Prepared prepared, prepare(seams, options));
    CO_TRY(auto store, co_await open_store(make_attributes_of(prepared.tables->resources)));
    co_return make(std::move(prepared), seams, std::move(store), std::move(options));
}

Result<std::unique_ptr<ApiServer>> ApiServer::open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options) {
    TRY(Prepared prepared, prepare(seams, options));
    TRY(auto store, store::Store::open({seams.loop, seams.pool, seams.log.named("store")}, std::move(engine),
                                       make_attributes_of(prepared.tables->resources), {.quota_bytes = options.store_quota_bytes}));
    return make(std::move(prepared), seams, std::move(store), std::move(options));
}

namespace {

/// The store's quota is not looked at while it lives.
class QuotaLifted {
public:
    explicit QuotaLifted(store::Store& store) : store_(store) { store_.enforce_quota(false); }
    ~QuotaLifted() { store_.enforce_quota(true); }
    QuotaLifted(const QuotaLifted&) = delete;
    QuotaLifted& operator=(const QuotaLifted&) = delete;

private:
    store::Store& store_;
};

}  // namespace

Task<> ApiServer::start() {
    CO_TRY_VOID(parts_->open_access());
    CO_TRY_VOID(parts_->roles.load());
    CO_TRY_VOID(parts_->admission_objects.load());
    CO_TRY_VOID(parts_->node_graph.load(*parts_->store));
    CO_TRY_VOID(parts_->custom_resources.load());
    CO_TRY_VOID(parts_->aggregator.load());
    // A full store is one that has to be started for something to be deleted.
    const QuotaLifted lifted(*parts_->store);
    CO_TRY_VOID(co_await parts_->repair_allocations());
    const auto own = transport(loopback_user(), "porthole-bootstrap");
    client::Client client(*own);
    BootstrapOptions bootstrap = parts_->options.bootstrap;
    bootstrap.only_server = parts_->options.reconcile_endpoints && !parts_->shared;
    auto made = co_await bootstrap_cluster(client, std::move(bootstrap));
    CO_TRY_VOID(co_await own->close());
    // Whoever asks from now on has the rights that were just made: followed roles would come a moment later.
    CO_TRY_VOID(parts_->roles.load());

    Scope& scope = parts_->scope;
    parts_->roles.follow(scope);
    parts_->admission_objects.follow(scope);
    parts_->node_graph.follow(*parts_->store, scope);
    scope.spawn(parts_->resource_metrics.run());
    scope.spawn(parts_->custom_resources.follow(parts_->clients.of("porthole-custom-resources")));
    scope.spawn(parts_->policy_status.follow(parts_->clients.of("validatingadmissionpolicy-status-controller")));
    if (made) made = co_await parts_->start_flow_control();
    if (made) made = co_await parts_->start_aggregation();
    if (made) parts_->start_endpoints();
    parts_->bootstrapped = made.has_value();
    co_return made;
}

Task<> ApiServer::withdraw() {
    if (!parts_->endpoints) co_return {};
    co_return co_await with_timeout(parts_->endpoints->withdraw(), WithdrawalTime, "withdrawing from the endpoints");
}

Task<> ApiServer::close() {
    parts_->closed = true;
    CO_TRY_VOID(co_await parts_->scope.close());
    if (parts_->issuers) CO_TRY_VOID(co_await parts_->issuers->close());
    CO_TRY_VOID(co_await parts_->custom_resources.close());
    CO_TRY_VOID(co_await parts_->aggregator.close());
    CO_TRY_VOID(co_await parts_->clients.close());
    co_return co_await parts_->store->close();
}

Task<> ApiServer::use_authorities(std::string ca_pem) {
    BootstrapOptions told = parts_->options.bootstrap;
    told.ca_pem = ca_pem;
    told.client_ca_pem = std::move(ca_pem);
    const auto own = transport(loopback_user(), "porthole-bootstrap");
    client::Client client(*own);
    auto published = co_await publish_authorities(client, std::move(told));
    CO_TRY_VOID(co_await own->close());
    co_return published;
}

Result<void> ApiServer::use_service_account_keys(const std::string& pem, const std::string& previous_pem) {
    TRY(auto keys, token_keys(pem, previous_pem));
    parts_->tokens.use_keys(std::move(keys));
    return {};
}

void ApiServer::use_front_proxy_certificate(std::string certificate_pem, std::string key_pem) {
    parts_->aggregator.use_client_certificate(std::move(certificate_pem), std::move(key_pem));
}

Task<> ApiServer::use_issuers(std::vector<JwtIssuer> issuers, AnonymousPolicy anonymous) {
    CO_TRY_VOID(co_await parts_->issuers->replace(std::move(issuers)));
    parts_->authenticators.set_anonymous(std::move(anonymous));
    co_return {};
}

Result<void> ApiServer::use_authorizers(const std::vector<AuthorizerOptions>& authorizers) {
    const auto fixed = [](const std::vector<AuthorizerOptions>& all) {
        std::set<AuthorizerOptions::Type> types;
        for (const AuthorizerOptions& one : all) types.insert(one.type);
        types.erase(AuthorizerOptions::Type::Webhook);
        return types;
    };
    if (fixed(authorizers) != fixed(parts_->options.authorizers))
        return Error(Reason::BadRequest, "authorizers other than webhooks can only be added or removed by a restart");
    return parts_->use_authorizers(authorizers);
}

ClientCertificates& ApiServer::client_certificates() { return parts_->client_certificates; }
Server& ApiServer::server() { return parts_->server; }

Task<std::size_t> ApiServer::restore(std::vector<StorageEncryption::Opened> opened) {
    std::size_t count = 0;
    for (const StorageEncryption::Opened& one : opened) {
        const store::RecordPtr current = parts_->store->get(one.key);
        if (!current || !is_unreadable(current->value)) continue;
        const Resource* resource = parts_->tables->resources.find_by_key(one.key);
        auto tree = schema::parse_json(one.value, {.depth = 2 * schema::MaxTreeDepth});
        store::Put put{.key = one.key, .value = one.value};
        if (resource && tree && tree->is_object()) put = put_of(*resource, one.key, ApiObject(*resource->stored, std::move(*tree)));
        put.lease = current->lease;
        store::Transaction transaction{.frees = true};
        transaction.guards.push_back(store::Guard::unchanged(current->key, current->modified));
        transaction.operations.push_back(std::move(put));
        const auto committed = co_await parts_->store->commit(std::move(transaction));
        if (!committed && committed.error().reason != Reason::Conflict) co_return committed.error();
        if (committed) ++count;
    }
    co_return count;
}

store::Store& ApiServer::store() { return *parts_->store; }
const schema::Registry& ApiServer::registry() const { return parts_->registry; }

std::unique_ptr<LocalTransport> ApiServer::transport(User user, std::string agent, std::shared_ptr<const LeaderFence> fence) {
    return std::make_unique<LocalTransport>(parts_->server, parts_->seams.loop, std::move(user), std::move(agent), std::move(fence));
}

}  // namespace porthole::apiserver
