#include "apiserver/admission/webhook_rules.h"

#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/request/status.h"
#include "apiserver/validation/label_selector.h"

namespace porthole::apiserver {
namespace {

using api::admissionregistration::v1::MatchResources;
using api::admissionregistration::v1::NamedRuleWithOperations;
using api::admissionregistration::v1::RuleWithOperations;
using api::core::v1::Namespace;
using Selector = api::meta::v1::LabelSelector;

bool holds(const std::vector<std::string>& list, std::string_view value) {
    return std::ranges::any_of(list, [&](const std::string& one) { return one == "*" || one == value; });
}

/// "pods" is pods alone, "pods/*" pods and all their subresources, "*/scale" scale of everything.
bool names_resource(const std::string& rule, std::string_view resource, std::string_view subresource) {
    const std::size_t slash = rule.find('/');
    const std::string_view whole = std::string_view(rule).substr(0, slash);
    const std::string_view part = slash == std::string::npos ? "" : std::string_view(rule).substr(slash + 1);
    return (whole == "*" || whole == resource) && (part == "*" || part == subresource);
}

bool is_namespace(const AdmissionAttributes& attributes) { return attributes.is("", "namespaces"); }

bool fits_scope(const RuleWithOperations& rule, const AdmissionAttributes& attributes) {
    const std::string scope = rule.scope.value_or("*");
    if (scope == "*") return true;
    const bool in_namespace = !is_namespace(attributes) && !attributes.namespace_.empty();
    return in_namespace == (scope == "Namespaced");
}

bool matches(const RuleWithOperations& rule, const AdmissionAttributes& attributes, const schema::Kind& kind) {
    const bool fits_operation =
        holds(rule.operations, operation_of(attributes)) || holds(rule.operations, operation_name(attributes.operation));
    return fits_operation && holds(rule.api_groups, kind.group) && holds(rule.api_versions, kind.version) && fits_scope(rule, attributes) &&
           std::ranges::any_of(rule.resources,
                               [&](const std::string& one) { return names_resource(one, kind.plural, attributes.subresource); });
}

bool matches(const NamedRuleWithOperations& rule, const AdmissionAttributes& attributes, const schema::Kind& kind) {
    const bool fits_name =
        rule.resource_names.empty() || std::ranges::find(rule.resource_names, attributes.name) != rule.resource_names.end();
    return fits_name && matches(static_cast<const RuleWithOperations&>(rule), attributes, kind);
}

const schema::Kind& requested_kind(const AdmissionAttributes& attributes) {
    return attributes.request_kind ? *attributes.request_kind : attributes.kind;
}

template <class Rule>
const schema::Kind* match_rules(const std::vector<Rule>& rules, bool equivalent, const AdmissionAttributes& attributes,
                                const std::vector<const schema::Kind*>& served) {
    const schema::Kind& requested = requested_kind(attributes);
    for (const Rule& rule : rules)
        if (matches(rule, attributes, requested)) return &requested;
    if (!equivalent) return nullptr;
    for (const Rule& rule : rules)
        for (const schema::Kind* kind : served)
            if (matches(rule, attributes, *kind)) return kind;
    return nullptr;
}

bool is_empty(const Selector* selector) { return !selector || (selector->match_labels.empty() && selector->match_expressions.empty()); }

Result<bool> namespace_fits(const Selector* selector, const AdmissionAttributes& attributes, const ObjectReader& reader) {
    if (is_empty(selector)) return true;
    const LabelSelector wanted = LabelSelector::from(*selector);
    if (is_namespace(attributes) && attributes.subresource.empty() && attributes.object)
        return wanted.matches(attributes.object->metadata().labels);
    const std::string& name = attributes.request_namespace();
    if (name.empty()) return true;  // what is in no namespace is never left out by this selector
    TRY(const auto found, reader.find<Namespace>("", name));
    if (!found) return not_found(Namespace::kind(), name);
    return wanted.matches(found->metadata.labels);
}

bool object_fits(const Selector* selector, const AdmissionAttributes& attributes) {
    if (is_empty(selector)) return true;
    const LabelSelector wanted = LabelSelector::from(*selector);
    const auto fits = [&](const ApiObject* object) {
        return object && object->kind().type->find_field("metadata") && wanted.matches(object->metadata().labels);
    };
    return fits(attributes.object) || fits(attributes.old_object);
}

}  // namespace

std::string_view operation_name(AdmissionOperation operation) {
    switch (operation) {
        case AdmissionOperation::Create:
            return "CREATE";
        case AdmissionOperation::Update:
            return "UPDATE";
        case AdmissionOperation::Delete:
            return "DELETE";
        case AdmissionOperation::Connect:
            return "CONNECT";
    }
    return "";
}

std::string_view operation_of(const AdmissionAttributes& attributes) {
    const bool creates = attributes.is("", "pods") && (attributes.subresource == "binding" || attributes.subresource == "eviction");
    return creates ? "CREATE" : operation_name(attributes.operation);
}

bool is_exempt_from_policies(const AdmissionAttributes& attributes) {
    constexpr std::string_view Exempt[] = {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "validatingadmissionpolicies",
                                           "validatingadmissionpolicybindings"};
    return attributes.kind.group == "admissionregistration.k8s.io" && std::ranges::find(Exempt, attributes.kind.plural) != std::end(Exempt);
}

bool is_exempt_from_webhooks(const AdmissionAttributes& attributes) {
    return is_exempt_from_policies(attributes) || attributes.is("admissionregistration.k8s.io", "mutatingwebhookconfigurations") ||
           attributes.is("admissionregistration.k8s.io", "validatingwebhookconfigurations");
}

Result<const schema::Kind*> match_webhook(const WebhookSelection& selection, const AdmissionAttributes& attributes,
                                          const std::vector<const schema::Kind*>& served, const ObjectReader& reader) {
    const schema::Kind* const matched = match_rules(*selection.rules, selection.equivalent, attributes, served);
    if (!matched || !object_fits(selection.object_selector, attributes)) return nullptr;
    TRY(const bool fits, namespace_fits(selection.namespace_selector, attributes, reader));
    return fits ? matched : nullptr;
}

Result<const schema::Kind*> match_resources(const MatchResources& selection, const AdmissionAttributes& attributes,
                                            const std::vector<const schema::Kind*>& served, const ObjectReader& reader) {
    const bool equivalent = selection.match_policy.value_or("Exact") == "Equivalent";
    const Selector* const objects = selection.object_selector ? &*selection.object_selector : nullptr;
    const Selector* const namespaces = selection.namespace_selector ? &*selection.namespace_selector : nullptr;
    if (match_rules(selection.exclude_resource_rules, equivalent, attributes, served)) return nullptr;
    const schema::Kind* const matched = selection.resource_rules.empty()
                                            ? &requested_kind(attributes)
                                            : match_rules(selection.resource_rules, equivalent, attributes, served);
    if (!matched || !object_fits(objects, attributes)) return nullptr;
    TRY(const bool fits, namespace_fits(namespaces, attributes, reader));
    return fits ? matched : nullptr;
}

}  // namespace porthole::apiserver
