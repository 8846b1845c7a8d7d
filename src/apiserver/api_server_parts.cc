#include "apiserver/api_server_parts.h"

#include <span>

#include "base/hash.h"

namespace porthole::apiserver {

ApiServerParts::ApiServerParts(ApiServerSeams with, ApiServerOptions chosen, std::unique_ptr<Tables> made,
                               std::unique_ptr<store::Store> opened, std::vector<TokenKey> keys)
    : seams(with),
      options(std::move(chosen)),
      tables(std::move(made)),
      store(std::move(opened)),
      tokens(std::move(keys),
             {.issuers = options.service_account_issuers,
              .api_audiences = options.service_account_issuers,
              .extend = options.extend_service_account_tokens},
             reader, seams.loop, seams.random),
      objects({.clock = seams.loop, .random = seams.random, .store = *store, .admission = admission, .shared = shared}),
      future_reads(objects, options.limits.waiting_reads),
      handler({.registry = registry,
               .resources = tables->resources,
               .objects = objects,
               .authorizer = authorizer,
               .random = seams.random,
               .loop = seams.loop}),
      streams(handler, admission, seams.loop, seams.random, seams.connector),
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

std::unique_ptr<FlowControl> ApiServerParts::make_flow_control() {
    if (!options.priority_and_fairness) return nullptr;
    FlowControl::Options chosen{.seats = static_cast<std::uint32_t>(options.limits.mutating + options.limits.reading),
                                .wait_limit = options.limits.request_time / 4,
                                .seed = fnv1a_64(options.service_account_key_pem)};  // which users do not know
    chosen.count_objects = [this](const RequestInfo& info) { return list_sizes.of(info); };
    return std::make_unique<FlowControl>(seams.loop, seams.loop, std::move(chosen));
}

Task<> ApiServerParts::start_flow_control() {
    client::Client& producer = clients.of("api-priority-and-fairness-config-producer-v1");
    client::Client& consumer = clients.of("api-priority-and-fairness-config-consumer-v1");
    CO_TRY_VOID(co_await flow_configuration.ensure_defaults(producer));
    CO_TRY_VOID(co_await flow_configuration.write_conditions(consumer));
    scope.spawn(flow_configuration.keep_defaults(producer));
    scope.spawn(flow_configuration.follow(consumer));
    co_return {};
}

Task<> ApiServerParts::start_aggregation() {
    client::Client& client = clients.of("kube-aggregator");
    CO_TRY_VOID(co_await aggregator.sync(client));
    aggregator.start(client);
    co_return {};
}

void ApiServerParts::start_endpoints() {
    const BootstrapOptions& own = options.bootstrap;
    if (!shared || !options.reconcile_endpoints || is_loopback(own.advertise_address)) return;
    endpoints = std::make_unique<EndpointReconciler>(
        EndpointReconciler::Seams{seams.loop, *shared, clients.of("kube-apiserver"), seams.log.named("endpoints")}, own.advertise_address,
        own.port);
    scope.spawn(endpoints->run());
}

Task<> ApiServerParts::repair_allocations() {
    CO_TRY(auto operations, tables->allocator.repairs());
    if (operations.empty()) co_return {};
    seams.log.warn("service allocations did not fit the services and were repaired", {{"records", operations.size()}});
    // Each is right by itself, so they need not be one transaction, for which they may be too many.
    for (std::span<store::Operation> rest = operations; !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), store::Transaction::UsualOperations));
        store::Transaction transaction;
        transaction.operations.assign(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
        CO_TRY_VOID(co_await store->commit(std::move(transaction)));
        rest = rest.subspan(some.size());
    }
    co_return {};
}

}  // namespace porthole::apiserver
