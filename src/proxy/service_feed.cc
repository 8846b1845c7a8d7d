#include "proxy/service_feed.h"

namespace porthole::proxy {

namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;

template <class T>
std::string key(const T& object) {
    return client::key_of(object).text();
}

}  // namespace

ServiceFeed::ServiceFeed(client::Informers& informers, std::string node_name, std::function<void()> changed)
    : services_(informers.get<core::Service>()),
      slices_(informers.get<discovery::EndpointSlice>()),
      nodes_(informers.get<core::Node>()),
      node_name_(std::move(node_name)),
      changed_(std::move(changed)) {}

void ServiceFeed::fill(ServiceTable& table, Family family, Adapt adapt) {
    const auto service_seen = [this, &table, family, adapt](const core::Service& service) {
        if (auto info = service_info(service, family)) {
            if (adapt.service) adapt.service(*info);
            table.set_service(*std::move(info));
        } else {
            table.remove_service(key(service));
        }
        changed_();
    };
    services_.subscribe({.added = [=](const auto& now) { service_seen(*now); },
                         .updated = [=](const auto&, const auto& now) { service_seen(*now); },
                         .deleted =
                             [this, &table](const auto& last) {
                                 table.remove_service(key(*last));
                                 changed_();
                             }});
    const auto slice_seen = [this, &table, family](const discovery::EndpointSlice& slice) {
        if (auto info = slice_info(slice, family))
            table.set_slice(*std::move(info));
        else
            table.remove_slice(key(slice));
        changed_();
    };
    slices_.subscribe({.added = [=](const auto& now) { slice_seen(*now); },
                       .updated = [=](const auto&, const auto& now) { slice_seen(*now); },
                       .deleted =
                           [this, &table](const auto& last) {
                               table.remove_slice(key(*last));
                               changed_();
                           }});
    const auto node_seen = [this, &table, family, adapt](const core::Node& node) {
        if (node.metadata.name != node_name_) return;
        NodeView view = node_view(node, family);
        if (adapt.node) adapt.node(view);
        table.set_node(std::move(view));
        if (table.changed()) changed_();
    };
    nodes_.subscribe(
        {.added = [=](const auto& now) { node_seen(*now); }, .updated = [=](const auto&, const auto& now) { node_seen(*now); }});
}

Task<> ServiceFeed::wait_for_sync() {
    for (client::InformerCore* source : {&services_.core(), &slices_.core(), &nodes_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    co_return {};
}

std::shared_ptr<const core::Service> ServiceFeed::service(const std::string& key) const {
    const std::size_t slash = key.find('/');
    if (slash == key.npos) return nullptr;
    return services_.find({key.substr(0, slash), key.substr(slash + 1)});
}

}  // namespace porthole::proxy
