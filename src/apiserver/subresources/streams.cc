#include "apiserver/subresources/streams.h"

#include <algorithm>
#include <charconv>

#include "api/core_v1.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/outgoing/service_endpoint.h"
#include "apiserver/request/status.h"
#include "apiserver/subresources/kubelet_target.h"
#include "apiserver/subresources/relay.h"
#include "apiserver/validation/field_errors.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

template <class T>
Result<T> find_object(ResourceHandler& handler, const std::string& namespace_, const std::string& name) {
    const Resource& resource = handler.resources().of<T>();
    const store::RecordPtr record = handler.objects().store().get(resource.key(namespace_, name));
    if (!record) return not_found(*resource.kind, name);
    return schema::decode_json<T>(*record->value.bytes());
}

Result<ConnectTarget> kubelet_of(ResourceHandler& handler, const std::string& node_name) {
    TRY(const Node node, find_object<Node>(handler, "", node_name));
    return apiserver::kubelet_of(node);
}

Result<ConnectTarget> kubelet_of(ResourceHandler& handler, const Pod& pod) {
    if (pod.spec.node_name.empty()) return bad_request("pod " + pod.metadata.name + " does not have a host assigned");
    return kubelet_of(handler, pod.spec.node_name);
}

std::string names_of(const auto& containers) {
    return "[" + join(containers, " ", [](const auto& container) { return container.name; }) + "]";
}

bool has_container(const Pod& pod, const std::string& name) {
    const auto named = [&](const auto& container) { return container.name == name; };
    return std::ranges::any_of(pod.spec.containers, named) || std::ranges::any_of(pod.spec.init_containers, named) ||
           std::ranges::any_of(pod.spec.ephemeral_containers, named);
}

/// The container that the request names, or the only one there is.
Result<std::string> container_of(const Pod& pod, std::string_view asked) {
    if (!asked.empty()) {
        if (!has_container(pod, std::string(asked)))
            return bad_request("container " + std::string(asked) + " is not valid for pod " + pod.metadata.name);
        return std::string(asked);
    }
    if (pod.spec.containers.size() == 1) return pod.spec.containers.front().name;
    std::string message =
        "a container name must be specified for pod " + pod.metadata.name + ", choose one of: " + names_of(pod.spec.containers);
    if (!pod.spec.init_containers.empty()) message += " or one of the init containers: " + names_of(pod.spec.init_containers);
    return bad_request(std::move(message));
}

void append_parameter(std::string& query, std::string_view key, std::string_view value) {
    if (!query.empty()) query += '&';
    query += net::percent_encode(key) + "=" + net::percent_encode(value);
}

Result<std::string> log_query(const RequestContext& context) {
    const RequestInfo& info = context.info;
    FieldErrors errors;
    const auto number = [&](const char* name, std::int64_t least, const char* why) {
        if (info.parameter(name).empty()) return;
        std::int64_t value = 0;
        const std::string_view text = info.parameter(name);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            errors.invalid(name, text, "must be a number");
        else if (value < least)
            errors.invalid(name, value, why);
    };
    number("tailLines", 0, "must be greater than or equal to 0");
    number("limitBytes", 1, "must be greater than 0");
    number("sinceSeconds", 1, "must be greater than 0");
    if (info.has_parameter("sinceSeconds") && info.has_parameter("sinceTime"))
        errors.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified");
    if (!errors.empty()) return errors.to_error("", "PodLogOptions", info.name);
    std::string query;
    for (const auto& [key, value] : info.query) {
        if (key != "container" && key != "pretty" && key != "insecureSkipTLSVerifyBackend") append_parameter(query, key, value);
    }
    return query;
}

/// "https:name:port" → its three parts; scheme and port may be missing.
struct ProxyName {
    std::string scheme, name, port;
};
/// `what` is "node", "pod" or "service", for the error.
Result<ProxyName> split_proxy_name(std::string_view what, std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(':', start), text.size());
        parts.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    ProxyName name;
    if (parts.size() == 1) name = {"", parts[0], ""};
    if (parts.size() == 2) name = {"", parts[0], parts[1]};
    if (parts.size() == 3) name = {parts[0], parts[1], parts[2]};
    const bool known_scheme = name.scheme.empty() || name.scheme == "http" || name.scheme == "https";
    if (name.name.empty() || !known_scheme) return bad_request("invalid " + std::string(what) + " request \"" + std::string(text) + '"');
    return name;
}

std::uint16_t parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() ? port : std::uint16_t{0};
}

/// Where ".../NAME/proxy" ends in the path as it was sent.
std::size_t end_of_proxy(const RequestContext& context) {
    // api v1 [namespaces NS] RESOURCE NAME proxy
    int segments = context.info.namespace_.empty() ? 5 : 7;
    const std::string& path = context.request.path;
    std::size_t position = 0;
    while (position < path.size() && segments > 0) {
        position = std::min(path.find('/', position + 1), path.size());
        --segments;
    }
    return position;
}

std::string rest_of_path(const RequestContext& context) {
    const std::string rest = context.request.path.substr(end_of_proxy(context));
    return rest.empty() ? "/" : rest;
}

/// Relative links of the page at the root would lead elsewhere without the slash.
Task<> redirect_to_root(RequestContext& context) {
    const std::string& query = context.request.query;
    net::Headers headers = common_headers(context);
    headers.add("location", context.request.path + "/" + (query.empty() ? "" : "?" + query));
    context.code = 301;
    return context.responder.respond(context.code, std::move(headers), {});
}

Task<> proxy_to(RequestContext& context, Connector* connector, ConnectTarget target, EventLoop& loop) {
    const std::size_t end = end_of_proxy(context);
    const std::string& method = context.request.method;
    if (end == context.request.path.size() && (method == "GET" || method == "HEAD") && !wants_upgrade(context.request))
        return redirect_to_root(context);
    return relay_through_proxy(context, connector, std::move(target), context.request.path.substr(0, end), rest_of_path(context), loop);
}

/// What the client asks for, as the options of the subresource's kind ("PodExecOptions"): webhooks see it as the object of a CONNECT.
schema::Value connect_options(const RequestContext& context, const schema::Kind& kind) {
    const std::string& subresource = context.info.subresource;
    const bool forwards = subresource == "portforward";
    std::string word = forwards ? "PortForward" : subresource;
    word[0] = to_upper(word[0]);
    schema::Value options = schema::Value::object({{"kind", std::string(kind.kind) + word + "Options"}, {"apiVersion", "v1"}});
    if (subresource == "proxy") {
        options["path"] = rest_of_path(context);
        return options;
    }
    for (const auto& [key, value] : context.info.query) {
        const bool is_list = key == "command" || key == "ports";
        if (is_list && options.find(key) == nullptr) options[key] = schema::Value::array();
        if (key == "command") options[key].as_array().emplace_back(value);
        if (key == "ports")
            for (const std::string& port : split_list(value)) options[key].as_array().emplace_back(parse_port(port));
        if (key == "container") options[key] = value;
        if (key == "stdin" || key == "stdout" || key == "stderr" || key == "tty") options[key] = context.info.flag(key);
    }
    return options;
}

}  // namespace

Task<> Streams::log(RequestContext& context) {
    if (context.info.verb != "get") co_return method_not_allowed();
    CO_TRY(const Pod pod, find_object<Pod>(handler_, context.info.namespace_, context.info.name));
    CO_TRY(const std::string container, container_of(pod, context.info.parameter("container")));
    CO_TRY(std::string query, log_query(context));
    CO_TRY(ConnectTarget target, kubelet_of(handler_, pod));
    std::string path = "/containerLogs/" + pod.metadata.namespace_ + "/" + pod.metadata.name + "/" + container;
    co_return co_await stream_from_kubelet(context, connector_, std::move(target), std::move(path), std::move(query), loop_);
}

/// A WebSocket begins with GET, but to run something in a container is more than to read: `create` is needed either way.
Task<> Streams::authorize_stream(RequestContext& context) {
    if (context.info.verb != "get" && context.info.verb != "create") co_return method_not_allowed();
    CO_TRY_VOID(co_await handler_.require_verb(context, "create"));
    co_return co_await admit(context, Pod::kind());
}

Task<> Streams::admit(RequestContext& context, const schema::Kind& kind) {
    AdmissionAttributes attributes{.operation = AdmissionOperation::Connect,
                                   .kind = kind,
                                   .subresource = context.info.subresource,
                                   .namespace_ = context.info.namespace_,
                                   .name = context.info.name,
                                   .user = context.user,
                                   .warnings = context.warnings,
                                   .audit_annotations = context.audit_annotations,
                                   .connect_options = connect_options(context, kind)};
    CO_TRY_VOID(co_await admission_.admit(attributes));
    co_return co_await admission_.validate(attributes);
}

Task<> Streams::run_in_container(RequestContext& context, std::string root) {
    CO_TRY_VOID(co_await authorize_stream(context));
    CO_TRY(const Pod pod, find_object<Pod>(handler_, context.info.namespace_, context.info.name));
    CO_TRY(const std::string container, container_of(pod, context.info.parameter("container")));
    CO_TRY(ConnectTarget target, kubelet_of(handler_, pod));
    std::string query;
    for (const auto& [ours, theirs] :
         {std::pair("stdin", "input"), std::pair("stdout", "output"), std::pair("stderr", "error"), std::pair("tty", "tty")})
        if (context.info.flag(ours)) append_parameter(query, theirs, "1");
    if (query.empty()) co_return bad_request("you must specify at least 1 of stdin, stdout, stderr");
    for (const auto& [key, value] : context.info.query)
        if (key == "command") append_parameter(query, "command", value);
    if (root == "/exec/" && !context.info.has_parameter("command")) co_return bad_request("you must specify a command for the container");
    std::string path = root + pod.metadata.namespace_ + "/" + pod.metadata.name + "/" + container;
    co_return co_await relay_to_kubelet(context, connector_, std::move(target), std::move(path), std::move(query), loop_);
}

Task<> Streams::port_forward(RequestContext& context) {
    CO_TRY_VOID(co_await authorize_stream(context));
    CO_TRY(const Pod pod, find_object<Pod>(handler_, context.info.namespace_, context.info.name));
    CO_TRY(ConnectTarget target, kubelet_of(handler_, pod));
    std::string query;
    for (const auto& [key, value] : context.info.query)
        if (key == "ports") append_parameter(query, "port", value);
    std::string path = "/portForward/" + pod.metadata.namespace_ + "/" + pod.metadata.name;
    co_return co_await relay_to_kubelet(context, connector_, std::move(target), std::move(path), std::move(query), loop_);
}

Task<> Streams::proxy_node(RequestContext& context) {
    CO_TRY_VOID(co_await admit(context, Node::kind()));
    CO_TRY(const ProxyName name, split_proxy_name("node", context.info.name));
    CO_TRY(ConnectTarget target, kubelet_of(handler_, name.name));
    const std::uint16_t port = name.port.empty() ? target.port : parse_port(name.port);
    if (port == 0) co_return bad_request("invalid node request \"" + context.info.name + '"');
    if (port != target.port) {
        // Whatever else listens on the node, perhaps an API server, must not see this server's certificate.
        CO_TRY_VOID(check_reachable_by_all(target.host));
        target.port = port;
        target.security = name.scheme == "https" ? ConnectTarget::Security::AnyTls : ConnectTarget::Security::Plain;
    }
    co_return co_await proxy_to(context, connector_, std::move(target), loop_);
}

Task<> Streams::proxy_pod(RequestContext& context) {
    CO_TRY_VOID(co_await admit(context, Pod::kind()));
    CO_TRY(const ProxyName name, split_proxy_name("pod", context.info.name));
    CO_TRY(const Pod pod, find_object<Pod>(handler_, context.info.namespace_, name.name));
    CO_TRY_VOID(check_reachable_by_all(pod.status.pod_ip));
    ConnectTarget target{.host = pod.status.pod_ip, .port = parse_port(name.port)};
    target.security = name.scheme == "https" ? ConnectTarget::Security::AnyTls : ConnectTarget::Security::Plain;
    for (const Container& container : pod.spec.containers) {
        for (const ContainerPort& port : container.ports) {
            const bool wanted = name.port.empty() ? target.port == 0 : port.name == name.port;
            if (wanted && target.port == 0) target.port = static_cast<std::uint16_t>(port.container_port);
        }
    }
    if (target.port == 0) target.port = name.scheme == "https" ? 443 : 80;
    co_return co_await proxy_to(context, connector_, std::move(target), loop_);
}

Task<> Streams::proxy_service(RequestContext& context) {
    CO_TRY_VOID(co_await admit(context, Service::kind()));
    CO_TRY(const ProxyName name, split_proxy_name("service", context.info.name));
    CO_TRY(const Service service, find_object<Service>(handler_, context.info.namespace_, name.name));
    const auto& ports = service.spec.ports;
    const auto wanted = std::ranges::find_if(ports, [&](const ServicePort& port) {
        return name.port.empty() ? ports.size() == 1 : port.name == name.port || std::to_string(port.port) == name.port;
    });
    if (wanted == ports.end()) co_return bad_request("no service port \"" + name.port + "\" found for service \"" + name.name + "\"");
    const ObjectReader reader(handler_.objects().store());
    auto endpoint = find_service_endpoint(reader, context.info.namespace_, name.name, *wanted, random_);
    if (!endpoint && endpoint.error().reason == Reason::ServiceUnavailable)
        endpoint.error().message = "no endpoints available for service \"" + context.info.name + "\"";
    if (!endpoint) co_return std::move(endpoint).error();
    ConnectTarget target{.host = endpoint->host, .port = endpoint->port};
    target.security = name.scheme == "https" ? ConnectTarget::Security::AnyTls : ConnectTarget::Security::Plain;
    co_return co_await proxy_to(context, connector_, std::move(target), loop_);
}

}  // namespace porthole::apiserver
