#include "apiserver/request/request_info.h"

#include <algorithm>
#include <span>

#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/names.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

bool is_namespace_subresource(std::string_view segment) { return segment == "status" || segment == "finalize"; }

std::string verb_of(std::string_view method, bool named, bool watched) {
    if (method == "POST") return "create";
    if (method == "PUT") return "update";
    if (method == "PATCH") return "patch";
    if (method == "DELETE") return named ? "delete" : "deletecollection";
    if (method == "GET" || method == "HEAD") {
        if (watched) return "watch";
        return named ? "get" : "list";
    }
    return to_lower(method);
}

/// Reads what comes after the version: [watch/] [namespaces/NS/] RESOURCE [/NAME [/SUBRESOURCE [/REST...]]].
void parse_resource(RequestInfo& info, std::string_view method, std::span<const std::string> segments) {
    bool watched = false;
    if (segments[0] == "watch" && segments.size() > 1) {
        watched = true;
        segments = segments.subspan(1);
    }
    if (segments[0] == "namespaces" && segments.size() > 1) {
        info.namespace_ = segments[1];
        if (segments.size() > 2 && !is_namespace_subresource(segments[2])) segments = segments.subspan(2);
    }
    info.is_resource = true;
    info.resource = segments[0];
    if (segments.size() > 1) info.name = segments[1];
    if (segments.size() > 2) info.subresource = segments[2];
    if (segments.size() > 3) info.rest.assign(segments.begin() + 3, segments.end());

    const bool collection = info.name.empty();
    if ((method == "GET" || method == "HEAD") && collection) watched = watched || info.flag("watch");
    info.verb = verb_of(method, !collection, watched);
    if (!collection || (info.verb != "list" && info.verb != "watch")) return;
    const auto selected = required_value(info.parameter("fieldSelector"), "metadata.name");
    if (selected && names::check_path_segment(*selected).empty()) info.name = *selected;
}

}  // namespace

std::string_view RequestInfo::parameter(std::string_view name) const {
    const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
    return found == query.end() ? std::string_view() : std::string_view(found->second);
}

bool RequestInfo::has_parameter(std::string_view name) const {
    return std::ranges::find(query, name, &std::pair<std::string, std::string>::first) != query.end();
}

bool RequestInfo::flag(std::string_view name) const {
    if (!has_parameter(name)) return false;
    const std::string value = to_lower(parameter(name));
    return value != "false" && value != "0" && value != "f";
}

bool RequestInfo::long_running() const {
    if (!is_resource) return false;
    if (verb == "watch" || verb == "proxy") return true;
    return subresource == "log" || subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
           subresource == "proxy";
}

RequestInfo parse_request_info(const net::HttpRequest& request) { return parse_request_info(request.method, request.path, request.query); }

RequestInfo parse_request_info(std::string_view method, std::string_view path, std::string_view query) {
    RequestInfo info;
    info.path = net::percent_decode(path);
    info.query = net::parse_query(query);
    info.verb = to_lower(method);
    const std::vector<std::string> segments = net::split_path(path);
    const std::span<const std::string> all(segments);
    if (all.size() >= 2 && all[0] == "api") {
        info.version = all[1];
        if (all.size() > 2) parse_resource(info, method, all.subspan(2));
    } else if (all.size() >= 3 && all[0] == "apis") {
        info.group = all[1];
        info.version = all[2];
        if (all.size() > 3) parse_resource(info, method, all.subspan(3));
    }
    return info;
}

}  // namespace porthole::apiserver
