#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http.h"

namespace porthole::apiserver {

/// A request's target, from its method, path and query alone, as used by authorization, audit and routing.
///
/// "/apis/apps/v1/namespaces/a/deployments/web/scale" is group apps, version v1, namespace a, resource deployments, name web, subresource
/// scale. A path outside /api and /apis is not a resource request; its verb is the method in lower case.
struct RequestInfo {
    bool is_resource = false;
    std::string path;  ///< decoded
    std::string verb;  ///< get, list, watch, create, update, patch, delete, deletecollection; or the method in lower case
    std::string group, version, namespace_, resource, subresource;
    std::string name;  ///< in the path, or required by the field selector of a list or watch, whose handlers then serve only that object
    std::vector<std::string> rest;  ///< path segments after the subresource, for proxies
    std::vector<std::pair<std::string, std::string>> query;

    /// The first value of a query parameter, or "".
    std::string_view parameter(std::string_view name) const;
    bool has_parameter(std::string_view name) const;
    /// True for "true", "1" and the like, and for a parameter without a value.
    bool flag(std::string_view name) const;
    /// "" for a discovery path such as /apis/apps/v1.
    std::string resource_and_subresource() const { return subresource.empty() ? resource : resource + "/" + subresource; }
    /// May stream or wait for long: watch, log, exec, attach, portforward, proxy.
    bool long_running() const;
};

RequestInfo parse_request_info(const net::HttpRequest& request);
RequestInfo parse_request_info(std::string_view method, std::string_view path, std::string_view query);

}  // namespace porthole::apiserver
