#include "apiserver/aggregation/remote_discovery.h"

#include <map>

#include "api/apidiscovery_v2.h"
#include "api/meta_v1.h"
#include "base/hash.h"
#include "base/result.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::apidiscovery::v2;
using api::meta::v1::APIResource;
using api::meta::v1::APIResourceList;
using api::meta::v1::GroupVersionKind;

constexpr std::size_t LongestHash = 256;
constexpr OutgoingLimits DocumentLimits{.time = std::chrono::seconds(5), .answer_bytes = 2 << 20};
constexpr OutgoingLimits OpenApiLimits{.time = std::chrono::seconds(5), .answer_bytes = 4 << 20};
constexpr const char* Aggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

RemoteResources resources_of(const std::vector<APIResourceDiscovery>& resources) {
    auto list = std::make_shared<schema::Array>();
    for (const APIResourceDiscovery& one : resources) list->push_back(schema::to_value(one));
    return list;
}

GroupVersionKind kind_of(const APIResource& resource) {
    return {.group = resource.group, .version = resource.version, .kind = resource.kind};
}

Task<net::HttpResponse> ask(ExtensionServers& servers, std::shared_ptr<const APIService> service, std::string path, std::string accept,
                            std::string known_etag = "", OutgoingLimits limits = DocumentLimits) {
    CO_TRY(ExtensionServers::Way way, servers.way_to(*service));
    net::HttpRequest request{.method = "GET", .path = std::move(path)};
    request.headers.add("accept", std::move(accept));
    if (!known_etag.empty()) request.headers.add("if-none-match", std::move(known_etag));
    co_return co_await ask(std::move(way), std::move(request), limits);
}

}  // namespace

Result<RemoteResources> read_aggregated_discovery(std::string_view body, std::string_view group, std::string_view version) {
    TRY(const auto document, schema::decode_json<APIGroupDiscoveryList>(body));
    for (const APIGroupDiscovery& one : document.items) {
        if (one.metadata.name != group) continue;
        for (const APIVersionDiscovery& served : one.versions)
            if (served.version == version) return resources_of(served.resources);
    }
    return resources_of({});
}

Result<RemoteResources> read_resource_list(std::string_view body, std::string_view group, std::string_view version) {
    TRY(const auto document, schema::decode_json<APIResourceList>(body));
    if (document.group_version != std::string(group) + "/" + std::string(version))
        return Error(Reason::BadRequest, "the answer is not the list of resources that was asked for");
    std::vector<APIResourceDiscovery> resources;
    std::map<std::string, std::size_t, std::less<>> places;
    for (const APIResource& one : document.resources) {
        if (one.name.contains('/')) continue;
        APIResourceDiscovery resource{.resource = one.name,
                                      .response_kind = kind_of(one),
                                      .scope = one.namespaced ? ResourceScope::Namespaced : ResourceScope::Cluster,
                                      .singular_resource = one.singular_name,
                                      .verbs = one.verbs,
                                      .short_names = one.short_names,
                                      .categories = one.categories,
                                      .subresources = {}};
        if (places.emplace(one.name, resources.size()).second) resources.push_back(std::move(resource));
    }
    for (const APIResource& one : document.resources) {
        const std::size_t slash = one.name.find('/');
        const auto owner = places.find(std::string_view(one.name).substr(0, slash));
        if (slash == std::string::npos || owner == places.end()) continue;
        resources[owner->second].subresources.push_back(
            {.subresource = one.name.substr(slash + 1), .response_kind = kind_of(one), .accepted_types = {}, .verbs = one.verbs});
    }
    return resources_of(resources);
}

Result<std::string> read_openapi_index(std::string_view body, std::string_view group, std::string_view version) {
    TRY(const schema::Value index, schema::parse_json(body));
    const std::string_view url = index.string_at({"paths", schema::api_path(group, version), "serverRelativeURL"});
    if (url.empty()) return std::string();
    for (const auto& [key, value] : net::parse_query(url.substr(std::min(url.find('?') + 1, url.size()))))
        if (key == "hash" && value.size() <= LongestHash) return net::percent_encode(value);
    // A document whose hash is not told is told apart by what is: its place.
    return content_hash(url);
}

std::string openapi_path(const APIService& service) { return schema::api_path(service.spec.group, service.spec.version); }

Task<std::string> fetch_openapi_hash(ExtensionServers& servers, std::shared_ptr<const APIService> service) {
    CO_TRY(const auto index, co_await ask(servers, service, "/openapi/v3", "application/json"));
    if (index.code != 200) co_return std::string();
    co_return read_openapi_index(index.body, service->spec.group, service->spec.version);
}

Task<RemoteOpenApi> fetch_openapi(ExtensionServers& servers, std::shared_ptr<const APIService> service, RemoteOpenApi known) {
    CO_TRY(const auto answer, co_await ask(servers, service, "/openapi/v2", "application/json", known.etag, OpenApiLimits));
    if (answer.code == 304) co_return known;
    if (answer.code != 200) co_return RemoteOpenApi();
    std::string etag(answer.headers.get("etag"));
    if (etag.size() > LongestHash) etag.clear();
    auto part = schema::read_openapi_part(answer.body, "/" + openapi_path(*service));
    if (!part) co_return RemoteOpenApi{.part = nullptr, .etag = std::move(etag)};
    if (known.part && *known.part == *part) co_return RemoteOpenApi{.part = std::move(known.part), .etag = std::move(etag)};
    co_return RemoteOpenApi{.part = std::make_shared<schema::OpenApiPart>(*std::move(part)), .etag = std::move(etag)};
}

Task<RemoteResources> fetch_resources(ExtensionServers& servers, std::shared_ptr<const APIService> service) {
    const std::string& group = service->spec.group;
    const std::string& version = service->spec.version;
    CO_TRY(const auto whole, co_await ask(servers, service, "/apis", Aggregated));
    if (whole.code == 200 && whole.headers.get("content-type").contains("as=APIGroupDiscoveryList"))
        co_return read_aggregated_discovery(whole.body, group, version);
    CO_TRY(const auto list, co_await ask(servers, service, "/" + openapi_path(*service), "application/json"));
    if (list.code != 200) co_return Error(Reason::BadRequest, "the server answered " + std::to_string(list.code));
    co_return read_resource_list(list.body, group, version);
}

}  // namespace porthole::apiserver
