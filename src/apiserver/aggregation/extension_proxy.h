#pragma once
#include <memory>
#include <string>

#include "apiserver/aggregation/extension_servers.h"
#include "apiserver/handlers/request_context.h"

namespace porthole::apiserver {

/// Passes an authorized request on to the server that the APIService names, and its answer back: as it comes, or, after an upgrade, as
/// bytes both ways. Path and query are made again of what was authorized, so that both servers read the same in them. `pseudonym` is
/// this server's in the header Via: what has come back to it goes no further.
Task<> pass_to_extension_server(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service,
                                std::string pseudonym, EventLoop& loop);
/// The same for a document of OpenAPI, as it is now: without a query.
Task<> pass_document(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service, std::string pseudonym);

}  // namespace porthole::apiserver
