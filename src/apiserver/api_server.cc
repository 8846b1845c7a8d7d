#include "apiserver/api_server.h"

#include <set>
#include <unordered_map>

#include "api/registry.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/pod_security_configuration.h"
#include "apiserver/admission/policies/policy_metrics.h"
#include "apiserver/aggregation/aggregator.h"
#include "apiserver/allocation/service_allocator.h"
#include "apiserver/authentication/jwt_authenticator.h"
#include "apiserver/authentication/signing_key.h"
#include "apiserver/authorization/impersonation.h"
#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/authorization/webhook_authorizer.h"
#include "apiserver/custom_resources/custom_resources.h"
#include "apiserver/flow_control_configuration.h"
#include "apiserver/handlers/component_status.h"
#include "apiserver/handlers/documents.h"
#include "apiserver/handlers/flagz.h"
#include "apiserver/handlers/health.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/policy_status.h"
#include "apiserver/request/status.h"
#include "apiserver/resource_metrics/resource_metrics.h"
#include "apiserver/resources/node_systems.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/object_codec.h"
#include "apiserver/resources/served_versions.h"
#include "apiserver/resources/stored_parameters.h"
#include "apiserver/review_routes.h"
#include "apiserver/subresource_routes.h"
#include "apiserver/subresources/scale.h"
#include "base/hash.h"
#include "base/strings.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::rbac::v1;
using api::admissionregistration::v1::MutatingAdmissionPolicy;
using api::admissionregistration::v1::MutatingAdmissionPolicyBinding;
using api::admissionregistration::v1::MutatingWebhookConfiguration;
using api::admissionregistration::v1::ValidatingAdmissionPolicy;
using api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
using api::admissionregistration::v1::ValidatingWebhookConfiguration;

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
schema::Registry served_kinds() {
    std::vector<const schema::Kind*> kinds;
    for (const schema::Kind* kind : api::kinds()) {
        const bool stable = kind->lifecycle.stage == schema::Stage::Stable || kind->group == ServedBeta;
        if (!kind->is(schema::Kind::Resource) || stable) kinds.push_back(kind);
    }
    return schema::Registry(kinds);
}

/// Rights in a namespace must not reach what is in none: a path that names one asks for nothing there is. A namespace is in itself.
bool fits_scope(const schema::Kind& kind, const RequestInfo& info) {
    if (kind.namespaced() || info.namespace_.empty()) return true;
    return kind.plural == "namespaces" && info.name == info.namespace_;
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

/// The level that pods keep to where their namespace's labels name none; "" where nothing looks.
Result<std::string> default_pod_security(const AdmissionChain& admission, const AdmissionOptions& options) {
    const std::string plugin(PodSecurityConfiguration::Plugin);
    const auto running = admission.names();
    if (std::ranges::find(running, plugin) == running.end()) return std::string();
    const auto found = options.configurations.find(plugin);
    TRY(const auto chosen, PodSecurityConfiguration::parse(found == options.configurations.end() ? schema::null_value() : found->second));
    return std::string(text_of(chosen.defaults.enforce.level));
}

/// How many objects a list reads, for flow control: counted, and remembered for a while, since counting is half of listing.
class ListSizes {
public:
    ListSizes(const Clock& clock, const store::Store& store, const ResourceTable& resources)
        : clock_(clock), store_(store), resources_(resources) {}

    std::size_t of(const RequestInfo& info) {
        const ResourcePtr resource = resources_.find(info.group, info.version, info.resource);
        if (!resource) return 0;
        const std::size_t all = count(resource->prefix_of(resource->kind->namespaced() ? info.namespace_ : ""));
        const bool selects = info.has_parameter("labelSelector") || info.has_parameter("fieldSelector");
        const long limit = std::strtol(std::string(info.parameter("limit")).c_str(), nullptr, 10);
        return selects || limit <= 0 ? all : std::min(all, static_cast<std::size_t>(limit));
    }

private:
    struct Count {
        std::size_t objects = 0;
        MonotonicTime until{};
    };
    std::size_t count(const std::string& prefix) {
        constexpr std::size_t MostPrefixes = 1024;
        constexpr auto Remembered = std::chrono::seconds(10);
        if (counts_.size() >= MostPrefixes && !counts_.contains(prefix)) counts_.clear();
        Count& found = counts_[prefix];
        if (found.until <= clock_.now()) found = {store_.count(prefix), clock_.now() + Remembered};
        return found.objects;
    }

    const Clock& clock_;
    const store::Store& store_;
    const ResourceTable& resources_;
    std::unordered_map<std::string, Count> counts_;
};

/// What must be known before the store can be read.
struct Tables {
    schema::Registry registry = served_kinds();  ///< and custom resources
    ServiceAllocator allocator;
    ResourceTable resources;

    Tables(ServiceAllocator::Settings settings, Random& random)
        : allocator(std::move(settings), random), resources(registry, kind_strategies({allocator}), kind_conversions()) {}
};

}  // namespace

/// Members in the order in which they are made; each uses only those above.
struct ApiServer::Impl {
    const Seams seams;
    const ApiServerOptions options;
    const std::unique_ptr<Tables> tables;
    schema::Registry& registry = tables->registry;
    const std::unique_ptr<store::Store> store;
    const ObjectReader reader{*store};

    Mirror<Role> roles{*store, seams.log};
    Mirror<RoleBinding> role_bindings{*store, seams.log};
    Mirror<ClusterRole> cluster_roles{*store, seams.log};
    Mirror<ClusterRoleBinding> cluster_role_bindings{*store, seams.log};
    Mirror<MutatingWebhookConfiguration> mutating_webhooks{*store, seams.log};
    Mirror<ValidatingWebhookConfiguration> validating_webhooks{*store, seams.log};
    Mirror<MutatingAdmissionPolicy> mutating_policies{*store, seams.log};
    Mirror<MutatingAdmissionPolicyBinding> mutating_policy_bindings{*store, seams.log};
    Mirror<ValidatingAdmissionPolicy> validating_policies{*store, seams.log};
    Mirror<ValidatingAdmissionPolicyBinding> validating_policy_bindings{*store, seams.log};
    const ServedVersions versions{tables->resources};
    const StoredParameters policy_parameters{registry, tables->resources, *store};
    AdmissionWebhookMetrics webhook_metrics;
    AdmissionPolicyMetrics policy_metrics;
    AdmissionConditionMetrics condition_metrics;
    AccessConditionMetrics access_condition_metrics;
    NodeGraph node_graph;
    RbacAuthorizer rbac{{roles.objects(), role_bindings.objects(), cluster_roles.objects(), cluster_role_bindings.objects()}};
    AuthorizerChain authorizer;
    ServiceAccountTokens tokens;
    ClientCertificates client_certificates;
    AuthenticatorChain authenticators;
    JwtAuthenticators* issuers = nullptr;  ///< one of them
    bool has_webhook_authorizer = false;
    std::map<std::string, std::string> flags = options.flags;  ///< and what is known here only
    AdmissionChain admission;

    ResourceStore objects;
    ResourceHandler handler;
    Streams streams;
    Aggregator aggregator;
    CustomResources custom_resources;
    Documents documents;
    Health health;
    const ComponentStatuses components;
    ResourceMetrics resource_metrics;
    ListSizes list_sizes;
    const std::unique_ptr<FlowControl> flow_control;
    FlowControlConfiguration flow_configuration;
    PolicyStatus policy_status{*store, registry, seams.pool, seams.log.named("admission-policies")};
    Server server;
    Scope scope;
    /// As which FlowControlConfiguration creates objects, and writes conditions.
    std::unique_ptr<LocalTransport> configuration_producer, configuration_consumer;
    std::optional<client::Client> producer, consumer;
    /// As which CustomResources writes the status of definitions.
    std::unique_ptr<LocalTransport> definition_writer;
    std::optional<client::Client> definitions;
    /// As which PolicyStatus writes.
    std::unique_ptr<LocalTransport> policy_writer;
    std::optional<client::Client> policies;
    /// As which Aggregator writes APIServices.
    std::unique_ptr<LocalTransport> aggregator_writer;
    std::optional<client::Client> api_services;
    bool bootstrapped = false, closed = false;

    Impl(Seams with, ApiServerOptions chosen, std::unique_ptr<Tables> made, std::unique_ptr<store::Store> opened,
         std::vector<TokenKey> keys);
    /// Makes the chains that requests pass. Until then the authorizer allows nothing.
    Result<void> open_access();
    Result<void> add_authenticators();
    Result<void> use_authorizers(const std::vector<AuthorizerOptions>& chosen);
    Result<std::unique_ptr<Webhook>> open_webhook(const std::string& kubeconfig, Webhook::Settings settings);
    void add_checks();
    void add_routes();
    void add_flow_control_routes();
    std::unique_ptr<FlowControl> make_flow_control();
    Task<> start_flow_control();
    Task<> start_aggregation();
    Task<> serve_resource(RequestContext& context);
    Task<> serve_metrics(RequestContext& context);
    void append_store_metrics(std::string& out) const;
    Result<void> load_roles();
    Task<> repair_allocations();
};

ApiServer::Impl::Impl(Seams with, ApiServerOptions chosen, std::unique_ptr<Tables> made, std::unique_ptr<store::Store> opened,
                      std::vector<TokenKey> keys)
    : seams(with),
      options(std::move(chosen)),
      tables(std::move(made)),
      store(std::move(opened)),
      tokens(std::move(keys),
             {.issuer = options.issuer, .api_audiences = {options.issuer}, .extend = options.extend_service_account_tokens}, reader,
             seams.loop, seams.random),
      objects({.clock = seams.loop, .random = seams.random, .store = *store, .admission = admission}),
      handler({.registry = registry, .resources = tables->resources, .objects = objects, .authorizer = authorizer, .random = seams.random}),
      streams(handler, admission, seams.loop, seams.connector),
      aggregator({.loop = seams.loop,
                  .store = *store,
                  .registry = registry,
                  .outgoing = seams.outgoing,
                  .random = seams.random,
                  .log = seams.log.named("aggregator"),
                  .changed = [this] { documents.forget_groups(); }}),
      custom_resources({.loop = seams.loop,
                        .random = seams.random,
                        .registry = registry,
                        .resources = tables->resources,
                        .objects = objects,
                        .reader = reader,
                        .outgoing = seams.outgoing,
                        .log = seams.log.named("custom-resources"),
                        .changed =
                            [this](std::string_view group, std::string_view version) {
                                documents.forget(group, version);
                                aggregator.local_changed();
                            }}),
      documents(
          registry, [this] { return aggregator.groups(); }, [this](const schema::Type& type) { return custom_resources.schema_of(type); },
          {.git_version = options.git_version}, options.bootstrap.advertise_address + ":" + std::to_string(options.bootstrap.port)),
      components(seams.loop, {{"scheduler", [] { return true; }},
                              {"controller-manager", [] { return true; }},
                              {"etcd-0", [this] { return !closed && !store->usage().exceeded; }}}),
      resource_metrics({seams.loop, *store, seams.connector, seams.log.named("resource-metrics")}),
      list_sizes(seams.loop, *store, tables->resources),
      flow_control(make_flow_control()),
      flow_configuration(seams.loop, *store, seams.log.named("flow-control"), flow_control.get()),
      server({.loop = seams.loop,
              .random = seams.random,
              .log = seams.log,
              .authenticators = authenticators,
              .authorizer = authorizer,
              .flow_control = flow_control.get()},
             options.limits),
      scope(seams.loop, [this](const Error& error) { seams.log.error("a background task failed", {{"error", error.message}}); }) {
    tables->allocator.attach(*store);
    aggregator.use_client_certificate(options.front_proxy_certificate_pem, options.front_proxy_key_pem);
    add_checks();
    add_routes();
}

Result<void> ApiServer::Impl::open_access() {
    TRY(admission, make_admission_chain({.reader = reader,
                                         .rbac = rbac,
                                         .authorizer = authorizer,
                                         .random = seams.random,
                                         .loop = seams.loop,
                                         .systems = NodeSystems(*store, seams.loop),
                                         .outgoing = seams.outgoing,
                                         .webhooks = {.mutating = &mutating_webhooks.objects(),
                                                      .validating = &validating_webhooks.objects(),
                                                      .versions = &versions,
                                                      .metrics = &webhook_metrics},
                                         .policies = {.validating = &validating_policies.objects(),
                                                      .validating_bindings = &validating_policy_bindings.objects(),
                                                      .mutating = &mutating_policies.objects(),
                                                      .mutating_bindings = &mutating_policy_bindings.objects(),
                                                      .parameters = &policy_parameters,
                                                      .metrics = &policy_metrics},
                                         .condition_metrics = &condition_metrics,
                                         .pool = &seams.pool},
                                        options.admission));
    flags["enable-admission-plugins"] = join(admission.names(), ",");
    TRY(flags["pod-security-default"], default_pod_security(admission, options.admission));
    TRY_VOID(add_authenticators());
    return use_authorizers(options.authorizers);
}

Result<std::unique_ptr<Webhook>> ApiServer::Impl::open_webhook(const std::string& kubeconfig, Webhook::Settings settings) {
    if (!seams.outgoing) return Error(Reason::BadRequest, kubeconfig + ": this server has no way to webhooks");
    TRY(auto client, open_by_kubeconfig(*seams.outgoing, kubeconfig));
    return std::make_unique<Webhook>(std::move(client), seams.loop, seams.random, settings);
}

Result<void> ApiServer::Impl::add_authenticators() {
    const AuthenticationOptions& chosen = options.authentication;
    if (!chosen.request_header.ca_pem.empty()) authenticators.add(std::make_unique<RequestHeaderAuthenticator>(chosen.request_header));
    authenticators.add(std::make_unique<CertificateAuthenticator>(client_certificates, seams.loop));
    authenticators.add(std::make_unique<ServiceAccountAuthenticator>(tokens));
    authenticators.add(std::make_unique<BootstrapTokenAuthenticator>(reader, seams.loop));
    auto of_issuers = std::make_unique<JwtAuthenticators>(seams.outgoing, seams.loop, seams.log);
    issuers = of_issuers.get();
    authenticators.add(std::move(of_issuers));
    TRY_VOID(issuers->start(chosen.issuers));
    if (chosen.webhook) {
        TRY(auto webhook, open_webhook(chosen.webhook->kubeconfig, {}));
        authenticators.add(
            std::make_unique<TokenWebhookAuthenticator>(std::move(webhook), *chosen.webhook, tokens.settings().api_audiences, seams.loop));
    }
    authenticators.set_anonymous(chosen.anonymous);
    return {};
}

Result<void> ApiServer::Impl::use_authorizers(const std::vector<AuthorizerOptions>& chosen) {
    using Type = AuthorizerOptions::Type;
    const auto has = [&](Type type) { return std::ranges::find(chosen, type, &AuthorizerOptions::type) != chosen.end(); };
    AuthorizerChain::Authorizers made;
    made.push_back(std::make_unique<PrivilegedGroupAuthorizer>());
    made.push_back(std::make_unique<PublicPathAuthorizer>(has(Type::Rbac)));
    for (const AuthorizerOptions& one : chosen) {
        if (one.type == Type::Node) made.push_back(std::make_unique<NodeAuthorizer>(node_graph, rbac, reader));
        if (one.type == Type::Rbac)
            made.push_back(std::make_unique<RbacAuthorizer>(
                RbacObjects{roles.objects(), role_bindings.objects(), cluster_roles.objects(), cluster_role_bindings.objects()}));
        if (one.type == Type::AlwaysAllow) made.push_back(std::make_unique<FixedAuthorizer>(Decision::allow()));
        if (one.type == Type::AlwaysDeny)
            made.push_back(std::make_unique<FixedAuthorizer>(Decision::no_opinion("Everything is forbidden.")));
        if (one.type == Type::Webhook) {
            TRY(auto webhook, open_webhook(one.webhook.kubeconfig, {.limits = {.time = one.webhook.timeout}}));
            made.push_back(std::make_unique<WebhookAuthorizer>(std::move(webhook), one.webhook, seams.loop, access_condition_metrics));
        }
    }
    authorizer.use(std::move(made));
    has_webhook_authorizer = has(Type::Webhook);
    return {};
}

void ApiServer::Impl::add_checks() {
    health.add({.name = "ping", .passes = [] { return true; }});
    health.add({.name = "store", .passes = [this] { return store->revision() >= store->compacted(); }});
    // By itself, as a server that refuses to grow still has to be reached for deletions.
    health.add({.name = "store-quota", .by_name_only = true, .passes = [this] { return !store->usage().exceeded; }});
    health.add({.name = "poststarthook/bootstrap", .readiness_only = true, .passes = [this] { return bootstrapped; }});
}

void ApiServer::Impl::add_routes() {
    for (const char* path : {"/", "/version", "/version/", "/api", "/api/", "/apis", "/apis/"}) {
        server.add_path(path, [this](RequestContext& context) { return documents.handle(context); });
    }
    documents.set_others([this] { return aggregator.documents(); });
    server.add_path("/openapi/", [this](RequestContext& context) {
        return aggregator.is_remote_document(context.info.path) ? aggregator.handle_document(context) : documents.handle(context);
    });
    for (const char* path : {"/livez", "/livez/", "/readyz", "/readyz/", "/healthz", "/healthz/"}) {
        server.add_path(path, [this](RequestContext& context) { return health.handle(context); });
    }
    flags["service-account-extend-token-expiration"] = options.extend_service_account_tokens ? "true" : "false";
    server.add_path("/flagz", [this](RequestContext& context) { return serve_flagz(context, flags); });
    server.add_path("/metrics", [this](RequestContext& context) { return serve_metrics(context); });
    server.add_resource("", "componentstatuses", [this](RequestContext& context) { return components.handle(context); });
    server.add_resource("metrics.k8s.io", "nodes", [this](RequestContext& context) { return resource_metrics.nodes(context); });
    server.add_resource("metrics.k8s.io", "pods", [this](RequestContext& context) { return resource_metrics.pods(context); });
    server.set_user_headers(options.authentication.request_header);
    server.set_impersonation(
        [this](const net::HttpRequest& request, User user) { return impersonated(authorizer, request, std::move(user)); });
    add_review_routes(
        server, registry,
        reviews(
            {.authorizer = authorizer, .rbac = rbac, .authenticators = authenticators, .tokens = tokens, .has_webhook_authorizer = [this] {
                 return has_webhook_authorizer;
             }}));
    add_subresource_routes(server, handler, streams);
    add_token_routes(server, registry, tokens, admission);
    server.set_resources([this](RequestContext& context) { return serve_resource(context); });
    server.set_served([this](const RequestInfo& info) {
        const schema::Kind* kind = registry.find_resource(info.group, info.version, info.resource);
        return kind && fits_scope(*kind, info) && (info.subresource.empty() || kind->find_subresource(info.subresource));
    });
    server.set_delegate([this](const RequestInfo& info) { return aggregator.is_remote(info); },
                        [this](RequestContext& context) { return aggregator.handle(context); });
    if (options.audit) server.set_audit(*options.audit, registry);
    if (flow_control) add_flow_control_routes();
}

std::unique_ptr<FlowControl> ApiServer::Impl::make_flow_control() {
    if (!options.priority_and_fairness) return nullptr;
    FlowControl::Options chosen{.seats = static_cast<std::uint32_t>(options.limits.mutating + options.limits.reading),
                                .wait_limit = options.limits.request_time / 4,
                                .seed = fnv1a_64(options.service_account_key_pem)};  // which users do not know
    chosen.count_objects = [this](const RequestInfo& info) { return list_sizes.of(info); };
    return std::make_unique<FlowControl>(seams.loop, seams.loop, std::move(chosen));
}

void ApiServer::Impl::add_flow_control_routes() {
    const auto add = [this](const std::string& page, auto text) {
        server.add_path("/debug/api_priority_and_fairness/" + page,
                        [text](RequestContext& context) { return reply_text(context, 200, text(context.info)); });
    };
    add("dump_priority_levels", [this](const RequestInfo&) { return flow_control->dump_priority_levels(); });
    add("dump_queues", [this](const RequestInfo&) { return flow_control->dump_queues(); });
    add("dump_requests",
        [this](const RequestInfo& info) { return flow_control->dump_requests(!info.parameter("includeRequestDetails").empty()); });
}

Task<> ApiServer::Impl::start_flow_control() {
    const auto way = [this](const char* agent) { return std::make_unique<LocalTransport>(server, seams.loop, loopback_user(), agent); };
    configuration_producer = way("api-priority-and-fairness-config-producer-v1");
    configuration_consumer = way("api-priority-and-fairness-config-consumer-v1");
    producer.emplace(*configuration_producer);
    consumer.emplace(*configuration_consumer);
    CO_TRY_VOID(co_await flow_configuration.ensure_defaults(*producer));
    CO_TRY_VOID(co_await flow_configuration.write_conditions(*consumer));
    scope.spawn(flow_configuration.keep_defaults(*producer));
    scope.spawn(flow_configuration.follow(*consumer));
    co_return {};
}

Task<> ApiServer::Impl::start_aggregation() {
    aggregator_writer = std::make_unique<LocalTransport>(server, seams.loop, loopback_user(), "kube-aggregator");
    api_services.emplace(*aggregator_writer);
    CO_TRY_VOID(co_await aggregator.sync(*api_services));
    aggregator.start(*api_services);
    co_return {};
}

Task<> ApiServer::Impl::serve_metrics(RequestContext& context) {
    std::string text;
    server.metrics().append(text);
    if (flow_control) flow_control->append_metrics(text);
    append_store_metrics(text);
    webhook_metrics.append(text);
    policy_metrics.append(text);
    condition_metrics.append(text);
    access_condition_metrics.append(text);
    custom_resources.append_metrics(text);
    aggregator.append_metrics(text);
    if (options.audit) options.audit->append_metrics(text);
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
    const store::Store::Usage usage = store->usage();
    const auto gauge = [&](const char* name, const char* help, std::size_t value) {
        out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n" + name + " " + std::to_string(value) + "\n";
    };
    gauge("apiserver_storage_size_bytes", "Bytes of keys and values in the store, its history included.",
          usage.live_bytes + usage.history_bytes);
    gauge("porthole_store_history_bytes", "Those of them that only the history holds.", usage.history_bytes);
    gauge("porthole_store_quota_bytes", "Size beyond which creates and updates are refused; 0: none.", usage.quota_bytes);
    gauge("porthole_store_quota_exceeded", "1 while creates and updates are refused.", usage.exceeded);
    out += "# HELP kubernetes_build_info The version of this server.\n# TYPE kubernetes_build_info gauge\n";
    out += "kubernetes_build_info{git_version=\"" + options.git_version + "\"} 1\n";
}

Task<> ApiServer::Impl::serve_resource(RequestContext& context) {
    // Held until the request ends: a definition may change meanwhile.
    const ResourcePtr resource = tables->resources.find(context.info.group, context.info.version, context.info.resource);
    if (!resource) co_return no_such_resource();
    if (context.info.subresource == "scale") co_return co_await handle_scale(handler, context, *resource);
    co_return co_await handler.handle(context, *resource);
}

Result<void> ApiServer::Impl::load_roles() {
    TRY_VOID(roles.load());
    TRY_VOID(role_bindings.load());
    TRY_VOID(cluster_roles.load());
    return cluster_role_bindings.load();
}

Task<> ApiServer::Impl::repair_allocations() {
    CO_TRY(auto operations, tables->allocator.repairs());
    if (operations.empty()) co_return {};
    seams.log.warn("service allocations did not fit the services and were repaired", {{"records", operations.size()}});
    // Each is right by itself, so they need not be one transaction, for which they may be too many.
    for (std::span<store::Operation> rest = operations; !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), store::Transaction::MaxOperations));
        store::Transaction transaction;
        transaction.operations.assign(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
        CO_TRY_VOID(co_await store->commit(std::move(transaction)));
        rest = rest.subspan(some.size());
    }
    co_return {};
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::open(Seams seams, std::unique_ptr<store::Engine> engine, ApiServerOptions options) {
    TRY(auto settings, allocator_settings(options));
    TRY(auto keys, token_keys(options.service_account_key_pem, options.previous_service_account_key_pem));
    auto tables = std::make_unique<Tables>(std::move(settings), seams.random);
    TRY(auto store, store::Store::open({seams.loop, seams.pool, seams.log.named("store")}, std::move(engine),
                                       make_attributes_of(tables->resources), {.quota_bytes = options.store_quota_bytes}));
    return std::unique_ptr<ApiServer>(
        new ApiServer(std::make_unique<Impl>(seams, std::move(options), std::move(tables), std::move(store), std::move(keys))));
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
    CO_TRY_VOID(impl_->open_access());
    CO_TRY_VOID(impl_->load_roles());
    CO_TRY_VOID(impl_->mutating_webhooks.load());
    CO_TRY_VOID(impl_->validating_webhooks.load());
    CO_TRY_VOID(impl_->mutating_policies.load());
    CO_TRY_VOID(impl_->mutating_policy_bindings.load());
    CO_TRY_VOID(impl_->validating_policies.load());
    CO_TRY_VOID(impl_->validating_policy_bindings.load());
    CO_TRY_VOID(impl_->node_graph.load(*impl_->store));
    CO_TRY_VOID(impl_->custom_resources.load());
    CO_TRY_VOID(impl_->aggregator.load());
    // A full store is one that has to be started for something to be deleted.
    const QuotaLifted lifted(*impl_->store);
    CO_TRY_VOID(co_await impl_->repair_allocations());
    const auto own = transport(loopback_user(), "porthole-bootstrap");
    client::Client client(*own);
    auto made = co_await bootstrap_cluster(client, impl_->options.bootstrap);
    CO_TRY_VOID(co_await own->close());
    // Whoever asks from now on has the rights that were just made: followed roles would come a moment later.
    CO_TRY_VOID(impl_->load_roles());

    Scope& scope = impl_->scope;
    scope.spawn(impl_->roles.follow());
    scope.spawn(impl_->role_bindings.follow());
    scope.spawn(impl_->cluster_roles.follow());
    scope.spawn(impl_->cluster_role_bindings.follow());
    scope.spawn(impl_->mutating_webhooks.follow());
    scope.spawn(impl_->validating_webhooks.follow());
    scope.spawn(impl_->mutating_policies.follow());
    scope.spawn(impl_->mutating_policy_bindings.follow());
    scope.spawn(impl_->validating_policies.follow());
    scope.spawn(impl_->validating_policy_bindings.follow());
    scope.spawn(impl_->node_graph.follow(*impl_->store));
    scope.spawn(impl_->resource_metrics.run());
    impl_->definition_writer = transport(loopback_user(), "porthole-custom-resources");
    impl_->definitions.emplace(*impl_->definition_writer);
    scope.spawn(impl_->custom_resources.follow(*impl_->definitions));
    impl_->policy_writer = transport(loopback_user(), "validatingadmissionpolicy-status-controller");
    impl_->policies.emplace(*impl_->policy_writer);
    scope.spawn(impl_->policy_status.follow(*impl_->policies));
    if (made) made = co_await impl_->start_flow_control();
    if (made) made = co_await impl_->start_aggregation();
    impl_->bootstrapped = made.has_value();
    co_return made;
}

Task<> ApiServer::close() {
    impl_->closed = true;
    CO_TRY_VOID(co_await impl_->scope.close());
    if (impl_->issuers) CO_TRY_VOID(co_await impl_->issuers->close());
    CO_TRY_VOID(co_await impl_->custom_resources.close());
    CO_TRY_VOID(co_await impl_->aggregator.close());
    if (impl_->aggregator_writer) CO_TRY_VOID(co_await impl_->aggregator_writer->close());
    if (impl_->definition_writer) CO_TRY_VOID(co_await impl_->definition_writer->close());
    if (impl_->policy_writer) CO_TRY_VOID(co_await impl_->policy_writer->close());
    if (impl_->configuration_producer) CO_TRY_VOID(co_await impl_->configuration_producer->close());
    if (impl_->configuration_consumer) CO_TRY_VOID(co_await impl_->configuration_consumer->close());
    co_return co_await impl_->store->close();
}

Task<> ApiServer::use_authorities(std::string ca_pem) {
    BootstrapOptions told = impl_->options.bootstrap;
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
    impl_->tokens.use_keys(std::move(keys));
    return {};
}

void ApiServer::use_front_proxy_certificate(std::string certificate_pem, std::string key_pem) {
    impl_->aggregator.use_client_certificate(std::move(certificate_pem), std::move(key_pem));
}

Task<> ApiServer::use_issuers(std::vector<JwtIssuer> issuers, AnonymousPolicy anonymous) {
    CO_TRY_VOID(co_await impl_->issuers->replace(std::move(issuers)));
    impl_->authenticators.set_anonymous(std::move(anonymous));
    co_return {};
}

Result<void> ApiServer::use_authorizers(const std::vector<AuthorizerOptions>& authorizers) {
    const auto fixed = [](const std::vector<AuthorizerOptions>& all) {
        std::set<AuthorizerOptions::Type> types;
        for (const AuthorizerOptions& one : all) types.insert(one.type);
        types.erase(AuthorizerOptions::Type::Webhook);
        return types;
    };
    if (fixed(authorizers) != fixed(impl_->options.authorizers))
        return Error(Reason::BadRequest, "authorizers other than webhooks can only be added or removed by a restart");
    return impl_->use_authorizers(authorizers);
}

ClientCertificates& ApiServer::client_certificates() { return impl_->client_certificates; }
Server& ApiServer::server() { return impl_->server; }

Task<std::size_t> ApiServer::restore(std::vector<StorageEncryption::Opened> opened) {
    std::size_t count = 0;
    for (const StorageEncryption::Opened& one : opened) {
        const store::RecordPtr current = impl_->store->get(one.key);
        if (!current || !is_unreadable(*current->value)) continue;
        const Resource* resource = impl_->tables->resources.find_by_key(one.key);
        auto tree = schema::parse_json(one.value, {.depth = 2 * schema::MaxTreeDepth});
        store::Put put{.key = one.key, .value = one.value};
        if (resource && tree && tree->is_object()) put = put_of(*resource, one.key, ApiObject(*resource->stored, std::move(*tree)));
        put.lease = current->lease;
        store::Transaction transaction{.frees = true};
        transaction.guards.push_back(store::Guard::unchanged(current->key, current->modified));
        transaction.operations.push_back(std::move(put));
        const auto committed = co_await impl_->store->commit(std::move(transaction));
        if (!committed && committed.error().reason != Reason::Conflict) co_return committed.error();
        if (committed) ++count;
    }
    co_return count;
}

store::Store& ApiServer::store() { return *impl_->store; }
const schema::Registry& ApiServer::registry() const { return impl_->registry; }

std::unique_ptr<LocalTransport> ApiServer::transport(User user, std::string agent) {
    return std::make_unique<LocalTransport>(impl_->server, impl_->seams.loop, std::move(user), std::move(agent));
}

}  // namespace porthole::apiserver
