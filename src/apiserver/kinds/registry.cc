#include "apiserver/kinds/registry.h"

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

Strategy plain(std::string_view group, std::string_view kind, Generation generation, bool create_on_update = false,
               bool unconditional_update = true) {
    Strategy strategy{.group = group, .kind = kind};
    strategy.generation = generation;
    strategy.create_on_update = create_on_update;
    strategy.unconditional_update = unconditional_update;
    return strategy;
}

Strategy with_name_rule(Strategy strategy, names::NameRule rule) {
    strategy.name_rule = rule;
    return strategy;
}

}  // namespace

std::vector<Strategy> kind_strategies(const KindEnvironment& environment) {
    return {
        service_strategy(environment.services),
#define PORTHOLE_KIND(name) name##_strategy(),
#include "apiserver/kinds/kinds.def"
#undef PORTHOLE_KIND
        // What differs from the usual in nothing but the generation and in how it is updated.
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", Generation::OnSpecChange, false, false),
        plain("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", Generation::OnSpecChange, false, false),
        with_name_rule(plain("apiregistration.k8s.io", "APIService", Generation::None, false, false), names::NameRule::PathSegment),
    };
}

Conversions kind_conversions() {
    return {{"events.k8s.io/v1/Event", event_conversion()}, {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
}

}  // namespace porthole::apiserver
