#pragma once
#include <functional>
#include <map>
#include <string>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"
#include "schema/discovery/discovery.h"
#include "schema/openapi/openapi.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// What the server says of itself: /, /version, discovery, OpenAPI. `registry` must outlive it; what changes in it is told
/// by forget().
class Documents {
public:
    struct Version {
        std::string git_version;  ///< "v1.36.0+porthole"
        std::string git_commit, build_date;
    };
    /// `schemas` has those of custom resources; it may be empty.
    Documents(const schema::Registry& registry, schema::RunTimeSchemas schemas, Version version, std::string server_address);

    /// The resources of a group and version have changed.
    void forget(std::string_view group, std::string_view version) {
        openapi_.forget(group, version);
        aggregated_.clear();
    }

    /// Whether `path` is one of these.
    bool owns(std::string_view path) const;
    Task<> handle(RequestContext& context);

private:
    Task<> version(RequestContext& context);
    Task<> discovery(RequestContext& context);
    Task<> openapi(RequestContext& context);
    /// Kept until something changes: a client asks for it each time that it starts.
    const schema::OpenApiDocument& aggregated_document(schema::AggregatedRoot root, schema::AggregatedVersion version);
    Task<> document(RequestContext& context, const schema::OpenApiDocument& document, std::string content_type, bool immutable);

    const schema::Registry& registry_;
    Version version_;
    std::string server_address_;
    schema::OpenApi openapi_;
    std::map<std::pair<schema::AggregatedRoot, schema::AggregatedVersion>, schema::OpenApiDocument> aggregated_;
};

}  // namespace porthole::apiserver
