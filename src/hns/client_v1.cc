#include "hns/client_v1.h"

#include "hns/documents.h"
#include "hns/hresult.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

/// Version 1 often says only by its text what went wrong.
Hresult code_of_text(std::string_view text) {
    static constexpr struct {
        std::string_view part;
        Hresult code;
    } known[] = {
        {"Element not found", Hresult::ElementNotFound},         {"already attached to the switch", Hresult::EndpointAlreadyAttached},
        {"network was not found", Hresult::NetworkNotFound},     {"endpoint was not found", Hresult::EndpointNotFound},
        {"object already exists", Hresult::ObjectAlreadyExists}, {"port already exists", Hresult::PortAlreadyExists},
    };
    for (const auto& row : known) {
        if (text.find(row.part) != std::string_view::npos) return row.code;
    }
    return Hresult::Unexpected;
}

Result<schema::Value> output_of(std::string_view json) {
    TRY(auto response, parse_document<hcn1::Response>(json));
    if (response.success) return std::move(response.output);
    while (response.error.ends_with(' ')) response.error.pop_back();
    return hresult_error(response.error_code ? Hresult{response.error_code} : code_of_text(response.error), response.error);
}

}  // namespace

Task<schema::Value> ClientV1::call(std::string method, std::string path, std::string body) {
    auto answer = co_await hns_.call_v1(method, path, body);
    auto output = answer ? output_of(*answer) : Result<schema::Value>(std::move(answer).error());
    if (!output) co_return std::move(output).error().with_context("HNSCall " + method + " " + path + (body.empty() ? "" : " ") + body);
    co_return *std::move(output);
}

template <class T>
Task<T> ClientV1::one(std::string method, std::string path, std::string body) {
    CO_TRY(auto output, co_await call(std::move(method), std::move(path), std::move(body)));
    co_return from_tree<T>(std::move(output));
}

template <class T>
Task<std::vector<T>> ClientV1::all(std::string path) {
    CO_TRY(auto output, co_await call("GET", std::move(path)));
    std::vector<T> objects;
    if (!output.is_array()) co_return objects;  // an empty Output is legal
    for (schema::Value& item : output.as_array()) {
        CO_TRY(auto object, from_tree<T>(std::move(item)));
        objects.push_back(std::move(object));
    }
    co_return objects;
}

Task<hcn1::Version> ClientV1::version() { return one<hcn1::Version>("GET", "/globals/version"); }
Task<std::vector<hcn1::Network>> ClientV1::networks() { return all<hcn1::Network>("/networks/"); }
Task<hcn1::Network> ClientV1::network(std::string id) { return one<hcn1::Network>("GET", "/networks/" + id); }
Task<hcn1::Network> ClientV1::create_network(hcn1::Network network) {
    return one<hcn1::Network>("POST", "/networks/", write_document(network));
}
Task<std::vector<hcn1::Endpoint>> ClientV1::endpoints() { return all<hcn1::Endpoint>("/endpoints/"); }
Task<hcn1::Endpoint> ClientV1::endpoint(std::string id) { return one<hcn1::Endpoint>("GET", "/endpoints/" + id); }
Task<hcn1::Endpoint> ClientV1::create_endpoint(hcn1::Endpoint endpoint) {
    return one<hcn1::Endpoint>("POST", "/endpoints/", write_document(endpoint));
}
Task<hcn1::EndpointStats> ClientV1::endpoint_stats(std::string id) { return one<hcn1::EndpointStats>("GET", "/endpointstats/" + id); }
Task<std::vector<hcn1::PolicyList>> ClientV1::policy_lists() { return all<hcn1::PolicyList>("/policylists/"); }
Task<hcn1::PolicyList> ClientV1::create_policy_list(hcn1::PolicyList list) {
    return one<hcn1::PolicyList>("POST", "/policylists/", write_document(list));
}

Task<> ClientV1::remove_network(std::string id) {
    CO_TRY_VOID(co_await call("DELETE", "/networks/" + id));
    co_return {};
}
Task<> ClientV1::remove_endpoint(std::string id) {
    CO_TRY_VOID(co_await call("DELETE", "/endpoints/" + id));
    co_return {};
}
Task<> ClientV1::remove_policy_list(std::string id) {
    CO_TRY_VOID(co_await call("DELETE", "/policylists/" + id));
    co_return {};
}
Task<> ClientV1::attach_endpoint(std::string id, hcn1::EndpointAttachRequest request) {
    CO_TRY_VOID(co_await call("POST", "/endpoints/" + id + "/attach", write_document(request)));
    co_return {};
}
Task<> ClientV1::detach_endpoint(std::string id, hcn1::EndpointAttachRequest request) {
    CO_TRY_VOID(co_await call("POST", "/endpoints/" + id + "/detach", write_document(request)));
    co_return {};
}

}  // namespace porthole::hns
