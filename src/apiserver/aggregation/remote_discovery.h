#pragma once
#include <memory>
#include <string_view>

#include "apiserver/aggregation/extension_servers.h"
#include "base/result.h"
#include "runtime/task.h"
#include "schema/openapi/openapi_part.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The resources of a group version, in the aggregated form.
using RemoteResources = std::shared_ptr<const schema::Array>;

/// Reads the resources of the group version from the server that the APIService names: from the aggregated document if it has one,
/// otherwise from the plain one. Errors: why the server cannot be asked; BadRequest for an invalid answer.
Task<RemoteResources> fetch_resources(ExtensionServers& servers, std::shared_ptr<const APIService> service);

/// The hash of the OpenAPI v3 document that the server has of the group version; "" if it has none. Errors: as above.
Task<std::string> fetch_openapi_hash(ExtensionServers& servers, std::shared_ptr<const APIService> service);

/// The group version's part of a server's OpenAPI v2 document, with the document's ETag.
struct RemoteOpenApi {
    std::shared_ptr<const schema::OpenApiPart> part;  ///< null if it has no such document, or an unusable one
    std::string etag;
    bool operator==(const RemoteOpenApi&) const = default;
};
/// The current document; `known` if the server says that it is unchanged. Errors: why the server cannot be asked.
Task<RemoteOpenApi> fetch_openapi(ExtensionServers& servers, std::shared_ptr<const APIService> service, RemoteOpenApi known);

// The part of such an answer about one group version; other groups are ignored. Error: BadRequest.
Result<RemoteResources> read_aggregated_discovery(std::string_view body, std::string_view group, std::string_view version);
Result<RemoteResources> read_resource_list(std::string_view body, std::string_view group, std::string_view version);
Result<std::string> read_openapi_index(std::string_view body, std::string_view group, std::string_view version);

/// The path of a group version's document below /openapi/v3/.
std::string openapi_path(const APIService& service);

}  // namespace porthole::apiserver
