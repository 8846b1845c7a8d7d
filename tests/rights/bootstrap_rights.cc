#include "apiserver/authorization/bootstrap_policy.h"
#include "apiserver/authorization/rbac.h"
#include "controllers/framework/sim/rights.h"

namespace porthole::controllers {
namespace {

using namespace api::rbac::v1;
using namespace apiserver;

template <class T>
void put_all(ObjectMap<T>& map, std::vector<T> objects) {
    for (T& object : objects) {
        const std::string& space = object.metadata.namespace_;
        const std::string key = space.empty() ? object.metadata.name : space + "/" + object.metadata.name;
        map[key] = std::make_shared<const T>(std::move(object));
    }
}

/// The authorizer of a fresh cluster.
struct FreshCluster {
    ObjectMap<Role> roles;
    ObjectMap<RoleBinding> role_bindings;
    ObjectMap<ClusterRole> cluster_roles;
    ObjectMap<ClusterRoleBinding> cluster_role_bindings;
    RbacAuthorizer rbac{{roles, role_bindings, cluster_roles, cluster_role_bindings}};

    FreshCluster() {
        BootstrapPolicy policy = bootstrap_policy();
        put_all(roles, std::move(policy.roles));
        put_all(role_bindings, std::move(policy.role_bindings));
        put_all(cluster_roles, std::move(policy.cluster_roles));
        put_all(cluster_role_bindings, std::move(policy.cluster_role_bindings));
    }
    bool allows(const AuthorizationAttributes& attributes) const {
        bool allowed = false;
        rbac.visit_rules(attributes.user, attributes.namespace_, [&](const PolicyRule& rule, const auto&) {
            allowed = rule_allows(rule, attributes);
            return !allowed;
        });
        return allowed;
    }
};

}  // namespace

Rights bootstrap_rights() {
    return
        [cluster = std::make_shared<const FreshCluster>()](const std::string& account, const client::ApiRequest& request) -> Result<void> {
            const User user = account.empty() ? component_user("kube-controller-manager") : service_account_user("kube-system", account);
            const auto attributes = authorization_attributes(user, parse_request_info(request.method, request.path, request.query));
            if (cluster->allows(attributes)) return {};
            return forbidden(attributes, "");
        };
}

}  // namespace porthole::controllers
