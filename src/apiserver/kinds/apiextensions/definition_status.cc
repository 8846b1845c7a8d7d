#include "apiserver/kinds/apiextensions/definition_status.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using api::apiextensions::v1::CustomResourceDefinitionNames;

void set(CustomResourceDefinitionStatus& status, std::string_view type, std::string_view value, std::string_view reason,
         std::string_view message, Timestamp now) {
    CustomResourceDefinitionCondition condition;
    condition.type = type;
    condition.status = value;
    condition.reason = reason;
    condition.message = message;
    objects::set_condition(status.conditions, std::move(condition), now);
}

/// Accepts names one after another, and remembers the last conflict, which is the one that upstream reports.
class NameAcceptance {
public:
    /// The name to use: the wanted one, if it is the present one or nobody has it.
    std::string accept(const std::string& wanted, const std::string& present, const std::set<std::string, std::less<>>& taken,
                       std::string_view conflict) {
        if (wanted == present || !taken.contains(wanted)) return wanted;
        reason = conflict;
        message = fmt::format("{} is already in use", quote(wanted));
        return present;
    }

    /// All of them or, where one is taken, those that were accepted before.
    std::vector<std::string> accept_short_names(const std::vector<std::string>& wanted, const std::vector<std::string>& present,
                                                const std::set<std::string, std::less<>>& taken) {
        std::vector<std::string> conflicts;
        const std::set<std::string_view> own(present.begin(), present.end());
        for (const std::string& name : wanted) {
            if (!own.contains(name) && taken.contains(name)) conflicts.push_back(fmt::format("{} is already in use", quote(name)));
        }
        if (conflicts.empty()) return wanted;
        reason = "ShortNamesConflict";
        message = conflicts.size() == 1 ? conflicts[0] : fmt::format("[{}]", fmt::join(conflicts, ", "));
        return present;
    }

    std::string reason, message;
};

CustomResourceDefinitionNames accepted(const CustomResourceDefinition& definition, const TakenNames& taken, NameAcceptance& acceptance) {
    const CustomResourceDefinitionNames& wanted = definition.spec.names;
    const CustomResourceDefinitionNames& present = definition.status.accepted_names;
    CustomResourceDefinitionNames names = present;
    names.plural = acceptance.accept(wanted.plural, present.plural, taken.resources, "PluralConflict");
    names.singular = acceptance.accept(wanted.singular, present.singular, taken.resources, "SingularConflict");
    names.short_names = acceptance.accept_short_names(wanted.short_names, present.short_names, taken.resources);
    names.kind = acceptance.accept(wanted.kind, present.kind, taken.kinds, "KindConflict");
    names.list_kind = acceptance.accept(wanted.list_kind, present.list_kind, taken.kinds, "ListKindConflict");
    names.categories = wanted.categories;
    return names;
}

bool is_protected_group(std::string_view group) {
    return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" || group.ends_with(".kubernetes.io");
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// With a scheme and a host.
bool is_url(std::string_view text) {
    const std::size_t colon = text.find("://");
    if (colon == text.npos || colon == 0 || !is_letter(text[0])) return false;
    const std::string_view scheme = text.substr(0, colon), rest = text.substr(colon + 3);
    const std::string_view host = rest.substr(0, rest.find_first_of("/?"));
    return std::ranges::all_of(scheme, [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; }) &&
           !host.empty() && !host.contains(' ') && std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

void set_approval(const CustomResourceDefinition& definition, CustomResourceDefinitionStatus& status, Timestamp now) {
    const auto approval = api_approval(definition);
    if (!approval) return;
    constexpr std::string_view Reasons[] = {"MissingAnnotation", "InvalidAnnotation", "UnapprovedAnnotation", "ApprovedAnnotation"};
    set(status, "KubernetesAPIApprovalPolicyConformant", approval->state == ApiApproval::State::Approved ? "True" : "False",
        Reasons[static_cast<int>(approval->state)], approval->message, now);
}

/// What releases wrote that neither evaluated rules in CEL nor called conversion webhooks.
void drop_outdated(CustomResourceDefinitionStatus& status) {
    std::erase_if(status.conditions, [](const auto& condition) {
        return condition.type == "ValidationRulesIgnored" || condition.type == "ConversionWebhookIgnored";
    });
}

}  // namespace

void TakenNames::add(const CustomResourceDefinition& definition) {
    const CustomResourceDefinitionNames& names = definition.status.accepted_names;
    resources.insert(names.plural);
    resources.insert(names.singular);
    resources.insert(names.short_names.begin(), names.short_names.end());
    kinds.insert(names.kind);
    kinds.insert(names.list_kind);
}

std::optional<ApiApproval> api_approval(const CustomResourceDefinition& definition) {
    if (!is_protected_group(definition.spec.group)) return {};
    constexpr std::string_view Required = "protected groups must have approval annotation \"api-approved.kubernetes.io\"",
                               See = ", see https://github.com/kubernetes/enhancements/pull/1111";
    const auto found = definition.metadata.annotations.find(std::string(ApprovalAnnotation));
    const std::string value = found == definition.metadata.annotations.end() ? "" : found->second;
    using enum ApiApproval::State;
    if (value.empty()) return ApiApproval{Missing, fmt::format("{}{}", Required, See)};
    if (value.starts_with("unapproved")) return ApiApproval{Bypassed, fmt::format("not approved: {}", quote(value))};
    if (is_url(value)) return ApiApproval{Approved, fmt::format("approved in {}", value)};
    return ApiApproval{Invalid, fmt::format("{} with either a URL or a reason starting with \"unapproved\"{}", Required, See)};
}

bool is_established(const CustomResourceDefinition& definition) {
    return objects::is_condition_true(definition.status.conditions, "Established");
}

CustomResourceDefinitionStatus settled_status(const CustomResourceDefinition& definition, const TakenNames& taken, Timestamp now) {
    CustomResourceDefinitionStatus status = definition.status;
    NameAcceptance acceptance;
    status.accepted_names = accepted(definition, taken, acceptance);
    const bool conflict = !acceptance.reason.empty();
    if (conflict)
        set(status, "NamesAccepted", "False", acceptance.reason, acceptance.message, now);
    else
        set(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    if (!conflict)
        set(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now);
    else if (!is_established(definition))
        set(status, "Established", "False", "NotAccepted", "not all names are accepted", now);
    set_approval(definition, status, now);
    drop_outdated(status);
    return status;
}

void set_terminating(CustomResourceDefinitionStatus& status, bool terminating, std::string_view reason, std::string_view message,
                     Timestamp now) {
    set(status, "Terminating", terminating ? "True" : "False", reason, message, now);
}

}  // namespace porthole::apiserver
