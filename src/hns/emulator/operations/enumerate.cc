#include "hns/emulator/operations/enumerate.h"

#include <algorithm>

#include "base/strings.h"
#include "hns/emulator/operations/transaction.h"
#include "hns/guid.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::hns::emulator {
namespace {

bool same_value(const schema::Value& wanted, const schema::Value& found) {
    if (wanted.is_string() && found.is_string()) {
        return wanted.as_string() == found.as_string() || same_guid(wanted.as_string(), found.as_string());
    }
    return wanted == found;
}

/// Version 1 calls an endpoint's network otherwise, and that is the name that filters know.
std::string_view document_member(std::string_view filter_member) {
    return equal_ignoring_case(filter_member, "VirtualNetwork") ? std::string_view("HostComputeNetwork") : filter_member;
}

template <class D>
bool matches(const D& document, const schema::Object& filter) {
    const schema::Value tree = schema::to_value(document);
    return std::ranges::all_of(filter, [&](const schema::Member& wanted) {
        return std::ranges::any_of(tree.as_object(), [&](const schema::Member& found) {
            return equal_ignoring_case(found.key, document_member(wanted.key)) && same_value(wanted.value, found.value);
        });
    });
}

template <class T>
std::vector<std::string> select(const Table<T>& table, const schema::Object& filter) {
    std::vector<std::string> ids;
    for (const auto& [id, object] : table) {
        if (filter.empty() || matches(object->document, filter)) ids.push_back(id);
    }
    return ids;
}

Result<schema::Object> filter_of(const std::string& query) {
    if (query.empty()) return schema::Object();
    const auto document = parse_document<hcn::HostComputeQuery>(query);
    if (!document) return hresult_error(Hresult::InvalidJson, "The query is invalid: " + document.error().message + ".");
    if (document->filter.empty()) return schema::Object();
    auto filter = schema::parse_json(document->filter);
    if (!filter || !filter->is_object()) return hresult_error(Hresult::InvalidJson, "The query's filter is not a JSON object.");
    return std::move(filter->as_object());
}

template <class T>
Result<std::string> write(Result<const T*> object) {
    TRY(const T* found, std::move(object));
    return write_document(found->document);
}

}  // namespace

Result<std::vector<std::string>> enumerate(const Model& model, ObjectKind kind, const std::string& query) {
    TRY(const schema::Object filter, filter_of(query));
    switch (kind) {
        case ObjectKind::Network:
            return select(model.networks, filter);
        case ObjectKind::Endpoint:
            return select(model.endpoints, filter);
        case ObjectKind::Namespace:
            return select(model.namespaces, filter);
        case ObjectKind::LoadBalancer:
            return select(model.load_balancers, filter);
        case ObjectKind::SdnRoute:
            return select(model.routes, filter);
    }
    return std::vector<std::string>();
}

Result<std::string> show(const Model& model, ObjectKind kind, const std::string& id) {
    switch (kind) {
        case ObjectKind::Network:
            return write(need_network(model, id));
        case ObjectKind::Endpoint:
            return write(need_endpoint(model, id));
        case ObjectKind::Namespace:
            return write(need_namespace(model, id));
        case ObjectKind::LoadBalancer:
            return write(need_load_balancer(model, id));
        case ObjectKind::SdnRoute:
            return write(need_route(model, id));
    }
    return hresult_error(Hresult::ElementNotFound);
}

}  // namespace porthole::hns::emulator
