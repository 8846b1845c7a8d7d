#include "apiserver/kinds/core/pod_spec.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr std::int64_t GracePeriodSeconds = 30;
constexpr std::int64_t TokenSeconds = 3600;

/// The tag follows the last ":" after the last "/". A digest without a tag is no "latest".
bool is_latest(const std::string& image) {
    const std::size_t digest = image.find('@');
    const std::string name = image.substr(0, digest);
    const std::size_t slash = name.rfind('/');
    const std::size_t colon = name.rfind(':');
    const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
    if (tagged) return name.substr(colon + 1) == "latest";
    return digest == std::string::npos;
}

std::string pull_policy_for(const std::string& image) { return is_latest(image) ? "Always" : "IfNotPresent"; }

void default_http_get(schema::Box<HTTPGetAction>& action) {
    if (!action) return;
    if (action->path.empty()) action->path = "/";
    if (action->scheme.empty()) action->scheme = "HTTP";
}

void default_probe(schema::Box<Probe>& probe) {
    if (!probe) return;
    if (probe->timeout_seconds == 0) probe->timeout_seconds = 1;
    if (probe->period_seconds == 0) probe->period_seconds = 10;
    if (probe->success_threshold == 0) probe->success_threshold = 1;
    if (probe->failure_threshold == 0) probe->failure_threshold = 3;
    default_http_get(probe->http_get);
    if (probe->grpc && !probe->grpc->service) probe->grpc->service = "";
}

void default_field_reference(schema::Box<ObjectFieldSelector>& reference) {
    if (reference && reference->api_version.empty()) reference->api_version = "v1";
}

void round_up(std::map<std::string, Quantity>& amounts) {
    for (auto& [name, amount] : amounts) amount = amount.rounded_up_to_milli();
}

template <class AnyContainer>
void default_container(AnyContainer& container) {
    if (container.image_pull_policy.empty()) container.image_pull_policy = pull_policy_for(container.image);
    if (container.termination_message_path.empty()) container.termination_message_path = "/dev/termination-log";
    if (container.termination_message_policy.empty()) container.termination_message_policy = "File";
    for (ContainerPort& port : container.ports)
        if (port.protocol.empty()) port.protocol = "TCP";
    for (EnvVar& variable : container.env)
        if (variable.value_from) default_field_reference(variable.value_from->field_ref);
    default_probe(container.liveness_probe);
    default_probe(container.readiness_probe);
    default_probe(container.startup_probe);
    if (container.lifecycle) {
        if (container.lifecycle->post_start) default_http_get(container.lifecycle->post_start->http_get);
        if (container.lifecycle->pre_stop) default_http_get(container.lifecycle->pre_stop->http_get);
    }
    round_up(container.resources.limits);
    round_up(container.resources.requests);
}

template <class Source>
void default_mode(schema::Box<Source>& source) {
    if (source && !source->default_mode) source->default_mode = 0644;
}

void default_volume(Volume& volume) {
    if (volume.host_path && !volume.host_path->type) volume.host_path->type = "";
    default_mode(volume.secret);
    default_mode(volume.config_map);
    default_mode(volume.downward_api);
    default_mode(volume.projected);
    if (volume.downward_api)
        for (auto& item : volume.downward_api->items) default_field_reference(item.field_ref);
    if (volume.projected) {
        for (VolumeProjection& source : volume.projected->sources) {
            if (source.service_account_token && !source.service_account_token->expiration_seconds)
                source.service_account_token->expiration_seconds = TokenSeconds;
            if (source.downward_api)
                for (auto& item : source.downward_api->items) default_field_reference(item.field_ref);
        }
    }
    if (volume.image && volume.image->pull_policy.empty()) volume.image->pull_policy = pull_policy_for(volume.image->reference);
    const VolumeSource& source = volume;
    if (source == VolumeSource()) volume.empty_dir.emplace();
}

template <class AnyContainer>
void default_requests(AnyContainer& container) {
    for (const auto& [name, limit] : container.resources.limits) container.resources.requests.emplace(name, limit);
}

template <class AnyContainer>
void default_host_ports(AnyContainer& container) {
    for (ContainerPort& port : container.ports)
        if (port.host_port == 0) port.host_port = port.container_port;
}

}  // namespace

void default_pod_spec(PodSpec& spec) {
    if (spec.dns_policy.empty()) spec.dns_policy = "ClusterFirst";
    if (spec.restart_policy.empty()) spec.restart_policy = "Always";
    if (!spec.termination_grace_period_seconds) spec.termination_grace_period_seconds = GracePeriodSeconds;
    if (!spec.security_context) spec.security_context.emplace();
    if (spec.scheduler_name.empty()) spec.scheduler_name = "default-scheduler";
    // The older of the two names, kept in step for old clients.
    if (spec.service_account_name.empty()) spec.service_account_name = spec.service_account;
    spec.service_account = spec.service_account_name;
    for (Container& container : spec.containers) default_container(container);
    for (Container& container : spec.init_containers) default_container(container);
    for (EphemeralContainer& container : spec.ephemeral_containers) default_container(container);
    for (Volume& volume : spec.volumes) default_volume(volume);
    round_up(spec.overhead);
}

void default_pod_object(PodSpec& spec) {
    if (!spec.enable_service_links) spec.enable_service_links = true;
    for (Container& container : spec.containers) default_requests(container);
    for (Container& container : spec.init_containers) default_requests(container);
    default_pod_level_resources(spec);
    if (!spec.host_network) return;
    for (Container& container : spec.containers) default_host_ports(container);
    for (Container& container : spec.init_containers) default_host_ports(container);
}

}  // namespace porthole::apiserver
