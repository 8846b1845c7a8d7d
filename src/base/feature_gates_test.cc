#include "base/feature_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// API-10
TEST(FeatureGates, API10_AnUnknownGateIsAnErrorWithItsName) {
    EXPECT_THAT(read_feature_gates({{"WinOverlai", "true"}}, {"WinOverlay"}).error().message,
                HasSubstr("unrecognized feature gate: WinOverlai"));
    EXPECT_THAT(read_feature_gates({{"WinOverlay", "yes"}}, {"WinOverlay"}).error().message, HasSubstr("invalid value of WinOverlay: yes"));
    EXPECT_FALSE(read_feature_gates({{"WinOverlay", ""}}, {"WinOverlay"}));
}

// API-10
TEST(FeatureGates, API10_WhatHasBecomePermanentIsTakenWithAWarning) {
    for (const char* name : {"IPv6DualStack", "WindowsEndpointSliceProxying", "WindowsHostProcessContainers", "IdentifyPodOS"}) {
        const auto gates = read_feature_gates({{name, "true"}}, {});
        ASSERT_TRUE(gates) << name;
        EXPECT_THAT(gates->warnings, ElementsAre(HasSubstr(std::string(name) + "=true has no effect: it is permanent")));
    }
    EXPECT_THAT(read_feature_gates({{"HyperVContainer", "true"}}, {})->warnings, ElementsAre(HasSubstr("was removed")));
    EXPECT_THAT(read_feature_gates({{"AllAlpha", "true"}}, {})->warnings, ElementsAre(HasSubstr("is not used by this component")));
}

TEST(FeatureGates, WhatAComponentActsOnIsAsSetOrAsUsual) {
    const FeatureGates gates = *read_feature_gates({{"WinDSR", "False"}, {"WinOverlay", "1"}}, {"WinDSR", "WinOverlay"});
    EXPECT_FALSE(gates.on("WinDSR", true));
    EXPECT_TRUE(gates.on("WinOverlay", false));
    EXPECT_TRUE(gates.on("IdentifyPodOS", true));
    EXPECT_THAT(gates.warnings, IsEmpty());
}

}  // namespace
}  // namespace porthole
