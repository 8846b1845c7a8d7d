#include "apiserver/local_client_set.h"

namespace porthole::apiserver {

client::Client& LocalClientSet::of(const std::string& name) {
    const auto known = entries_.find(name);
    return known != entries_.end() ? known->second.client : entries_.try_emplace(name, open_(name)).first->second.client;
}

Task<> LocalClientSet::close() {
    for (const auto& [name, entry] : entries_) CO_TRY_VOID(co_await entry.transport->close());
    co_return {};
}

}  // namespace porthole::apiserver
