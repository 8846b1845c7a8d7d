#include "hns/emulator/operations/routes.h"

#include "hns/emulator/operations/addresses.h"

namespace porthole::hns::emulator {

Result<std::string> create_route(Transaction& transaction, hcn::HostComputeRoute document) {
    TRY(document.id, id_for(document.id, transaction.host().random));
    if (find(transaction.model().routes, document.id)) return hresult_error(Hresult::AlreadyExists);
    if (!document.host_compute_network.empty()) {
        TRY(const Network* network, need_network(transaction.model(), document.host_compute_network));
        document.host_compute_network = network->document.id;
    }
    for (std::string& id : document.host_compute_endpoints) {
        TRY(const Endpoint* endpoint, need_endpoint(transaction.model(), id));
        id = endpoint->document.id;
    }
    if (document.setting.empty())
        return hresult_error(Hresult::InvalidParameter, "The parameter is incorrect: the document holds no route.");
    for (const hcn::SdnRouteSetting& setting : document.setting) {
        if (!IpPrefix::parse(setting.destination_prefix)) return hresult_error(Hresult::InvalidPrefix);
        if (!setting.next_hop.empty()) {
            TRY_VOID(parse_address(setting.next_hop));
        }
    }
    complete_document(document, transaction.host().profile);
    SdnRoute route;
    route.number = transaction.free_number<SdnRoute>();
    route.document = std::move(document);
    const std::string id = route.document.id;
    transaction.put(std::move(route));
    return id;
}

Result<void> remove_route(Transaction& transaction, const std::string& id) {
    TRY(const SdnRoute* found, need_route(transaction.model(), id));
    transaction.erase<SdnRoute>(std::string(found->document.id));
    return {};
}

}  // namespace porthole::hns::emulator
