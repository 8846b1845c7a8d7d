#include "hns/emulator/v1/front_end.h"

#include "base/strings.h"
#include "hns/emulator/operations/endpoints.h"
#include "hns/emulator/operations/load_balancers.h"
#include "hns/emulator/operations/namespaces.h"
#include "hns/emulator/operations/networks.h"
#include "hns/emulator/operations/routes.h"
#include "hns/emulator/v1/translate.h"
#include "hns/guid.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::hns::emulator::v1 {
namespace {

constexpr Hresult ComputeSystemNotFound{0xc037010e};

Error unknown(const Request& request) {
    return hresult_error(Hresult::RequestUnsupported, "The request " + request.method + " /" + request.collection +
                                                          (request.action.empty() ? "" : "/.../" + request.action) + " is unsupported.");
}

template <class T>
Result<T> read(const Request& request) {
    auto document = from_tree<T>(request.body);
    if (!document) return hresult_error(Hresult::InvalidJson, "The JSON document is invalid: " + document.error().message + ".");
    return document;
}

template <class T, class Translate>
schema::Value list(const Table<T>& table, Translate translate) {
    schema::Array items;
    for (const auto& [id, object] : table) items.push_back(schema::to_value(translate(*object)));
    return items;
}

// Networks

Result<schema::Value> show_network(const Transaction& transaction, const std::string& id) {
    TRY(const Network* network, need_network(transaction.model(), id));
    return schema::to_value(from_network(*network));
}

/// A partial document: the policies it names replace those of their types.
Result<schema::Value> update_network(Transaction& transaction, const Request& request) {
    TRY(const auto document, read<hcn1::Network>(request));
    TRY(const auto wanted, to_network(document));
    hcn::PolicyRequest policies;
    policies.policies = wanted.policies;
    hcn::ModifySettingRequest modification;
    modification.resource_type = hcn::ModifyResourceType::Policy;
    modification.request_type = hcn::ModifyRequestType::Update;
    modification.settings = schema::to_value(policies);
    TRY_VOID(modify_network(transaction, request.id, modification));
    return show_network(transaction, request.id);
}

Result<schema::Value> networks(Transaction& transaction, const Request& request) {
    if (request.method == "GET" && request.id.empty()) return list(transaction.model().networks, from_network);
    if (request.method == "GET") return show_network(transaction, request.id);
    if (request.method == "DELETE") {
        TRY_VOID(remove_network(transaction, request.id));
        return schema::Value();
    }
    if (!request.id.empty()) return update_network(transaction, request);
    TRY(const auto document, read<hcn1::Network>(request));
    TRY(auto network, to_network(document));
    TRY(const std::string id, create_network(transaction, std::move(network)));
    return show_network(transaction, id);
}

// Endpoints

Result<schema::Value> show_endpoint(const Transaction& transaction, const std::string& id) {
    TRY(const Endpoint* endpoint, need_endpoint(transaction.model(), id));
    return schema::to_value(from_endpoint(transaction.model(), *endpoint));
}

Result<schema::Value> attached(Result<void> done) {
    TRY_VOID(std::move(done));
    return schema::Value::object({{"Success", true}});
}

Result<schema::Value> attach(Transaction& transaction, const Request& request) {
    TRY(const auto wanted, read<hcn1::EndpointAttachRequest>(request));
    if (wanted.system_type == "Host") return attached(attach_to_host(transaction, request.id));
    if (wanted.system_type != "Container")
        return hresult_error(Hresult::RequestUnsupported, "Only containers and the host can be attached to.");
    TRY_VOID(need_endpoint(transaction.model(), request.id));
    const Namespace* space = find_namespace_of_container(transaction.model(), wanted.container_id);
    if (!space) return hresult_error(ComputeSystemNotFound, "The specified compute system does not exist.");
    const Endpoint* endpoint = find(transaction.model().endpoints, canonical_guid(request.id));
    // Other containers of a pod share what is attached already.
    if (endpoint->document.host_compute_namespace == space->document.id) return attached({});
    return attached(attach_endpoint(transaction, space->document.id, request.id));
}

Result<schema::Value> detach(Transaction& transaction, const Request& request) {
    TRY(const Endpoint* endpoint, need_endpoint(transaction.model(), request.id));
    if (endpoint->on_host) return attached(detach_from_host(transaction, request.id));
    const std::string space = endpoint->document.host_compute_namespace;
    if (space.empty()) return hresult_error(Hresult::EndpointNotAttached);
    return attached(detach_endpoint(transaction, space, request.id));
}

Result<schema::Value> update_endpoint(Transaction& transaction, const Request& request) {
    TRY(const auto document, read<hcn1::Endpoint>(request));
    TRY(const auto wanted, to_endpoint(document));
    hcn::PolicyRequest policies;
    policies.policies = wanted.policies;
    hcn::ModifySettingRequest modification;
    modification.resource_type = hcn::ModifyResourceType::Policy;
    modification.request_type = hcn::ModifyRequestType::Update;
    modification.settings = schema::to_value(policies);
    TRY_VOID(modify_endpoint(transaction, request.id, modification));
    return show_endpoint(transaction, request.id);
}

Result<schema::Value> endpoints(Transaction& transaction, const Request& request) {
    if (request.action == "attach") return attach(transaction, request);
    if (request.action == "detach") return detach(transaction, request);
    if (!request.action.empty()) return unknown(request);
    if (request.method == "GET" && request.id.empty()) {
        return list(transaction.model().endpoints, [&](const Endpoint& endpoint) { return from_endpoint(transaction.model(), endpoint); });
    }
    if (request.method == "GET") return show_endpoint(transaction, request.id);
    if (request.method == "DELETE") {
        TRY_VOID(remove_endpoint(transaction, request.id));
        return schema::Value();
    }
    if (!request.id.empty()) return update_endpoint(transaction, request);
    TRY(const auto document, read<hcn1::Endpoint>(request));
    TRY(auto endpoint, to_endpoint(document));
    TRY(const std::string id, create_endpoint(transaction, document.virtual_network, std::move(endpoint)));
    return show_endpoint(transaction, id);
}

// Policy lists: load balancers and routes

Result<schema::Value> show_list(const Transaction& transaction, const std::string& id) {
    const std::string canonical = canonical_guid(id);
    if (const LoadBalancer* balancer = find(transaction.model().load_balancers, canonical))
        return schema::to_value(from_load_balancer(*balancer));
    TRY(const SdnRoute* route, need_route(transaction.model(), canonical));
    return schema::to_value(from_route(*route));
}

Result<schema::Value> create_list(Transaction& transaction, const Request& request) {
    TRY(const auto document, read<hcn1::PolicyList>(request));
    std::string id;
    if (is_load_balancer(document)) {
        TRY(auto balancer, to_load_balancer(document));
        TRY(id, create_load_balancer(transaction, std::move(balancer)));
    } else {
        TRY(auto route, to_route(document));
        TRY(id, create_route(transaction, std::move(route)));
    }
    return show_list(transaction, id);
}

Result<schema::Value> policy_lists(Transaction& transaction, const Request& request) {
    if (request.method == "POST" && request.id.empty()) return create_list(transaction, request);
    if (request.method == "GET" && !request.id.empty()) return show_list(transaction, request.id);
    if (request.method == "GET") {
        schema::Value all = list(transaction.model().load_balancers, from_load_balancer);
        schema::Value routes = list(transaction.model().routes, from_route);
        for (schema::Value& route : routes.as_array()) all.as_array().push_back(std::move(route));
        return all;
    }
    if (request.method != "DELETE") return unknown(request);
    if (find(transaction.model().load_balancers, canonical_guid(request.id))) {
        TRY_VOID(remove_load_balancer(transaction, request.id));
    } else {
        TRY_VOID(remove_route(transaction, request.id));
    }
    return schema::Value();
}

// Namespaces

Result<schema::Value> show_namespace(const Transaction& transaction, const std::string& id) {
    TRY(const Namespace* space, need_namespace(transaction.model(), id));
    return schema::to_value(from_namespace(*space));
}

Result<schema::Value> change_resource(Transaction& transaction, const Request& request, bool add) {
    TRY(const auto resource, read<hcn::NamespaceResource>(request));
    const bool endpoint = resource.type == hcn::NamespaceResourceType::Endpoint;
    hcn::ModifySettingRequest modification;
    modification.resource_type = resource.type;
    modification.request_type = add ? hcn::ModifyRequestType::Add : hcn::ModifyRequestType::Remove;
    modification.settings = schema::Value::object({{endpoint ? "EndpointId" : "ContainerId", resource.data.id}});
    TRY_VOID(modify_namespace(transaction, request.id, modification));
    return show_namespace(transaction, request.id);
}

Result<schema::Value> namespaces(Transaction& transaction, const Request& request) {
    if (request.action == "addresource") return change_resource(transaction, request, true);
    if (request.action == "removeresource") return change_resource(transaction, request, false);
    if (!request.action.empty()) return unknown(request);
    if (request.method == "GET" && request.id.empty()) return list(transaction.model().namespaces, from_namespace);
    if (request.method == "GET") return show_namespace(transaction, request.id);
    if (request.method == "DELETE") {
        TRY_VOID(remove_namespace(transaction, request.id));
        return schema::Value();
    }
    TRY(const auto document, read<hcn1::Namespace>(request));
    hcn::HostComputeNamespace space;
    space.id = document.id;
    space.type = document.is_default ? hcn::NamespaceType::HostDefault : hcn::NamespaceType::Host;
    TRY(const std::string id, create_namespace(transaction, std::move(space)));
    return show_namespace(transaction, id);
}

Result<schema::Value> globals(Transaction& transaction, const Request& request) {
    if (request.method != "GET" || request.id != "version") return unknown(request);
    hcn1::Version version;
    version.major = transaction.host().profile.version.major;
    version.minor = transaction.host().profile.version.minor;
    return schema::to_value(version);
}

/// Diagnostics that an emulated host has nothing to say to.
Result<schema::Value> nothing(Transaction&, const Request& request) {
    if (request.method != "GET") return unknown(request);
    return schema::Value::array();
}

constexpr struct {
    std::string_view collection;
    Result<schema::Value> (*answer)(Transaction&, const Request&);
} Collections[] = {
    {"globals", globals},       {"networks", networks},  {"endpoints", endpoints}, {"policylists", policy_lists},
    {"namespaces", namespaces}, {"activities", nothing}, {"plugins", nothing},
};

}  // namespace

Result<Request> parse_request(const std::string& method, const std::string& path, const std::string& body) {
    Request request;
    request.method = method;
    const std::vector<std::string> parts = split_nonempty(path, '/');
    if (parts.empty() || parts.size() > 3 || (method != "GET" && method != "POST" && method != "DELETE")) {
        return hresult_error(Hresult::InvalidParameter, "The request " + method + " " + path + " is invalid.");
    }
    request.collection = to_lower(parts[0]);
    if (parts.size() > 1) request.id = parts[1];
    if (parts.size() > 2) request.action = parts[2];
    request.body = schema::Value::object();
    if (body.empty()) return request;
    auto tree = schema::parse_json(body, {.depth = 64});
    if (!tree || !tree->is_object()) return hresult_error(Hresult::InvalidJson);
    request.body = *std::move(tree);
    return request;
}

Result<schema::Value> answer(Transaction& transaction, const Request& request) {
    for (const auto& row : Collections) {
        if (row.collection == request.collection) return row.answer(transaction, request);
    }
    return unknown(request);
}

std::string write_response(const Result<std::string>& output) {
    if (!output) return error_record(output.error());
    return *output == "null" ? R"({"Success":true})" : R"({"Success":true,"Output":)" + *output + "}";
}

std::string write_stats(const std::string& endpoint_id, const Counters& counters) {
    hcn1::EndpointStats stats;
    stats.bytes_received = counters.bytes_received;
    stats.bytes_sent = counters.bytes_sent;
    stats.packets_received = counters.packets_received;
    stats.packets_sent = counters.packets_sent;
    stats.dropped_packets_incoming = counters.dropped_incoming;
    stats.dropped_packets_outgoing = counters.dropped_outgoing;
    stats.endpoint_id = endpoint_id;
    stats.instance_id = endpoint_id;
    return write_document(stats);
}

}  // namespace porthole::hns::emulator::v1
