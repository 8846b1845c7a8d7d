#pragma once
#include "apiserver/rules/conversion.h"
#include "apiserver/rules/kind_rules.h"

/// The rules of each kind of kinds.def.
namespace porthole::apiserver {

class ServiceAllocator;

#define PORTHOLE_KIND(name) KindRules name##_rules();
#include "apiserver/kinds/kinds.def"
#undef PORTHOLE_KIND

KindRules service_rules(ServiceAllocator& allocator);

Conversion event_conversion();
Conversion autoscaler_conversion();

}  // namespace porthole::apiserver
