#include "apiserver/local_clients.h"

#include "base/version.h"

namespace porthole::apiserver {
namespace {

constexpr const char* SystemNamespace = "kube-system";

std::unique_ptr<LocalTransport> open(ApiServer& api, const std::string& component, const std::string& account) {
    User user = account.empty() ? component_user(component) : service_account_user(SystemNamespace, account);
    // As upstream's: managedFields show the component, the audit log which part of it.
    std::string agent = component + "/" + KubernetesVersion;
    if (!account.empty()) agent += "/" + user.name;
    return api.transport(std::move(user), std::move(agent));
}

}  // namespace

LocalClients::LocalClients(ApiServer& api, std::string component)
    : clients_([&api, component = std::move(component)](const std::string& account) { return open(api, component, account); }) {}

}  // namespace porthole::apiserver
