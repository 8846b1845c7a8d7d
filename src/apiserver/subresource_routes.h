#pragma once
#include "apiserver/server.h"
#include "apiserver/subresources/streams.h"

namespace porthole::apiserver {

/// Every subresource whose body is not the object itself. The references outlive the server.
void add_subresource_routes(Server& server, ResourceHandler& handler, Streams& streams);

}  // namespace porthole::apiserver
