#include "hns/client.h"

#include "base/result.h"
#include "hns/guid.h"
#include "hns/hresult.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

template <class T>
struct Family;
template <>
struct Family<hcn::HostComputeNetwork> {
    static constexpr ObjectKind kind = ObjectKind::Network;
};
template <>
struct Family<hcn::HostComputeEndpoint> {
    static constexpr ObjectKind kind = ObjectKind::Endpoint;
};
template <>
struct Family<hcn::HostComputeNamespace> {
    static constexpr ObjectKind kind = ObjectKind::Namespace;
};
template <>
struct Family<hcn::HostComputeLoadBalancer> {
    static constexpr ObjectKind kind = ObjectKind::LoadBalancer;
};
template <>
struct Family<hcn::HostComputeRoute> {
    static constexpr ObjectKind kind = ObjectKind::SdnRoute;
};

/// "Network" in HcnCreateNetwork.
std::string word(ObjectKind kind) {
    static constexpr const char* words[] = {"Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"};
    return words[static_cast<std::size_t>(kind)];
}

/// The failed call with its request, so that a log line says what was asked for.
Error failed(Error error, const std::string& call, std::string_view request) {
    return std::move(error).with_context(request.empty() ? call : call + " " + std::string(request));
}

std::string query_document(schema::Value filter = {}) {
    hcn::HostComputeQuery query;
    query.schema_version = schema_version();
    if (filter.is_object()) query.filter = schema::to_json(filter);
    return write_document(query);
}

Result<std::vector<std::string>> parse_ids(std::string_view json) {
    TRY(const schema::Value tree, schema::parse_json(json.empty() ? "[]" : json));
    std::vector<std::string> ids;
    if (!tree.is_array()) return Error(Reason::InternalError, "the host network service listed no array of ids");
    for (const schema::Value& item : tree.as_array()) ids.emplace_back(item.string_or(""));
    return ids;
}

/// Endpoints are made in a network; the others stand alone.
std::string parent_of(const hcn::HostComputeEndpoint& endpoint) { return endpoint.host_compute_network; }
template <class T>
std::string parent_of(const T&) {
    return "";
}

schema::Value policies_tree(std::vector<hcn::Policy> policies) {
    hcn::PolicyRequest request;
    request.policies = std::move(policies);
    return schema::to_value(request);
}

}  // namespace

template <Kind T>
Task<std::vector<T>> Client::list_by(std::string query) {
    constexpr ObjectKind kind = Family<T>::kind;
    auto listed = co_await hns_.enumerate(kind, query);
    if (!listed) co_return failed(std::move(listed).error(), "HcnEnumerate" + word(kind) + "s", query);
    CO_TRY(const auto ids, parse_ids(*listed));
    std::vector<T> objects;
    for (const std::string& id : ids) {
        auto object = co_await get<T>(id);
        if (object) {
            objects.push_back(*std::move(object));
        } else if (!is_object_missing(object.error())) {
            co_return std::move(object).error();
        }
    }
    co_return objects;
}

template <Kind T>
Task<std::vector<T>> Client::list() {
    co_return co_await list_by<T>(query_document());
}

Task<std::vector<hcn::HostComputeEndpoint>> Client::list_endpoints_of(std::string network_id) {
    // The service knows this filter by its version 1 name only.
    co_return co_await list_by<hcn::HostComputeEndpoint>(query_document(schema::Value::object({{"VirtualNetwork", network_id}})));
}

template <Kind T>
Task<T> Client::get(std::string id) {
    constexpr ObjectKind kind = Family<T>::kind;
    auto json = co_await hns_.query(kind, id, query_document());
    if (!json) co_return failed(std::move(json).error(), "HcnQuery" + word(kind) + "Properties", id);
    auto object = parse_document<T>(*json);
    if (!object) co_return failed(std::move(object).error(), "reading " + word(kind), id);
    co_return *std::move(object);
}

template <Kind T>
    requires(!std::same_as<T, hcn::HostComputeNamespace>)
Task<std::optional<T>> Client::find(std::string name) {
    CO_TRY(auto named, co_await list_by<T>(query_document(schema::Value::object({{"Name", name}}))));
    for (T& object : named) {
        if (object.name == name) co_return std::optional<T>(std::move(object));
    }
    co_return std::optional<T>();
}

template <Kind T>
Task<T> Client::create(T document) {
    constexpr ObjectKind kind = Family<T>::kind;
    document.schema_version = schema_version();
    const std::string json = write_document(document);
    auto id = co_await hns_.create(kind, parent_of(document), json);
    if (!id) co_return failed(std::move(id).error(), "HcnCreate" + word(kind), json);
    co_return co_await get<T>(*id);
}

template <Kind T>
Task<> Client::remove(std::string id) {
    constexpr ObjectKind kind = Family<T>::kind;
    auto removed = co_await hns_.remove(kind, id);
    if (!removed) co_return failed(std::move(removed).error(), "HcnDelete" + word(kind), id);
    co_return {};
}

Task<> Client::modify(ObjectKind kind, std::string id, std::string resource_type, std::string request_type, schema::Value settings) {
    hcn::ModifySettingRequest request;
    request.resource_type = std::move(resource_type);
    request.request_type = std::move(request_type);
    request.settings = std::move(settings);
    const std::string json = write_document(request);
    auto modified = co_await hns_.modify(kind, id, json);
    if (!modified) co_return failed(std::move(modified).error(), "HcnModify" + word(kind) + " " + id, json);
    co_return {};
}

Task<> Client::modify_network_policies(std::string id, std::string request_type, std::vector<hcn::Policy> policies) {
    co_return co_await modify(ObjectKind::Network, std::move(id), hcn::ModifyResourceType::Policy, std::move(request_type),
                              policies_tree(std::move(policies)));
}

Task<> Client::modify_endpoint_policies(std::string id, std::string request_type, std::vector<hcn::Policy> policies) {
    co_return co_await modify(ObjectKind::Endpoint, std::move(id), hcn::ModifyResourceType::Policy, std::move(request_type),
                              policies_tree(std::move(policies)));
}

Task<> Client::modify_load_balancer(std::string id, hcn::HostComputeLoadBalancer document) {
    document.schema_version = schema_version();
    const std::string json = write_document(document);
    auto modified = co_await hns_.modify(ObjectKind::LoadBalancer, id, json);
    if (!modified) co_return failed(std::move(modified).error(), "HcnModifyLoadBalancer " + id, json);
    co_return {};
}

Task<> Client::attach_endpoint(std::string namespace_id, std::string endpoint_id) {
    co_return co_await modify(ObjectKind::Namespace, std::move(namespace_id), hcn::ModifyResourceType::Endpoint,
                              hcn::ModifyRequestType::Add, schema::Value::object({{"EndpointId", endpoint_id}}));
}

Task<> Client::detach_endpoint(std::string namespace_id, std::string endpoint_id) {
    co_return co_await modify(ObjectKind::Namespace, std::move(namespace_id), hcn::ModifyResourceType::Endpoint,
                              hcn::ModifyRequestType::Remove, schema::Value::object({{"EndpointId", endpoint_id}}));
}

Task<> Client::attach_container(std::string namespace_id, std::string container_id) {
    co_return co_await modify(ObjectKind::Namespace, std::move(namespace_id), hcn::ModifyResourceType::Container,
                              hcn::ModifyRequestType::Add, schema::Value::object({{"ContainerId", container_id}}));
}

Task<Features> Client::features() {
    auto answer = co_await hns_.call_v1("GET", "/globals/version", "");
    if (!answer) {
        if (is_disconnected(answer.error()) || is_cancelled(answer)) co_return std::move(answer).error();
        co_return features_of({});
    }
    const auto tree = schema::parse_json(*answer);
    const schema::Value* output = tree ? tree->find("Output") : nullptr;
    if (!output) co_return features_of({});
    const auto number = [&](std::string_view name) { return static_cast<std::uint32_t>(schema::at(*output, name).int_or(0)); };
    co_return features_of({number("Major"), number("Minor")});
}

#define PORTHOLE_HNS_KIND(T)                         \
    template Task<std::vector<T>> Client::list<T>(); \
    template Task<T> Client::get<T>(std::string id); \
    template Task<T> Client::create<T>(T document);  \
    template Task<> Client::remove<T>(std::string id);
PORTHOLE_HNS_KIND(hcn::HostComputeNetwork)
PORTHOLE_HNS_KIND(hcn::HostComputeEndpoint)
PORTHOLE_HNS_KIND(hcn::HostComputeNamespace)
PORTHOLE_HNS_KIND(hcn::HostComputeLoadBalancer)
PORTHOLE_HNS_KIND(hcn::HostComputeRoute)
template Task<std::optional<hcn::HostComputeNetwork>> Client::find(std::string name);
template Task<std::optional<hcn::HostComputeEndpoint>> Client::find(std::string name);
template Task<std::optional<hcn::HostComputeLoadBalancer>> Client::find(std::string name);
template Task<std::optional<hcn::HostComputeRoute>> Client::find(std::string name);

}  // namespace porthole::hns
