#pragma once
#include "apiserver/handlers/resource_handler.h"

namespace porthole::apiserver {

/// POST of a Binding, to pods/x/binding or to bindings: puts a pod on a node, once.
Task<> handle_binding(ResourceHandler& handler, RequestContext& context);

}  // namespace porthole::apiserver
