#include "objects/devices/device_selector.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::objects {
namespace {

DeviceView gpu() {
    return DeviceView("gpu.example.com", schema::decode_json<api::resource::v1::Device>(R"({"name": "gpu-0",
        "attributes": {"model": {"string": "a100"}, "healthy": {"bool": true}, "index": {"int": 3}, "driver": {"version": "1.10.0"},
                       "other.example.com/numa": {"int": 1}},
        "capacity": {"memory": {"value": "40Gi"}}})")
                                             .value());
}

TEST(DeviceSelector, SeesTheDevice) {
    struct {
        const char* expression;
        std::optional<bool> matches;
        std::string error;
    } const rows[] = {
        {R"(device.driver == "gpu.example.com")", true, ""},
        {R"(device.attributes["gpu.example.com"].model == "a100")", true, ""},
        {R"(device.attributes["gpu.example.com"].healthy)", true, ""},
        {R"(device.attributes["gpu.example.com"].index > 3)", false, ""},
        {R"(device.attributes["other.example.com"].numa == 1)", true, ""},
        {R"(device.attributes["gpu.example.com"].driver.isGreaterThan(semver("1.9.0")))", true, ""},
        {R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("64Gi")) >= 0)", false, ""},
        {R"(cel.bind(gpu, device.attributes["gpu.example.com"], gpu.healthy && gpu.index == 3))", true, ""},
        {R"(device.allowMultipleAllocations)", false, ""},
        {R"("absent.example.com" in device.attributes)", false, ""},
        {R"("model" in device.attributes["absent.example.com"])", false, ""},
        {R"(device.attributes["absent.example.com"].model == "a100")", std::nullopt, "no such key: model"},
        {R"(device.attributes["gpu.example.com"].absent)", std::nullopt, "no such key: absent"},
        {R"(device.attributes["gpu.example.com"].model)", std::nullopt, "CEL result of type string could not be converted to bool"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.expression);
        const DeviceSelector selector(row.expression);
        ASSERT_TRUE(selector.compiles()) << selector.problem();
        std::uint64_t cost = 0;
        const auto found = selector.matches(gpu(), cost);
        EXPECT_GT(cost, 0u);
        ASSERT_EQ(found.has_value(), row.matches.has_value()) << (found ? "" : found.error().message);
        if (found)
            EXPECT_EQ(*found, *row.matches);
        else
            EXPECT_EQ(found.error().message, row.error);
    }
}

TEST(DeviceSelector, ResultsInBoolOrAnAttribute) {
    EXPECT_EQ(DeviceSelector("1").problem(), "must evaluate to bool or the unknown type, not int");
    EXPECT_EQ(DeviceSelector("dyn(true)").problem(), "must evaluate to bool or the unknown type, not dyn");
    EXPECT_FALSE(DeviceSelector("device.gone").compiles());
    EXPECT_TRUE(DeviceSelector(R"(device.attributes["a"].b)").compiles());
}

TEST(DeviceSelector, StopsAtTheLimit) {
    const DeviceSelector selector(
        "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, "
        "[0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, true))))))");
    ASSERT_TRUE(selector.compiles()) << selector.problem();
    EXPECT_GT(selector.most_cost(), DeviceSelectorCost);
    std::uint64_t cost = 0;
    EXPECT_FALSE(selector.matches(gpu(), cost).has_value());
    EXPECT_EQ(cost, DeviceSelectorCost);
}

TEST(DeviceView, RefusesAnAttributeOfAnUnknownKind) {
    api::resource::v1::Device device;
    device.attributes["new"];
    std::uint64_t cost = 0;
    EXPECT_EQ(DeviceSelector("true").matches(DeviceView("d", device), cost).error().message, "attribute new: unsupported attribute value");
}

}  // namespace
}  // namespace porthole::objects
