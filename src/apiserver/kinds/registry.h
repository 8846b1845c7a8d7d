#pragma once
#include <vector>

#include "apiserver/strategy/conversion.h"
#include "apiserver/strategy/strategy.h"

namespace porthole::apiserver {

class ServiceAllocator;

/// What strategies need in addition to the objects; outlives them.
struct KindEnvironment {
    ServiceAllocator& services;
};

/// Every kind with a strategy of its own. All others are served from their tables alone.
std::vector<Strategy> kind_strategies(const KindEnvironment& environment);
/// The kinds whose versions differ in more than their apiVersion.
Conversions kind_conversions();

}  // namespace porthole::apiserver
