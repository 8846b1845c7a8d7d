#include "winhost/tools/service_recovery.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

using Action = RecoveryPlan::Action;

std::string value(std::uint32_t reset, std::initializer_list<std::uint32_t> steps) {
    std::string bytes;
    const auto put = [&](std::uint32_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
    for (const std::uint32_t number : {reset, 0u, 0u, static_cast<std::uint32_t>(steps.size() / 2), 20u}) put(number);
    for (const std::uint32_t number : steps) put(number);
    return bytes;
}

// KBL-27
TEST(ServiceRecovery, EachFailureHasItsStepAndTheLastStays) {
    const auto plan = RecoveryPlan::parse(value(60, {1, 5'000, 1, 10'000, 1, 30'000}));
    ASSERT_TRUE(plan);
    FailureCounter counter;
    EXPECT_EQ(counter.failed(L"kubelet", *plan, 1'000).delay_ms, 5'000u);
    EXPECT_EQ(counter.failed(L"kubelet", *plan, 2'000).delay_ms, 10'000u);
    EXPECT_EQ(counter.failed(L"flanneld", *plan, 2'000).delay_ms, 5'000u) << "each service counts for itself";
    EXPECT_EQ(counter.failed(L"kubelet", *plan, 3'000).delay_ms, 30'000u);
    EXPECT_EQ(counter.failed(L"kubelet", *plan, 4'000).delay_ms, 30'000u);
    EXPECT_EQ(counter.failed(L"kubelet", *plan, 64'001).delay_ms, 5'000u) << "a minute without a failure";
}

TEST(ServiceRecovery, NeverForgetsWhereToldSo) {
    const auto plan = RecoveryPlan::parse(value(0xFFFFFFFF, {1, 1'000, 0, 0}));
    FailureCounter counter;
    EXPECT_EQ(counter.failed(L"a", *plan, 0).action, Action::Restart);
    EXPECT_EQ(counter.failed(L"a", *plan, std::uint64_t{1} << 50).action, Action::None);
}

TEST(ServiceRecovery, NothingIsDoneWithoutSteps) {
    const auto plan = RecoveryPlan::parse(value(60, {}));
    EXPECT_EQ(FailureCounter().failed(L"a", *plan, 1).action, Action::None);
}

TEST(ServiceRecovery, RefusesOtherValues) {
    EXPECT_FALSE(RecoveryPlan::parse("short"));
    EXPECT_FALSE(RecoveryPlan::parse(value(60, {1, 5'000, 1, 10'000}).substr(0, 30)));
}

}  // namespace
}  // namespace porthole::winhost
