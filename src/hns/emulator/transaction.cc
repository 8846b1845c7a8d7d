#include "hns/emulator/transaction.h"

#include "hns/guid.h"

namespace porthole::hns::emulator {
namespace {

template <class T>
Result<const T*> need(const Table<T>& table, const std::string& id, Hresult missing) {
    const T* object = find(table, canonical_guid(id));
    if (!object) return hresult_error(missing);
    return object;
}

}  // namespace

void Transaction::notify(std::uint32_t type, const std::string& id, schema::Value data) {
    hcn::NotificationData document;
    document.id = id;
    document.data = std::move(data);
    notifications_.push_back({type, write_document(document)});
}

Result<std::string> id_for(const std::string& asked, Random& random) {
    if (asked.empty() || asked == ZeroGuid) return make_guid(random);
    std::string id = canonical_guid(asked);
    if (id.empty()) return hresult_error(Hresult::InvalidJson, "The ID \"" + asked + "\" is not a valid GUID.");
    return id;
}

Result<const Network*> need_network(const Model& model, const std::string& id) {
    return need(model.networks, id, Hresult::NetworkNotFound);
}
Result<const Endpoint*> need_endpoint(const Model& model, const std::string& id) {
    return need(model.endpoints, id, Hresult::EndpointNotFound);
}
Result<const Namespace*> need_namespace(const Model& model, const std::string& id) {
    return need(model.namespaces, id, Hresult::ElementNotFound);
}
Result<const LoadBalancer*> need_load_balancer(const Model& model, const std::string& id) {
    return need(model.load_balancers, id, Hresult::ElementNotFound);
}
Result<const SdnRoute*> need_route(const Model& model, const std::string& id) { return need(model.routes, id, Hresult::ElementNotFound); }

}  // namespace porthole::hns::emulator
