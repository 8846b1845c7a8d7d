#include "apiserver/custom_resources/definition_status.h"

#include <algorithm>

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
        for (const std::string& name : wanted) {
            const bool own = std::ranges::find(present, name) != present.end();
            if (!own && taken.contains(name)) conflicts.push_back(fmt::format("{} is already in use", quote(name)));
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

void set_approval(const CustomResourceDefinition& definition, CustomResourceDefinitionStatus& status, Timestamp now) {
    const std::string& group = definition.spec.group;
    if (!group.ends_with(".k8s.io") && !group.ends_with(".kubernetes.io")) return;
    constexpr std::string_view Type = "KubernetesAPIApprovalPolicyConformant";
    const auto found = definition.metadata.annotations.find("api-approved.kubernetes.io");
    if (found == definition.metadata.annotations.end()) {
        set(status, Type, "False", "MissingAnnotation",
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
            "https://github.com/kubernetes/enhancements/pull/1111",
            now);
    } else if (found->second.starts_with("unapproved")) {
        set(status, Type, "False", "UnapprovedAnnotation", fmt::format("not approved: {}", quote(found->second)), now);
    } else {
        set(status, Type, "True", "ApprovedAnnotation", fmt::format("approved in {}", found->second), now);
    }
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
