#include "api/networking_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::networking::v1;
using api::core::v1::TypedLocalObjectReference;

constexpr const char* ClassAnnotation = "kubernetes.io/ingress.class";
constexpr std::size_t ControllerLimit = 250;

bool is_ip(std::string_view text) { return names::check_ip(text).empty(); }

void validate_host(const std::string& host, const FieldPath& path, FieldErrors& errors) {
    if (host.empty()) return;
    if (is_ip(host)) return errors.invalid(path, host, "must be a DNS name, not an IP address");
    invalid_all(errors, path, host,
                host.contains('*') ? names::check_wildcard_dns1123_subdomain(host) : names::check_dns1123_subdomain(host));
}

void validate_service(const IngressServiceBackend& service, const FieldPath& path, FieldErrors& errors) {
    check_required_format(service.name, names::check_dns1035_label, path / "name", errors);
    const bool by_name = !service.port.name.empty(), by_number = service.port.number != 0;
    if (by_name && by_number)
        errors.invalid(path, schema::to_value(service), "cannot set both port name & port number");
    else if (by_name)
        invalid_all(errors, path / "port" / "name", service.port.name, names::check_port_name(service.port.name));
    else if (by_number)
        invalid_all(errors, path / "port" / "number", service.port.number, names::check_port_number(service.port.number));
    else
        errors.required(path, "port name or number is required");
}

void validate_resource(const TypedLocalObjectReference& resource, const FieldPath& path, FieldErrors& errors) {
    check_format(resource.api_group.value_or(""), names::check_dns1123_subdomain, path / "apiGroup", errors);
    check_required_format(resource.kind, names::check_path_segment, path / "kind", errors);
    check_required_format(resource.name, names::check_path_segment, path / "name", errors);
}

void validate_backend(const IngressBackend& backend, const FieldPath& path, FieldErrors& errors) {
    if (backend.service && backend.resource) return errors.invalid(path, "", "cannot set both resource and service backends");
    if (backend.resource) return validate_resource(*backend.resource, path / "resource", errors);
    if (backend.service) return validate_service(*backend.service, path / "service", errors);
    errors.invalid(path, "", "resource or service backend is required");
}

void validate_exact_path(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (!text.starts_with('/')) return errors.invalid(path, text, "must be an absolute path");
    for (const char* sequence : {"//", "/./", "/../", "%2f", "%2F"})
        check(!text.contains(sequence), text, std::string("must not contain '") + sequence + "'", path, errors);
    for (const char* ending : {"/..", "/."})
        check(!text.ends_with(ending), text, std::string("cannot end with '") + ending + "'", path, errors);
}

void validate_path(const HTTPIngressPath& one, const FieldPath& path, FieldErrors& errors) {
    if (!one.path_type) {
        errors.required(path / "pathType", "pathType must be specified");
    } else if (*one.path_type == PathType::Exact || *one.path_type == PathType::Prefix) {
        validate_exact_path(one.path, path / "path", errors);
    } else if (*one.path_type == PathType::ImplementationSpecific) {
        check(one.path.empty() || one.path.starts_with('/'), one.path, "must be an absolute path", path / "path", errors);
    } else {
        errors.not_supported(path / "pathType", *one.path_type, {PathType::Exact, PathType::ImplementationSpecific, PathType::Prefix});
    }
    validate_backend(one.backend, path / "backend", errors);
}

void validate_rule(const IngressRule& rule, const FieldPath& path, FieldErrors& errors) {
    validate_host(rule.host, path / "host", errors);
    if (!rule.http) return;
    const FieldPath paths = path / "http" / "paths";
    if (rule.http->paths.empty()) errors.required(paths);
    for (std::size_t i = 0; i < rule.http->paths.size(); ++i) validate_path(rule.http->paths[i], paths.index(i), errors);
}

void validate_tls(const IngressTLS& tls, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < tls.hosts.size(); ++i) {
        const std::string& host = tls.hosts[i];
        invalid_all(errors, (path / "hosts").index(i), host,
                    host.contains('*') ? names::check_wildcard_dns1123_subdomain(host) : names::check_dns1123_subdomain(host));
    }
    check_object_name(tls.secret_name, path / "secretName", errors);
}

void validate_spec(const IngressSpec& spec, FieldErrors& errors) {
    const FieldPath path = "spec";
    if (spec.rules.empty() && !spec.default_backend)
        errors.invalid(path, schema::to_value(spec.rules.empty() ? IngressSpec() : spec),
                       "either `defaultBackend` or `rules` must be specified");
    for (std::size_t i = 0; i < spec.tls.size(); ++i) validate_tls(spec.tls[i], (path / "tls").index(i), errors);
    for (std::size_t i = 0; i < spec.rules.size(); ++i) validate_rule(spec.rules[i], (path / "rules").index(i), errors);
    if (spec.default_backend) validate_backend(*spec.default_backend, path / "defaultBackend", errors);
    if (spec.ingress_class_name)
        invalid_all(errors, path / "ingressClassName", *spec.ingress_class_name, names::check_dns1123_subdomain(*spec.ingress_class_name));
}

void validate(const Ingress& object, FieldErrors& errors) {
    validate_spec(object.spec, errors);
    const auto annotation = object.metadata.annotations.find(ClassAnnotation);
    if (annotation != object.metadata.annotations.end() && object.spec.ingress_class_name &&
        annotation->second != *object.spec.ingress_class_name) {
        errors.invalid(FieldPath("annotations") / ClassAnnotation, annotation->second,
                       "must match `ingressClassName` when both are specified");
    }
}

void validate_update(const Ingress& object, const Ingress&, FieldErrors& errors) { validate_spec(object.spec, errors); }

void validate_status_update(const Ingress& object, const Ingress&, FieldErrors& errors) {
    const auto& addresses = object.status.load_balancer.ingress;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const FieldPath path = FieldPath("status.loadBalancer.ingress").index(i);
        check_format(addresses[i].ip, names::check_ip, path / "ip", errors);
        if (addresses[i].hostname.empty()) continue;
        check_object_name(addresses[i].hostname, path / "hostname", errors);
        check(!is_ip(addresses[i].hostname), addresses[i].hostname, "must be a DNS name, not an IP address", path / "hostname", errors);
    }
}

// --- IngressClass ---

void default_class(IngressClass& object) {
    if (object.spec.parameters && !object.spec.parameters->scope) object.spec.parameters->scope = "Cluster";
}

void validate_parameters(const IngressClassParametersReference& parameters, const FieldPath& path, FieldErrors& errors) {
    check_format(parameters.api_group.value_or(""), names::check_dns1123_subdomain, path / "apiGroup", errors);
    check_required_format(parameters.kind, names::check_path_segment, path / "kind", errors);
    check_required_format(parameters.name, names::check_path_segment, path / "name", errors);
    if (!parameters.scope) return errors.required(path / "scope");
    const std::string& scope = *parameters.scope;
    check_choice(scope, {"Cluster", "Namespace"}, path / "scope", errors);
    if (scope == "Namespace") {
        if (!parameters.namespace_)
            errors.required(path / "namespace", "`parameters.scope` is set to 'Namespace'");
        else
            invalid_all(errors, path / "namespace", *parameters.namespace_, names::check_dns1123_label(*parameters.namespace_));
    }
    if (scope == "Cluster" && parameters.namespace_) errors.forbidden(path / "namespace", "`parameters.scope` is set to 'Cluster'");
}

void validate_class(const IngressClass& object, FieldErrors& errors) {
    const FieldPath controller = "spec.controller";
    if (object.spec.controller.size() > ControllerLimit) errors.too_long(controller, ControllerLimit);
    check_required_format(object.spec.controller, names::check_domain_prefixed_path, controller, errors);
    if (object.spec.parameters) validate_parameters(*object.spec.parameters, "spec.parameters", errors);
}

void warn(const Ingress& object, const Ingress* old, std::vector<std::string>& warnings) {
    if (!old && object.metadata.annotations.contains("kubernetes.io/ingress.class"))
        warnings.emplace_back(R"(annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead)");
}

void validate_class_update(const IngressClass& object, const IngressClass& old, FieldErrors& errors) {
    validate_class(object, errors);
    check(object.spec.controller == old.spec.controller, object.spec.controller, FieldIsImmutable, "spec.controller", errors);
}

}  // namespace

Strategy ingress_strategy() {
    Strategy strategy = strategy_for<Ingress>(
        {.validate = validate, .validate_update = validate_update, .validate_status_update = validate_status_update, .warn = warn});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

Strategy ingress_class_strategy() {
    Strategy strategy =
        strategy_for<IngressClass>({.set_defaults = default_class, .validate = validate_class, .validate_update = validate_class_update});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
