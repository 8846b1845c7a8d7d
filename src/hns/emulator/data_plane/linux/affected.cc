#include "hns/emulator/data_plane/linux/affected.h"

#include <algorithm>

#include "hns/emulator/data_plane/linux/addressing.h"

namespace porthole::hns::emulator {

namespace {

std::vector<const hcn::Policy*> seen_by_endpoints(const Network& network) {
    std::vector<const hcn::Policy*> seen;
    for (const hcn::Policy& policy : network.document.policies) {
        if (is_policy(policy, "HostRoute") || is_policy(policy, "SetPolicy")) seen.push_back(&policy);
    }
    return seen;
}

/// Whether endpoints and load balancers see no difference between two states of their network.
bool same_ground(const Network* before, const Network* after) {
    if (!before || !after) return before == after;
    if (before == after) return true;
    const auto same_policy = [](const hcn::Policy* a, const hcn::Policy* b) { return a->type == b->type && a->settings == b->settings; };
    return before->number == after->number && before->adapter == after->adapter && type_of(before->document) == type_of(after->document) &&
           before->management_address == after->management_address && before->document.ipams == after->document.ipams &&
           std::ranges::equal(seen_by_endpoints(*before), seen_by_endpoints(*after), same_policy);
}

/// Whether load balancers and routes see no difference between two states of an endpoint.
bool same_target(const Endpoint* before, const Endpoint* after) {
    if (!before || !after) return before == after;
    return before->number == after->number && before->is_attached() == after->is_attached() &&
           is_remote(before->document) == is_remote(after->document) && ipv4_of(*before) == ipv4_of(*after);
}

class Search {
public:
    Search(const View& before, const View& after) : before_(before), after_(after) {}

    Affected run(const Changes& changes) {
        found_ = {.networks = set(changes.networks),
                  .endpoints = set(changes.endpoints),
                  .namespaces = set(changes.namespaces),
                  .load_balancers = set(changes.load_balancers),
                  .routes = set(changes.routes)};
        follow_networks(changes.networks);
        follow_namespaces(changes.namespaces);
        follow_endpoints();
        return std::move(found_);
    }

private:
    static std::set<std::string> set(const std::vector<std::string>& ids) { return {ids.begin(), ids.end()}; }

    template <class T, class F>
    void each(Table<T> Model::* family, F visit) {
        const auto &before = before_.model.*family, &after = after_.model.*family;
        if (!before.is_same(after))
            for (const auto& [id, object] : before) visit(id, *object);
        for (const auto& [id, object] : after) visit(id, *object);
    }

    void follow_networks(const std::vector<std::string>& ids) {
        std::set<std::string> changed;
        for (const std::string& id : ids) {
            if (!same_ground(find(before_.model.networks, id), find(after_.model.networks, id))) changed.insert(id);
        }
        if (changed.empty()) return;
        each(&Model::endpoints, [&](const std::string& id, const Endpoint& endpoint) {
            if (changed.contains(endpoint.document.host_compute_network)) found_.endpoints.insert(id);
        });
        each(&Model::load_balancers, [&](const std::string& id, const LoadBalancer& balancer) {
            const Network* networks[] = {before_.network_of(balancer), after_.network_of(balancer)};
            for (const Network* network : networks) {
                if (network && changed.contains(network->document.id)) found_.load_balancers.insert(id);
            }
        });
    }

    void follow_namespaces(const std::vector<std::string>& ids) {
        std::set<std::string> changed;
        for (const std::string& id : ids) {
            const bool was = find(before_.model.namespaces, id) != nullptr, is = find(after_.model.namespaces, id) != nullptr;
            if (was != is) changed.insert(id);
        }
        if (changed.empty()) return;
        each(&Model::endpoints, [&](const std::string& id, const Endpoint& endpoint) {
            if (changed.contains(endpoint.document.host_compute_namespace)) found_.endpoints.insert(id);
        });
    }

    void follow_endpoints() {
        std::set<std::string> changed, networks;
        for (const std::string& id : found_.endpoints) {
            const Endpoint *was = find(before_.model.endpoints, id), *is = find(after_.model.endpoints, id);
            if (same_target(was, is)) continue;
            changed.insert(id);
            for (const Endpoint* endpoint : {was, is}) {
                if (endpoint && !is_remote(endpoint->document)) networks.insert(endpoint->document.host_compute_network);
            }
        }
        if (changed.empty()) return;
        std::erase_if(networks, [&](const std::string& id) { return before_.has_local_endpoint(id) == after_.has_local_endpoint(id); });
        const auto names = [](const auto& object, const std::string& id) {
            const auto& ids = object.document.host_compute_endpoints;
            return std::ranges::find(ids, id) != ids.end();
        };
        each(&Model::routes, [&](const std::string& id, const SdnRoute& route) {
            if (std::ranges::any_of(changed, [&](const std::string& endpoint) { return names(route, endpoint); })) found_.routes.insert(id);
        });
        for (const std::string& endpoint : changed) {
            for (const View* view : {&before_, &after_}) {
                for (const LoadBalancer* balancer : view->model.load_balancers.with(key_of_backend(endpoint)))
                    if (names(*balancer, endpoint)) found_.load_balancers.insert(balancer->document.id);
            }
        }
        if (networks.empty()) return;
        each(&Model::load_balancers, [&](const std::string& id, const LoadBalancer& balancer) {
            if (!balancer.document.frontend_vips.empty()) return;
            const Network* network = after_.network_of(balancer);
            if (network && networks.contains(network->document.id)) found_.load_balancers.insert(id);
        });
    }

    const View &before_, &after_;
    Affected found_;
};

}  // namespace

Affected affected_by(const Changes& changes, const View& before, const View& after) { return Search(before, after).run(changes); }

}  // namespace porthole::hns::emulator
