#include "apiserver/kinds/registry.h"

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

KindRules plain(std::string_view group, std::string_view kind, Generation generation, bool create_on_update = false,
                bool unconditional_update = true) {
    KindRules rules{.group = group, .kind = kind};
    rules.generation = generation;
    rules.create_on_update = create_on_update;
    rules.unconditional_update = unconditional_update;
    return rules;
}

KindRules with_name_rule(KindRules rules, names::NameRule rule) {
    rules.name_rule = rule;
    return rules;
}

}  // namespace

std::vector<KindRules> kind_rules(const KindEnvironment& environment) {
    return {
        service_rules(environment.services),
#define PORTHOLE_KIND(name) name##_rules(),
#include "apiserver/kinds/kinds.def"
#undef PORTHOLE_KIND
        // What differs from the usual in nothing but the generation and in how it is updated.
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("apiextensions.k8s.io", "CustomResourceDefinition", Generation::OnSpecChange, false, false),
        with_name_rule(plain("apiregistration.k8s.io", "APIService", Generation::None, false, false), names::NameRule::PathSegment),
        plain("flowcontrol.apiserver.k8s.io", "FlowSchema", Generation::OnSpecChange),
        plain("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", Generation::OnSpecChange),
    };
}

Conversions kind_conversions() {
    return {{"events.k8s.io/v1/Event", event_conversion()}, {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
}

}  // namespace porthole::apiserver
