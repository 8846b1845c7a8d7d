#pragma once
#include "apiserver/admission/admission.h"
#include "apiserver/handlers/resource_handler.h"
#include "apiserver/subresources/connector.h"

namespace porthole::apiserver {

/// Subresources answered by the pod's node or the pod itself: logs, exec, attach, port-forward and the proxies.
class Streams {
public:
    /// `connector` may be null if nothing can be reached, as in a simulation. References must outlive the requests.
    Streams(ResourceHandler& handler, const AdmissionChain& admission, EventLoop& loop, Random& random, Connector* connector)
        : handler_(handler), admission_(admission), loop_(loop), random_(random), connector_(connector) {}

    Task<> log(RequestContext& context);
    Task<> exec(RequestContext& context) { return run_in_container(context, "/exec/"); }
    Task<> attach(RequestContext& context) { return run_in_container(context, "/attach/"); }
    Task<> port_forward(RequestContext& context);
    /// /api/v1/nodes/[https:]NAME[:port]/proxy/REST and the same for pods and services.
    Task<> proxy_node(RequestContext& context);
    Task<> proxy_pod(RequestContext& context);
    Task<> proxy_service(RequestContext& context);

private:
    Task<> authorize_stream(RequestContext& context);
    /// As the operation CONNECT, which plugins may refuse.
    Task<> admit(RequestContext& context, const schema::Kind& kind);
    Task<> run_in_container(RequestContext& context, std::string root);

    ResourceHandler& handler_;
    const AdmissionChain& admission_;
    EventLoop& loop_;
    Random& random_;
    Connector* connector_;
};

}  // namespace porthole::apiserver
