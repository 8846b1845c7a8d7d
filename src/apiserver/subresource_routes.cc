#include "apiserver/subresource_routes.h"

#include "apiserver/subresources/binding.h"
#include "apiserver/subresources/eviction.h"

namespace porthole::apiserver {
void add_subresource_routes(Server& server, ResourceHandler& handler, Streams& streams) {
    server.add_resource("", "bindings", [&](RequestContext& context) { return handle_binding(handler, context); });
    server.add_resource("", "pods/binding", [&](RequestContext& context) { return handle_binding(handler, context); });
    server.add_resource("", "pods/eviction", [&](RequestContext& context) { return handle_eviction(handler, context); });
    server.add_resource("", "pods/log", [&](RequestContext& context) { return streams.log(context); });
    server.add_resource("", "pods/exec", [&](RequestContext& context) { return streams.exec(context); });
    server.add_resource("", "pods/attach", [&](RequestContext& context) { return streams.attach(context); });
    server.add_resource("", "pods/portforward", [&](RequestContext& context) { return streams.port_forward(context); });
    server.add_resource("", "nodes/proxy", [&](RequestContext& context) { return streams.proxy_node(context); });
    server.add_resource("", "pods/proxy", [&](RequestContext& context) { return streams.proxy_pod(context); });
    server.add_resource("", "services/proxy", [&](RequestContext& context) { return streams.proxy_service(context); });
}

}  // namespace porthole::apiserver
