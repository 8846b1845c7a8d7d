#include "apiserver/api_server.h"

#include "api/registry.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/allocation/service_allocator.h"
#include "apiserver/authentication/signing_key.h"
#include "apiserver/authorization/impersonation.h"
#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/handlers/component_status.h"
#include "apiserver/handlers/documents.h"
#include "apiserver/handlers/health.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/request/status.h"
#include "apiserver/resources/node_systems.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/review_routes.h"
#include "apiserver/subresource_routes.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::rbac::v1;

Result<ServiceAllocator::Settings> allocator_settings(const ApiServerOptions& options) {
    ServiceAllocator::Settings settings{.first_node_port = options.first_node_port, .last_node_port = options.last_node_port};
    for (const std::string& text : options.service_cidrs) {
        TRY(const IpPrefix cidr, IpPrefix::parse(text));
        settings.cidrs.push_back(cidr);
    }
    return settings;
}

/// The built-in kinds without the resources of beta and alpha versions, which are off unless asked for.
schema::Registry stable_kinds() {
    std::vector<const schema::Kind*> kinds;
    for (const schema::Kind* kind : api::kinds())
        if (!kind->is(schema::Kind::Resource) || kind->lifecycle.stage == schema::Stage::Stable) kinds.push_back(kind);
    return schema::Registry(kinds);
}

/// What must be known before the store can be read.
struct Tables {
    const schema::Registry registry = stable_kinds();
    ServiceAllocator allocator;
    ResourceTable resources;

    Tables(ServiceAllocator::Settings settings, Random& random)
        : allocator(std::move(settings), random), resources(registry, kind_rules({allocator}), kind_conversions()) {}
};

}  // namespace

/// Members in the order in which they are made; each uses only those above.
struct ApiServer::Impl {
    const Seams seams;
    const ApiServerOptions options;
    const std::unique_ptr<Tables> tables;
    const schema::Registry& registry = tables->registry;
    const std::unique_ptr<store::Store> store;
    const ObjectReader reader{*store};

    Mirror<Role> roles{*store};
    Mirror<RoleBinding> role_bindings{*store};
    Mirror<ClusterRole> cluster_roles{*store};
    Mirror<ClusterRoleBinding> cluster_role_bindings{*store};
    NodeGraph node_graph;
    RbacAuthorizer rbac{{roles.objects(), role_bindings.objects(), cluster_roles.objects(), cluster_role_bindings.objects()}};
    AuthorizerChain authorizer;
    const ServiceAccountTokens tokens;
    AuthenticatorChain authenticators;
    const AdmissionChain admission;

    ResourceStore objects;
    ResourceHandler handler;
    Streams streams;
    Documents documents;
    Health health;
    const ComponentStatuses components;
    Server server;
    Scope scope;
    bool bootstrapped = false, closed = false;

    Impl(Seams with, ApiServerOptions chosen, std::unique_ptr<Tables> made, std::unique_ptr<store::Store> opened, TokenKey key);
    void add_authenticators();
    void add_authorizers();
    void add_checks();
    void add_routes();
    Task<> serve_resource(RequestContext& context);
    Task<> serve_metrics(RequestContext& context);
    void append_store_metrics(std::string& out) const;
    Result<void> load_caches();
    Task<> repair_allocations();
};

ApiServer::Impl::Impl(Seams with, ApiServerOptions chosen, std::unique_ptr<Tables> made, std::unique_ptr<store::Store> opened, TokenKey key)
    : seams(with),
      options(std::move(chosen)),
      tables(std::move(made)),
      store(std::move(opened)),
      tokens(std::move(key), {.issuer = options.issuer, .api_audiences = {options.issuer}}, reader, seams.loop, seams.random),
      admission(make_admission_chain({.reader = reader,
                                      .rbac = rbac,
                                      .authorizer = authorizer,
                                      .random = seams.random,
                                      .clock = seams.loop,
                                      .systems = NodeSystems(*store, seams.loop)})),
      objects({.clock = seams.loop, .random = seams.random, .store = *store, .admission = admission}),
      handler(registry, tables->resources, objects, seams.random),
      streams(handler, seams.loop, seams.connector),
      documents(registry, {.git_version = options.git_version},
                options.bootstrap.advertise_address + ":" + std::to_string(options.bootstrap.port)),
      components(seams.loop,
                 {{"scheduler", [] { return true; }}, {"controller-manager", [] { return true; }}, {"etcd-0", [this] { return !closed; }}}),
      server({.loop = seams.loop, .random = seams.random, .log = seams.log, .authenticators = authenticators, .authorizer = authorizer},
             options.limits),
      scope(seams.loop, [this](const Error& error) { seams.log.error("a background task failed", {{"error", error.message}}); }) {
    tables->allocator.attach(*store);
    add_authenticators();
    add_authorizers();
    add_checks();
    add_routes();
}

void ApiServer::Impl::add_authenticators() {
    authenticators.add(std::make_unique<CertificateAuthenticator>());
    authenticators.add(std::make_unique<ServiceAccountAuthenticator>(tokens));
    authenticators.add(std::make_unique<BootstrapTokenAuthenticator>(reader, seams.loop));
}

void ApiServer::Impl::add_authorizers() {
    authorizer.add(std::make_unique<PrivilegedGroupAuthorizer>());
    authorizer.add(std::make_unique<PublicPathAuthorizer>());
    authorizer.add(std::make_unique<NodeAuthorizer>(node_graph, rbac));
    authorizer.add(std::make_unique<RbacAuthorizer>(
        RbacObjects{roles.objects(), role_bindings.objects(), cluster_roles.objects(), cluster_role_bindings.objects()}));
}

void ApiServer::Impl::add_checks() {
    health.add({.name = "ping", .passes = [] { return true; }});
    health.add({.name = "store", .passes = [this] { return store->revision() >= store->compacted(); }});
    health.add({.name = "poststarthook/bootstrap", .readiness_only = true, .passes = [this] { return bootstrapped; }});
}

void ApiServer::Impl::add_routes() {
    for (const char* path : {"/", "/version", "/version/", "/api", "/api/", "/apis", "/apis/", "/openapi/"}) {
        server.add_path(path, [this](RequestContext& context) { return documents.handle(context); });
    }
    for (const char* path : {"/livez", "/livez/", "/readyz", "/readyz/", "/healthz", "/healthz/"}) {
        server.add_path(path, [this](RequestContext& context) { return health.handle(context); });
    }
    server.add_path("/metrics", [this](RequestContext& context) { return serve_metrics(context); });
    server.add_resource("", "componentstatuses", [this](RequestContext& context) { return components.handle(context); });
    server.set_impersonation(
        [this](const net::HttpRequest& request, User user) { return impersonated(authorizer, request, std::move(user)); });
    add_review_routes(server, registry, reviews({.authorizer = authorizer, .rbac = rbac, .authenticators = authenticators}));
    add_subresource_routes(server, handler, streams);
    add_token_routes(server, registry, tokens, admission);
    server.set_resources([this](RequestContext& context) { return serve_resource(context); });
    if (options.audit) server.set_audit(options.audit);
}

Task<> ApiServer::Impl::serve_metrics(RequestContext& context) {
    std::string text;
    server.metrics().append(text);
    append_store_metrics(text);
    if (options.more_metrics) {
        CO_TRY(const std::string more, co_await options.more_metrics());
        text += more;
    }
    co_return co_await reply_text(context, 200, std::move(text));
}

void ApiServer::Impl::append_store_metrics(std::string& out) const {
    out += "# HELP apiserver_storage_objects Stored objects by resource.\n# TYPE apiserver_storage_objects gauge\n";
    for (const Resource* resource : tables->resources.all_stored()) {
        out += "apiserver_storage_objects{resource=\"" + qualified_resource(*resource->kind) + "\"} " +
               std::to_string(store->count(resource->prefix)) + '\n';
    }
    out += "# HELP apiserver_storage_revision The newest resource version.\n# TYPE apiserver_storage_revision counter\n";
    out += "apiserver_storage_revision " + store::to_string(store->revision()) + '\n';
    out += "# HELP kubernetes_build_info The version of this server.\n# TYPE kubernetes_build_info gauge\n";
    out += "kubernetes_build_info{git_version=\"" + options.git_version + "\"} 1\n";
}

Task<> ApiServer::Impl::serve_resource(RequestContext& context) {
    const Resource* resource = tables->resources.find(context.info.group, context.info.version, context.info.resource);
    if (!resource) co_return no_such_resource();
    co_return co_await handler.handle(context, *resource);
}

Result<void> ApiServer::Impl::load_caches() {
    TRY_VOID(roles.load());
    TRY_VOID(role_bindings.load());
    TRY_VOID(cluster_roles.load());
    TRY_VOID(cluster_role_bindings.load());
    return node_graph.load(*store);
}

Task<> ApiServer::Impl::repair_allocations() {
    CO_TRY(auto operations, tables->allocator.repairs());
    if (operations.empty()) co_return {};
    seams.log.warn("service allocations did not fit the services and were repaired", {{"records", operations.size()}});
    store::Transaction transaction;
    transaction.operations = std::move(operations);
    CO_TRY_VOID(co_await store->commit(std::move(transaction)));
    co_return {};
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options) {
    TRY(auto settings, allocator_settings(options));
    TRY(auto key, net::JwsKey::from_private_pem(options.service_account_key_pem));
    auto tables = std::make_unique<Tables>(std::move(settings), seams.random);
    TRY(auto store, store::Store::open({seams.loop, seams.pool, seams.log.named("store")}, std::move(engine),
                                       make_attributes_of(tables->resources), {}));
    return std::unique_ptr<ApiServer>(new ApiServer(
        std::make_unique<Impl>(seams, std::move(options), std::move(tables), std::move(store), make_token_key(std::move(key)))));
}

Task<> ApiServer::start() {
    CO_TRY_VOID(impl_->load_caches());
    CO_TRY_VOID(co_await impl_->repair_allocations());
    Scope& scope = impl_->scope;
    scope.spawn(impl_->roles.follow());
    scope.spawn(impl_->role_bindings.follow());
    scope.spawn(impl_->cluster_roles.follow());
    scope.spawn(impl_->cluster_role_bindings.follow());
    scope.spawn(impl_->node_graph.follow(*impl_->store));

    const auto own = transport(loopback_user(), "porthole-bootstrap");
    client::Client client(*own);
    auto made = co_await bootstrap_cluster(client, impl_->options.bootstrap);
    CO_TRY_VOID(co_await own->close());
    impl_->bootstrapped = made.has_value();
    co_return made;
}

Task<> ApiServer::close() {
    impl_->closed = true;
    CO_TRY_VOID(co_await impl_->scope.close());
    co_return co_await impl_->store->close();
}

Server& ApiServer::server() { return impl_->server; }
store::Store& ApiServer::store() { return *impl_->store; }
const schema::Registry& ApiServer::registry() const { return impl_->registry; }

std::unique_ptr<LocalTransport> ApiServer::transport(User user, std::string agent) {
    return std::make_unique<LocalTransport>(impl_->server, impl_->seams.loop, std::move(user), std::move(agent));
}

}  // namespace porthole::apiserver
