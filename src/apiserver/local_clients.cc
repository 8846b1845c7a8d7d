#include "apiserver/local_clients.h"

#include "base/version.h"

namespace porthole::apiserver {
namespace {

constexpr const char* SystemNamespace = "kube-system";

std::unique_ptr<LocalTransport> open(ApiServer& api, const std::string& component, const std::string& account,
                                     std::shared_ptr<const LeaderFence> fence) {
    User user = account.empty() ? component_user(component) : service_account_user(SystemNamespace, account);
    // As upstream's: managedFields show the component, the audit log which part of it.
    std::string agent = component + "/" + KubernetesVersion;
    if (!account.empty()) agent += "/" + user.name;
    return api.transport(std::move(user), std::move(agent), std::move(fence));
}

}  // namespace

LocalClients::LocalClients(ApiServer& api, std::string component, std::shared_ptr<const LeaderFence> fence)
    : clients_([&api, component = std::move(component), fence = std::move(fence)](const std::string& account) {
          return open(api, component, account, fence);
      }) {}

}  // namespace porthole::apiserver
