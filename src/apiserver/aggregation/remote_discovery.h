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

/// Asks the server that the APIService names what it serves of its group version: by the aggregated document where it has that, else by
/// the plain one. Errors: why it cannot be asked; BadRequest for an answer that is something else.
Task<RemoteResources> fetch_resources(ExtensionServers& servers, std::shared_ptr<const APIService> service);

/// The hash of the OpenAPI v3 document that the server has of the group version; "" when it has none. Errors: as above.
Task<std::string> fetch_openapi_hash(ExtensionServers& servers, std::shared_ptr<const APIService> service);

/// What a server's OpenAPI v2 document says of the group version, and the ETag by which it is known.
struct RemoteOpenApi {
    std::shared_ptr<const schema::OpenApiPart> part;  ///< null when it has no such document, or one that cannot be used
    std::string etag;
    bool operator==(const RemoteOpenApi&) const = default;
};
/// As it is now; `known` itself where the server says that it still holds. Errors: why the server cannot be asked.
Task<RemoteOpenApi> fetch_openapi(ExtensionServers& servers, std::shared_ptr<const APIService> service, RemoteOpenApi known);

// What such an answer says of a group version; nothing of others is taken. Error: BadRequest.
Result<RemoteResources> read_aggregated_discovery(std::string_view body, std::string_view group, std::string_view version);
Result<RemoteResources> read_resource_list(std::string_view body, std::string_view group, std::string_view version);
Result<std::string> read_openapi_index(std::string_view body, std::string_view group, std::string_view version);

/// The path of a group version's document below /openapi/v3/.
std::string openapi_path(const APIService& service);

}  // namespace porthole::apiserver
