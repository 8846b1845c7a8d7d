#include "apiserver/handlers/documents.h"

#include <algorithm>

#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "base/hash.h"
#include "schema/discovery/discovery.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

bool is_under(std::string_view path, std::string_view root) {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::vector<std::string> segments_of(std::string_view path) {
    std::vector<std::string> segments;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end > 0) segments.emplace_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return segments;
}

/// The aggregated form that the client prefers to the legacy one, if it does.
std::optional<schema::AggregatedVersion> aggregated(std::string_view accept) {
    for (const MediaType& clause : parse_accept(accept)) {
        if (clause.type != "application/json" && clause.type != "*/*" && clause.type != "application/*") continue;
        if (clause.parameter("as").empty()) return std::nullopt;
        if (clause.parameter("as") != "APIGroupDiscoveryList" || clause.parameter("g") != "apidiscovery.k8s.io") continue;
        if (clause.parameter("v") == "v2") return schema::AggregatedVersion::V2;
        if (clause.parameter("v") == "v2beta1") return schema::AggregatedVersion::V2Beta1;
    }
    return std::nullopt;
}

/// "v1.36.0+x" → "1", "36".
std::pair<std::string, std::string> major_minor(std::string_view version) {
    if (version.starts_with('v')) version.remove_prefix(1);
    const std::size_t dot = version.find('.');
    const std::string_view rest = version.substr(std::min(dot + 1, version.size()));
    return {std::string(version.substr(0, dot)), std::string(rest.substr(0, rest.find('.')))};
}

bool names_etag(std::string_view if_none_match, const std::string& etag) { return if_none_match == "*" || if_none_match.contains(etag); }

}  // namespace

Documents::Documents(const schema::Registry& registry, Groups groups, schema::RunTimeSchemas schemas, Version version,
                     std::string server_address)
    : registry_(registry),
      groups_(std::move(groups)),
      version_(std::move(version)),
      server_address_(std::move(server_address)),
      openapi_(registry, version_.git_version, std::move(schemas)) {}

bool Documents::owns(std::string_view path) const {
    if (path == "/" || path == "/version" || path == "/version/") return true;
    return is_under(path, "/api") || is_under(path, "/apis") || is_under(path, "/openapi");
}

Task<> Documents::handle(RequestContext& context) {
    if (context.info.verb != "get" && context.info.verb != "head") co_return method_not_allowed();
    const std::string& path = context.info.path;
    if (path == "/version" || path == "/version/") co_return co_await version(context);
    if (is_under(path, "/openapi")) co_return co_await openapi(context);
    if (path != "/") co_return co_await discovery(context);
    Value paths = Value::array();
    for (const std::string_view known :
         {"/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
        paths.as_array().emplace_back(known);
    for (const schema::DiscoveredGroup& group : groups_()) {
        const std::string root = group.name.empty() ? "/api/" : "/apis/" + group.name + "/";
        for (const schema::DiscoveredVersion& one : group.versions) paths.as_array().emplace_back(root + one.version);
    }
    co_return co_await reply_tree(context, 200, Value::object({{"paths", std::move(paths)}}));
}

Task<> Documents::version(RequestContext& context) {
    const auto [major, minor] = major_minor(version_.git_version);
    co_return co_await reply_tree(context, 200,
                                  Value::object({{"major", major},
                                                 {"minor", minor},
                                                 {"gitVersion", version_.git_version},
                                                 {"gitCommit", version_.git_commit},
                                                 {"gitTreeState", "clean"},
                                                 {"buildDate", version_.build_date},
                                                 {"goVersion", "none"},
                                                 {"compiler", "clang"},
                                                 {"platform", "linux/amd64"}}));
}

Task<> Documents::discovery(RequestContext& context) {
    const std::vector<std::string> segments = segments_of(context.info.path);
    const bool core = segments[0] == "api";
    if (segments.size() == 1) {
        const auto wanted = aggregated(context.request.headers.get("accept"));
        if (!wanted) {
            // Beside a span of the server's address, the document never changes.
            co_return co_await reply_tree(context, 200,
                                          core ? schema::discover_versions(server_address_) : schema::discover_groups(groups_()));
        }
        const auto root = core ? schema::AggregatedRoot::Core : schema::AggregatedRoot::Groups;
        co_return co_await document(context, aggregated_document(root, *wanted), std::string(schema::aggregated_content_type(*wanted)),
                                    false);
    }
    std::optional<Value> document;
    if (core && segments.size() == 2) document = schema::discover_resources(registry_, "", segments[1]);
    if (!core && segments.size() == 2) document = schema::discover_group(groups_(), segments[1]);
    if (!core && segments.size() == 3) document = schema::discover_resources(registry_, segments[1], segments[2]);
    if (!document) co_return co_await reply_text(context, 404, "404 page not found\n");
    co_return co_await reply_tree(context, 200, std::move(*document));
}

const schema::OpenApiDocument& Documents::aggregated_document(schema::AggregatedRoot root, schema::AggregatedVersion version) {
    schema::OpenApiDocument& known = aggregated_[{root, version}];
    if (!known.body) {
        known.body = bytes_of(schema::to_json(schema::discover_all(registry_, groups_(), root, version)));
        known.hash = content_hash(*known.body);
    }
    return known;
}

Task<> Documents::openapi(RequestContext& context) {
    constexpr std::string_view V3 = "/openapi/v3";
    const std::string& path = context.info.path;
    if (others_ && std::exchange(others_changed_, false)) openapi_.set_others(others_());
    if (path == "/openapi/v2") {
        const bool protobuf = context.request.headers.get("accept").contains("proto-openapi");
        if (protobuf) {
            co_return co_await document(context, openapi_.v2_protobuf(), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                                        false);
        }
        co_return co_await document(context, openapi_.v2_json(), "application/json", false);
    }
    if (path == V3 || path == "/openapi/v3/") {
        co_return co_await document(context, openapi_.v3_index(), "application/json", false);
    }
    if (!path.starts_with(V3)) co_return co_await reply_text(context, 404, "404 page not found\n");
    const std::string_view name = std::string_view(path).substr(V3.size() + 1);
    const schema::OpenApiDocument* found = openapi_.v3(name);
    if (!found) co_return co_await reply_text(context, 404, "404 page not found\n");
    const std::string_view hash = context.info.parameter("hash");
    if (!hash.empty() && hash != found->hash) {
        net::Headers headers = common_headers(context);
        headers.add("location", path + "?hash=" + found->hash);
        context.code = 301;
        co_return co_await context.responder.respond(301, std::move(headers), {});
    }
    co_return co_await document(context, *found, "application/json", !hash.empty());
}

Task<> Documents::document(RequestContext& context, const schema::OpenApiDocument& document, std::string content_type, bool immutable) {
    const std::string etag = '"' + document.hash + '"';
    net::Headers headers{{"audit-id", context.audit_id}, {"etag", etag}, {"vary", "Accept"}, {"content-type", std::move(content_type)}};
    headers.add("cache-control", immutable ? "public, immutable, max-age=31536000" : "no-cache, private");
    std::vector<store::Bytes> body;
    context.code = names_etag(context.request.headers.get("if-none-match"), etag) ? 304 : 200;
    if (context.code == 200) body.push_back(document.body);
    context.give_back_seats();
    co_return co_await context.responder.respond(context.code, std::move(headers), std::move(body));
}

}  // namespace porthole::apiserver
