#include "hns/features.h"

#include <gtest/gtest.h>

namespace porthole::hns {
namespace {

// HNS-09: by the service's version, never by the name of the system.
TEST(HnsFeatures, FollowTheVersion) {
    const struct {
        HnsVersion version;
        bool api_v2, dsr, l4_proxy, dual_stack, affinity, set_policy, modify;
    } rows[] = {
        {{0, 0}, false, false, false, false, false, false, false}, {{9, 1}, false, false, false, false, false, false, false},
        {{9, 2}, true, false, false, false, false, false, false},  {{9, 5}, true, true, true, false, false, false, false},
        {{10, 1}, true, false, false, false, false, false, false}, {{10, 2}, true, true, false, false, false, false, false},
        {{11, 10}, true, true, false, true, false, false, false},  {{11, 11}, true, true, true, true, false, false, false},
        {{12, 0}, true, true, false, true, true, false, false},    {{13, 0}, true, true, false, true, true, true, false},
        {{15, 4}, true, true, true, true, true, true, true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.version.to_string());
        const Features features = features_of(row.version);
        EXPECT_EQ(features.api_v2, row.api_v2);
        EXPECT_EQ(features.direct_server_return, row.dsr);
        EXPECT_EQ(features.l4_proxy, row.l4_proxy);
        EXPECT_EQ(features.dual_stack, row.dual_stack);
        EXPECT_EQ(features.session_affinity, row.affinity);
        EXPECT_EQ(features.set_policy, row.set_policy);
        EXPECT_EQ(features.modify_load_balancer, row.modify);
    }
}

}  // namespace
}  // namespace porthole::hns
