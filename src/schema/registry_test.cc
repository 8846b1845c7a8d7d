#include "schema/registry.h"

#include <gtest/gtest.h>

#include <deque>

namespace porthole::schema {
namespace {

/// Kinds of the run time, one for each version that is added.
struct RegistryTest : testing::Test {
    void add(std::string version) {
        const std::string& kept = names.emplace_back(std::move(version));
        Kind& kind = kinds.emplace_back();
        kind.group = "example.com";
        kind.version = kept;
        kind.kind = "Website";
        kind.plural = "websites";
        kind.flags = Kind::Resource;
        kind.type = &type;
        registry.add(kind);
    }

    Type type;
    std::deque<std::string> names;
    std::deque<Kind> kinds;
    Registry registry;
};

TEST_F(RegistryTest, TheStableAndNewestVersionOfACustomGroupIsPreferred) {
    for (const char* version : {"v1beta1", "other", "v2", "v1", "v1alpha1", "v10", "v1beta2"}) add(version);
    EXPECT_EQ(registry.versions("example.com"), (std::vector<std::string>{"v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "other"}));
    registry.remove(kinds[2]);
    add("v1");
    EXPECT_EQ(registry.versions("example.com"), (std::vector<std::string>{"v10", "v1", "v1beta2", "v1beta1", "v1alpha1", "other"}));
}

TEST_F(RegistryTest, ManyVersionsAreNotSortedWithEach) {
    constexpr int Many = 5'000;
    for (int i = 0; i < Many; ++i) add("v" + std::to_string(1 + i * 7919 % Many));
    EXPECT_EQ(registry.versions("example.com").front(), "v" + std::to_string(Many));
    EXPECT_EQ(registry.versions("example.com").back(), "v1");
}

}  // namespace
}  // namespace porthole::schema
