#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"
#include "schema/discovery/discovery.h"
#include "schema/openapi/openapi.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The server's own documents: /, /version, discovery, OpenAPI. `registry` must outlive it; forget() reports its changes.
class Documents {
public:
    struct Version {
        std::string git_version;  ///< "v1.36.0+porthole"
        std::string git_commit, build_date;
    };
    /// Groups in the order of discovery.
    using Groups = std::function<std::vector<schema::DiscoveredGroup>()>;
    /// `schemas` returns those of custom resources; may be empty.
    Documents(const schema::Registry& registry, Groups groups, schema::RunTimeSchemas schemas, Version version, std::string server_address);
    /// Sets the documents of other servers, which are included in the OpenAPI documents.
    void set_others(std::function<schema::OpenApi::Others()> others) { others_ = std::move(others); }

    /// The resources of a group and version have changed.
    void forget(std::string_view group, std::string_view version) {
        openapi_.forget(group, version);
        forget_groups();
    }
    /// Called when the result of `groups` or `others` has changed.
    void forget_groups() {
        aggregated_.clear();
        others_changed_ = true;
    }

    /// Whether `path` is one of these.
    bool owns(std::string_view path) const;
    Task<> handle(RequestContext& context);

private:
    Task<> version(RequestContext& context);
    Task<> discovery(RequestContext& context);
    Task<> openapi(RequestContext& context);
    /// Cached until something changes: every client requests it when it starts.
    const schema::OpenApiDocument& aggregated_document(schema::AggregatedRoot root, schema::AggregatedVersion version);
    Task<> document(RequestContext& context, const schema::OpenApiDocument& document, std::string content_type, bool immutable);

    const schema::Registry& registry_;
    Groups groups_;
    std::function<schema::OpenApi::Others()> others_;  ///< may be empty
    bool others_changed_ = true;
    Version version_;
    std::string server_address_;
    schema::OpenApi openapi_;
    std::map<std::pair<schema::AggregatedRoot, schema::AggregatedVersion>, schema::OpenApiDocument> aggregated_;
};

}  // namespace porthole::apiserver
