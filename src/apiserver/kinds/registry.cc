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
    return {{"events.k8s.io/v1/Event", event_conversion()}, {"autoscaling/v1/HorizontalPodAutoscaler", autoscaler_conversion()}};
}

}  // namespace porthole::apiserver
