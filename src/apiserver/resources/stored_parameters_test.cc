#include "apiserver/resources/stored_parameters.h"

#include "api/core_v1.h"
#include "api/registry.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::ConfigMap;

struct StoredParametersTest : ObjectTest {
    void put_map(const std::string& name, std::size_t size = 1) {
        auto map = named<ConfigMap>("ns", name);
        map.data["k"] = std::string(size, 'x');
        put(map);
    }
    PolicyParameterPtr find(const std::string& name) {
        const auto found = parameters.find(ConfigMap::kind(), "ns", name);
        EXPECT_TRUE(found && *found) << name;
        EXPECT_EQ((*found)->name, name);
        return *found;
    }

    ResourceTable resources{api::registry(), {}, {}};
    StoredParameters parameters{api::registry(), resources, *store_};
};

// A parameter that is cached is the same object.
TEST_F(StoredParametersTest, SoManyAreCached) {
    for (int i = 0; i <= 256; ++i) put_map("p" + std::to_string(i));
    const auto first = find("p0");
    for (int i = 1; i < 256; ++i) find("p" + std::to_string(i));
    EXPECT_EQ(find("p0"), first);
    find("p256");
    EXPECT_NE(find("p0"), first) << "it was read again";
}

TEST_F(StoredParametersTest, SoManyBytesAreCached) {
    constexpr std::size_t MiB = 1 << 20;
    for (int i = 0; i < 17; ++i) put_map("p" + std::to_string(i), MiB - 1024);
    const auto first = find("p0");
    for (int i = 1; i < 16; ++i) find("p" + std::to_string(i));
    EXPECT_EQ(find("p0"), first);
    find("p16");
    EXPECT_NE(find("p0"), first);
}

TEST_F(StoredParametersTest, WhatHasChangedIsRead) {
    put_map("p");
    const auto first = find("p");
    put_map("p", 2);
    EXPECT_EQ(find("p")->object.string_at({"data", "k"}), "xx");
    EXPECT_EQ(first->object.string_at({"data", "k"}), "x");
}

}  // namespace
}  // namespace porthole::apiserver
