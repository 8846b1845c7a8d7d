#include "controllers/registry.h"

#include <set>

#include "controllers/bootstrap_tokens/cluster_info_signer.h"
#include "controllers/bootstrap_tokens/token_cleaner.h"
#include "controllers/certificates/approver.h"
#include "controllers/certificates/signer.h"
#include "controllers/cluster_role_aggregation/cluster_role_aggregation.h"
#include "controllers/cron_job/cron_job.h"
#include "controllers/daemonset/daemon_set.h"
#include "controllers/deployment/deployment.h"
#include "controllers/disruption/disruption.h"
#include "controllers/dns_endpoints/dns_endpoints.h"
#include "controllers/endpoints/endpoint_slices.h"
#include "controllers/endpoints/endpoints.h"
#include "controllers/endpoints/slice_mirroring.h"
#include "controllers/garbage_collector/garbage_collector.h"
#include "controllers/job/job.h"
#include "controllers/namespace/namespace.h"
#include "controllers/node_ipam/node_ipam.h"
#include "controllers/node_lifecycle/node_lifecycle.h"
#include "controllers/node_lifecycle/taint_eviction.h"
#include "controllers/persistent_volume/ephemeral_volumes.h"
#include "controllers/persistent_volume/volume_binder.h"
#include "controllers/persistent_volume/volume_protection.h"
#include "controllers/pod_gc/pod_gc.h"
#include "controllers/replicaset/replica_set.h"
#include "controllers/replicaset/replication_controller.h"
#include "controllers/resource_quota/resource_quota.h"
#include "controllers/root_ca/root_ca.h"
#include "controllers/service_account/service_account.h"
#include "controllers/service_account/token_secrets.h"
#include "controllers/stateful_set/stateful_set.h"
#include "controllers/ttl_after_finished/ttl_after_finished.h"

namespace porthole::controllers {
namespace {

template <class C>
Registration controller(std::string name) {
    return {std::move(name), [](Context& context) -> Result<ControllerPtr> { return std::make_unique<C>(context); }};
}

Result<ControllerPtr> make_signer(Context& context) {
    if (context.settings.signer_certificate_pem.empty()) return ControllerPtr();
    TRY(auto authority, net::CertificateAuthority::load(context.settings.signer_certificate_pem, context.settings.signer_key_pem));
    return std::make_unique<CertificateSigner>(context, std::move(authority));
}

Result<ControllerPtr> make_node_ipam(Context& context) {
    TRY(auto made, NodeIpamController::create(context));
    return made;
}

}  // namespace

std::vector<Registration> all_controllers() {
    return {
        controller<ClusterInfoSigner>("bootstrap-signer"),
        controller<CertificateApprover>("certificate-approver"),
        controller<CertificateCleaner>("certificate-cleaner"),
        {"certificate-signer", make_signer},
        controller<ClusterRoleAggregationController>("cluster-role-aggregation"),
        controller<CronJobController>("cron-job"),
        controller<DaemonSetController>("daemon-set"),
        controller<DeploymentController>("deployment"),
        controller<DnsEndpointsController>("dns-endpoints"),
        controller<DisruptionController>("disruption"),
        controller<EndpointSliceController>("endpoint-slice"),
        controller<SliceMirroringController>("endpoint-slice-mirroring"),
        controller<EndpointsController>("endpoints"),
        controller<EphemeralVolumeController>("ephemeral-volume"),
        controller<GarbageCollector>("garbage-collector"),
        controller<JobController>("job"),
        controller<NamespaceController>("namespace"),
        {"node-ipam", make_node_ipam},
        controller<NodeLifecycleController>("node-lifecycle"),
        controller<VolumeBinder>("persistent-volume-binder"),
        controller<VolumeProtection>("persistent-volume-protection"),
        controller<PodGcController>("pod-garbage-collector"),
        controller<ReplicaSetController>("replica-set"),
        controller<ReplicationControllerController>("replication-controller"),
        controller<ResourceQuotaController>("resource-quota"),
        controller<RootCaController>("root-ca-certificate-publisher"),
        controller<ServiceAccountController>("service-account"),
        controller<StatefulSetController>("stateful-set"),
        controller<TaintEvictionController>("taint-eviction"),
        controller<TokenCleaner>("token-cleaner"),
        controller<TokenSecretController>("token-secrets"),
        controller<TtlAfterFinishedController>("ttl-after-finished"),
    };
}

ControllerManager::ControllerManager(Seams seams, const schema::Registry& kinds, Settings settings)
    : log_(seams.log),
      informers_({seams.loop, seams.client, seams.random, seams.log, seams.shared}),
      events_(seams.loop, seams.client, seams.log),
      context_{.loop = seams.loop,
               .client = seams.client,
               .random = seams.random,
               .log = seams.log,
               .informers = informers_,
               .events = events_,
               .kinds = kinds,
               .settings = std::move(settings)},
      scope_(seams.loop, [this](const Error& error) { log_.error("a controller ended", {{"error", error.message}}); }) {}

Result<std::unique_ptr<ControllerManager>> ControllerManager::create(Seams seams, const schema::Registry& kinds, Settings settings) {
    std::unique_ptr<ControllerManager> manager(new ControllerManager(std::move(seams), kinds, std::move(settings)));
    std::set<std::string> names;
    for (const Registration& registration : all_controllers()) {
        CHECK(names.insert(registration.name).second);
        auto made = registration.make(manager->context_);
        if (!made) return std::move(made).error().with_context("controller " + registration.name);
        if (*made) manager->controllers_.push_back(std::move(*made));
    }
    return manager;
}

void ControllerManager::start() {
    informers_.start();
    for (const ControllerPtr& controller : controllers_) scope_.spawn(controller->run());
}

Task<> ControllerManager::close() {
    CO_TRY_VOID(co_await scope_.close());
    CO_TRY_VOID(co_await events_.close());
    co_return co_await informers_.close();
}

}  // namespace porthole::controllers
