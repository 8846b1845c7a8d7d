#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "api/rbac_v1.h"
#include "apiserver/admission/policies/policy_metrics.h"
#include "apiserver/aggregation/aggregator.h"
#include "apiserver/allocation/service_allocator.h"
#include "apiserver/api_server_options.h"
#include "apiserver/authentication/client_certificates.h"
#include "apiserver/authentication/jwt_authenticator.h"
#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/authorization/webhook_authorizer.h"
#include "apiserver/bootstrap/endpoint_reconciler.h"
#include "apiserver/custom_resources/custom_resources.h"
#include "apiserver/flow_control_configuration.h"
#include "apiserver/future_reads.h"
#include "apiserver/handlers/component_status.h"
#include "apiserver/handlers/documents.h"
#include "apiserver/handlers/health.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/list_sizes.h"
#include "apiserver/local_client_set.h"
#include "apiserver/policy_status.h"
#include "apiserver/resource_metrics/resource_metrics.h"
#include "apiserver/resources/served_versions.h"
#include "apiserver/resources/stored_parameters.h"
#include "apiserver/storage/mirrors.h"
#include "apiserver/subresources/streams.h"
#include "runtime/scope.h"
#include "store/shared_store.h"

namespace porthole::apiserver {

/// The parts of ApiServer, in the order of construction: each member uses only those above. The functions are in api_server.cc (opening and
/// background work), api_server_access.cc (authentication and authorization) and api_server_routes.cc (routes).
struct ApiServerParts {
    using Role = api::rbac::v1::Role;
    using RoleBinding = api::rbac::v1::RoleBinding;
    using ClusterRole = api::rbac::v1::ClusterRole;
    using ClusterRoleBinding = api::rbac::v1::ClusterRoleBinding;
    using AdmissionObjects =
        Mirrors<api::admissionregistration::v1::MutatingWebhookConfiguration,
                api::admissionregistration::v1::ValidatingWebhookConfiguration, api::admissionregistration::v1::MutatingAdmissionPolicy,
                api::admissionregistration::v1::MutatingAdmissionPolicyBinding, api::admissionregistration::v1::ValidatingAdmissionPolicy,
                api::admissionregistration::v1::ValidatingAdmissionPolicyBinding>;

    /// Tables that are needed to read the store.
    struct Tables {
        schema::Registry registry;  ///< built-in kinds, and custom resources
        ServiceAllocator allocator;
        ResourceTable resources;

        Tables(schema::Registry kinds, ServiceAllocator::Settings settings, Random& random)
            : registry(std::move(kinds)),
              allocator(std::move(settings), random),
              resources(registry, kind_strategies({allocator}), kind_conversions()) {}
    };

    const ApiServerSeams seams;
    const ApiServerOptions options;
    const std::unique_ptr<Tables> tables;
    schema::Registry& registry = tables->registry;
    const std::unique_ptr<store::Store> store;
    /// The store if other servers also write to it; otherwise null.
    store::SharedStore* const shared = dynamic_cast<store::SharedStore*>(store.get());
    const ObjectReader reader{*store};

    Mirrors<Role, RoleBinding, ClusterRole, ClusterRoleBinding> roles{*store, seams.log};
    AdmissionObjects admission_objects{*store, seams.log};
    const ServedVersions versions{tables->resources};
    const StoredParameters policy_parameters{registry, tables->resources, *store};
    AdmissionWebhookMetrics webhook_metrics;
    AdmissionPolicyMetrics policy_metrics;
    AdmissionConditionMetrics condition_metrics;
    AccessConditionMetrics access_condition_metrics;
    NodeGraph node_graph;
    const RbacObjects rbac_objects{roles.of<Role>(), roles.of<RoleBinding>(), roles.of<ClusterRole>(), roles.of<ClusterRoleBinding>()};
    RbacAuthorizer rbac{rbac_objects};
    AuthorizerChain authorizer;
    ServiceAccountTokens tokens;
    ClientCertificates client_certificates;
    AuthenticatorChain authenticators;
    JwtAuthenticators* issuers = nullptr;  ///< one of them
    bool has_webhook_authorizer = false;
    std::map<std::string, std::string> flags = options.flags;  ///< and those known only here
    AdmissionChain admission;

    ResourceStore objects;
    FutureReads future_reads;
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
    /// As which parts of this server write, by their User-Agents.
    LocalClientSet clients{
        [this](const std::string& agent) { return std::make_unique<LocalTransport>(server, seams.loop, loopback_user(), agent); }};
    std::unique_ptr<EndpointReconciler> endpoints;  ///< if other servers also write to the store
    bool bootstrapped = false, closed = false;

    ApiServerParts(ApiServerSeams with, ApiServerOptions chosen, std::unique_ptr<Tables> made, std::unique_ptr<store::Store> opened,
                   std::vector<TokenKey> keys);
    /// Creates the authentication, authorization and admission chains. Until then the authorizer allows nothing.
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
    void start_endpoints();
    Task<> serve_resource(RequestContext& context);
    Task<> serve_metrics(RequestContext& context);
    Task<> repair_allocations();
};

}  // namespace porthole::apiserver
