#pragma once
#include "apiserver/strategy/conversion.h"
#include "apiserver/strategy/strategy.h"

/// The strategy of each kind of kinds.def.
namespace porthole::apiserver {

class ServiceAllocator;

#define PORTHOLE_KIND(name) Strategy name##_strategy();
#include "apiserver/kinds/kinds.def"
#undef PORTHOLE_KIND

Strategy service_strategy(ServiceAllocator& allocator);

Conversion event_conversion();
Conversion autoscaler_conversion();
Conversion extensions_conversion();

}  // namespace porthole::apiserver
