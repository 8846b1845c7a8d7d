#include "apiserver/kinds/registry.h"

#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
std::vector<Strategy> kind_strategies(const KindEnvironment& environment) {
    return {
        service_strategy(environment.services),
#define PORTHOLE_KIND(name) name##_strategy(),
#include "apiserver/kinds/kinds.def"
#undef PORTHOLE_KIND
    };
}

Conversions kind_conversions() {
    Conversions conversions = {{"events.k8s.io/v1/Event", event_conversion()},
                               {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
    for (const char* kind : {"DaemonSet", "Deployment", "ReplicaSet"})
        conversions.emplace(std::string("extensions/v1beta1/") + kind, extensions_conversion());
    return conversions;
}

}  // namespace porthole::apiserver
