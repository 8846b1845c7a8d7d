#include "objects/resource_claims.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using namespace api::core::v1;

TEST(ResourceClaimNames, AreThoseOfTheEntriesOrOfThePodsStatus) {
    Pod pod;
    pod.spec.resource_claims = {{.name = "shared", .resource_claim_name = "claim"},
                                {.name = "made", .resource_claim_template_name = "template"},
                                {.name = "needless", .resource_claim_template_name = "template"},
                                {.name = "new", .resource_claim_template_name = "template"}};
    pod.status.resource_claim_statuses = {
        {.name = "made", .resource_claim_name = "p-made-1"}, {.name = "needless"}, {.name = "other", .resource_claim_name = "x"}};
    const auto names = resource_claim_names(pod);
    EXPECT_EQ(names.size(), 4u);
    EXPECT_EQ(names.at("shared"), "claim");
    EXPECT_EQ(names.at("made"), "p-made-1");
    EXPECT_EQ(names.at("needless"), "") << "none is needed";
    EXPECT_EQ(names.at("new"), std::nullopt);
}

TEST(ResourceClaimNames, OfManyEntriesTakeLinearTime) {
    constexpr int Many = 20'000;
    Pod pod;
    for (int i = 0; i < Many; ++i) {
        const std::string number = std::to_string(i);
        pod.spec.resource_claims.emplace_back() = {.name = "e" + number, .resource_claim_template_name = "t"};
        pod.status.resource_claim_statuses.emplace_back() = {.name = "e" + number, .resource_claim_name = "c" + number};
    }
    const auto names = resource_claim_names(pod);
    EXPECT_EQ(names.size(), std::size_t{Many});
    EXPECT_EQ(names.at("e19999"), "c19999");
}

}  // namespace
}  // namespace porthole::objects
