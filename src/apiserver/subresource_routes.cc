#include "apiserver/subresource_routes.h"

#include "apiserver/request/status.h"
#include "apiserver/subresources/binding.h"
#include "apiserver/subresources/eviction.h"
#include "apiserver/subresources/scale.h"

namespace porthole::apiserver {
namespace {

Task<> scale(ResourceHandler& handler, RequestContext& context) {
    const Resource* resource = handler.resources().find(context.info.group, context.info.version, context.info.resource);
    if (!resource) co_return no_such_resource();
    co_return co_await handle_scale(handler, context, *resource);
}

}  // namespace

void add_subresource_routes(Server& server, ResourceHandler& handler, Streams& streams) {
    for (const char* workload : {"deployments", "replicasets", "statefulsets"})
        server.add_resource("apps", std::string(workload) + "/scale", [&](RequestContext& context) { return scale(handler, context); });
    server.add_resource("", "replicationcontrollers/scale", [&](RequestContext& context) { return scale(handler, context); });
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
