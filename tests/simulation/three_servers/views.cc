#include "simulation/three_servers/views.h"

#include "api/coordination_v1.h"
#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::simulation {
namespace {

struct Place {
    const char *path, *key;
};
constexpr Place Places[] = {
    {"/api/v1/configmaps", "/registry/configmaps/"},
    {"/api/v1/pods", "/registry/pods/"},
    {"/api/v1/nodes", "/registry/minions/"},
    {"/api/v1/services", "/registry/services/specs/"},
    {"/api/v1/endpoints", "/registry/services/endpoints/"},
    {"/api/v1/events", "/registry/events/"},
    {"/api/v1/serviceaccounts", "/registry/serviceaccounts/"},
    {"/apis/apps/v1/deployments", "/registry/deployments/"},
    {"/apis/apps/v1/replicasets", "/registry/replicasets/"},
    {"/apis/apps/v1/statefulsets", "/registry/statefulsets/"},
    {"/apis/apps/v1/daemonsets", "/registry/daemonsets/"},
    {"/apis/apps/v1/controllerrevisions", "/registry/controllerrevisions/"},
    {"/apis/batch/v1/jobs", "/registry/jobs/"},
    {"/apis/coordination.k8s.io/v1/leases", "/registry/leases/"},
    {"/apis/discovery.k8s.io/v1/endpointslices", "/registry/endpointslices/"},
    {"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/registry/clusterroles/"},
};

std::string key_of(const schema::Value& object, const std::string& prefix) {
    const std::string namespace_(object.string_at({"metadata", "namespace"})), name(object.string_at({"metadata", "name"}));
    return prefix + (namespace_.empty() ? "" : namespace_ + "/") + name;
}

}  // namespace

Task<std::string> find_difference_of_views(World& world) {
    const std::int64_t revision = world.etcd().revision();
    std::vector<std::map<std::string, std::int64_t>> stored;
    for (const Place& place : Places) stored.push_back(world.etcd().revisions(place.key));
    const std::string at = "resourceVersionMatch=Exact&resourceVersion=" + std::to_string(revision);
    for (std::size_t i = 0; i < std::size(Places); ++i) {
        net::Bytes first;
        for (std::size_t server = 0; server < world.servers().size(); ++server) {
            const std::string who =
                "server " + world.servers()[server]->address() + " " + Places[i].path + " at " + std::to_string(revision);
            const auto shown = co_await world.client_of(server).get_raw(Places[i].path, at);
            if (!shown) co_return who + ": " + shown.error().message;
            if (first && **shown != *first) co_return who + " differs from another server";
            if (first) continue;
            first = *shown;
            CO_TRY(const auto slices, client::slice_list(**shown));
            auto missing = stored[i];
            for (const std::string_view item : slices.items) {
                CO_TRY(const auto object, schema::parse_json(item));
                const std::string key = key_of(object, Places[i].key);
                const auto found = missing.find(key);
                if (found == missing.end()) co_return who + " shows " + key + ", which is not in etcd";
                if (std::to_string(found->second) != object.string_at({"metadata", "resourceVersion"}))
                    co_return who + " shows another version of " + key;
                missing.erase(found);
            }
            if (!missing.empty()) co_return who + " does not show " + missing.begin()->first;
        }
    }
    co_return "";
}

Task<std::string> find_wrong_leader(World& world) {
    for (const char* component : {"kube-controller-manager", "kube-scheduler"}) {
        int leaders = 0;
        for (const auto& server : world.servers()) leaders += server->leads(component);
        if (leaders != 1) co_return std::to_string(leaders) + " servers lead " + component;
        CO_TRY(const auto lease, co_await world.client().get<api::coordination::v1::Lease>({"kube-system", component}));
        if (lease.spec.holder_identity.value_or("") != world.leader_of(component).identity())
            co_return std::string("the lease ") + component + " names another holder than its leader";
    }
    co_return "";
}

}  // namespace porthole::simulation
