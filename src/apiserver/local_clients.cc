#include "apiserver/local_clients.h"

#include "base/version.h"

namespace porthole::apiserver {
namespace {

constexpr const char* SystemNamespace = "kube-system";

}  // namespace

client::Client& LocalClients::of(const std::string& account) {
    auto& way = ways_[account];
    if (!way) {
        User user = account.empty() ? component_user(component_) : service_account_user(SystemNamespace, account);
        // As upstream's: managedFields show the component, the audit log which part of it.
        std::string agent = component_ + "/" + KubernetesVersion;
        if (!account.empty()) agent += "/" + user.name;
        way = std::make_unique<Way>(api_.transport(std::move(user), std::move(agent)));
    }
    return way->client;
}

Task<> LocalClients::close() {
    for (const auto& [account, way] : ways_) CO_TRY_VOID(co_await way->transport->close());
    co_return {};
}

}  // namespace porthole::apiserver
