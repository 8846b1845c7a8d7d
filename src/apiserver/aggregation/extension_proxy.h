#pragma once
#include <memory>
#include <string>

#include "apiserver/aggregation/extension_servers.h"
#include "apiserver/handlers/request_context.h"

namespace porthole::apiserver {

/// Forwards an authorized request to the server that the APIService names, and its answer to the client: as it arrives, or, after an
/// upgrade, as bytes in both directions. Path and query are rebuilt from what was authorized, so that both servers interpret them in the
/// same way. `pseudonym` is this server's name in the header Via: a request that comes back to this server is not forwarded again.
Task<> pass_to_extension_server(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service,
                                std::string pseudonym, EventLoop& loop);
/// The same for the current OpenAPI document: without a query.
Task<> pass_document(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service, std::string pseudonym);

}  // namespace porthole::apiserver
