#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/request/negotiation.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "net/http.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// One request on its way through the handlers. Lives in the server's task for it.
struct RequestContext {
    net::HttpRequest& request;
    net::HttpResponder& responder;
    RequestInfo info;
    MonotonicTime begun{};
    User user;                         ///< whose rights count
    std::optional<User> impersonator;  ///< who sent the request, where that is somebody else
    std::string audit_id;
    std::vector<std::string> warnings;  ///< become Warning headers
    std::map<std::string, std::string> audit_annotations;
    int code = 0;  ///< what was answered, once it was
};

}  // namespace porthole::apiserver
