#include "controllers/root_ca/root_ca.h"

#include "controllers/framework/pod_control.h"

namespace porthole::controllers {

using namespace api::core::v1;

namespace {

constexpr const char* MapName = "kube-root-ca.crt";
constexpr const char* Description =
    "The certificate authority of this cluster's API server; clients in pods verify the server by it. Kept by the control plane.";

}  // namespace

RootCaController::RootCaController(Context& context)
    : Controller(context.loop, context.log, {.name = "root-ca-certificate-publisher"}),
      client_(context.client),
      ca_pem_(context.settings.root_ca_pem),
      namespaces_(context.informers.get<Namespace>()),
      config_maps_(context.informers.get<ConfigMap>({.field_selector = std::string("metadata.name=") + MapName})) {
    reconcile_each(namespaces_);
    depends_on(config_maps_).on_change([this](const ConfigMap& map) { queue().add({"", map.metadata.namespace_}); });
}

Task<client::Requeue> RootCaController::reconcile(client::NamespacedName key) {
    const auto space = namespaces_.find(key);
    if (!space || space->metadata.deletion_timestamp || ca_pem_.empty()) co_return client::Requeue::never();
    const auto stored = config_maps_.find({key.name, MapName});
    const std::map<std::string, std::string> wanted = {{"ca.crt", ca_pem_}};
    if (stored && stored->data == wanted) co_return client::Requeue::never();

    ConfigMap map = stored ? *stored : ConfigMap();
    map.metadata.name = MapName;
    map.metadata.namespace_ = key.name;
    map.metadata.annotations["kubernetes.io/description"] = Description;
    map.data = wanted;
    Task<ConfigMap> write = stored ? client_.update(std::move(map)) : client_.create(std::move(map));
    auto written = co_await std::move(write);
    const bool fine = written || written.error().reason == Reason::AlreadyExists || is_namespace_terminating(written.error());
    if (!fine) co_return std::move(written).error();
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_root_ca_certificate_publisher(Context& context) { return make_controller<RootCaController>(context); }

}  // namespace porthole::controllers
