#pragma once
#include <map>
#include <string>
#include <vector>

#include "apiserver/request/negotiation.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "net/http.h"

namespace porthole::apiserver {

/// One request on its way through the handlers. Lives in the server's task for it.
struct RequestContext {
    net::HttpRequest& request;
    net::HttpResponder& responder;
    RequestInfo info;
    User user;
    std::string audit_id;
    std::vector<std::string> warnings;  ///< become Warning headers
    std::map<std::string, std::string> audit_annotations;
    int code = 0;  ///< what was answered, once it was
};

}  // namespace porthole::apiserver
