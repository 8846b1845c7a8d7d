#pragma once
#include <functional>
#include <string>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"
#include "schema/openapi/openapi.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// What the server says of itself: /, /version, discovery, OpenAPI. `registry` must outlive it and not change.
class Documents {
public:
    struct Version {
        std::string git_version;  ///< "v1.36.0+porthole"
        std::string git_commit, build_date;
    };
    Documents(const schema::Registry& registry, Version version, std::string server_address);

    /// Whether `path` is one of these.
    bool owns(std::string_view path) const;
    Task<> handle(RequestContext& context);

private:
    Task<> version(RequestContext& context);
    Task<> discovery(RequestContext& context);
    Task<> openapi(RequestContext& context);
    Task<> document(RequestContext& context, const schema::OpenApiDocument& document, std::string content_type, bool immutable);

    const schema::Registry& registry_;
    Version version_;
    std::string server_address_;
    schema::OpenApi openapi_;
};

}  // namespace porthole::apiserver
