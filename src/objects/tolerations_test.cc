#include "objects/tolerations.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using api::core::v1::Taint;
using api::core::v1::Toleration;

TEST(Tolerations, CoverTaintsAsUpstreamDoes) {
    const Taint taint{.key = "dedicated", .value = "db", .effect = "NoSchedule"};
    const struct {
        const char* name;
        Toleration toleration;
        bool expected;
    } rows[] = {
        {"equal", {.key = "dedicated", .operator_ = "Equal", .value = "db"}, true},
        {"equal is the default", {.key = "dedicated", .value = "db"}, true},
        {"another value", {.key = "dedicated", .value = "web"}, false},
        {"any value", {.key = "dedicated", .operator_ = "Exists"}, true},
        {"another key", {.key = "gpu", .operator_ = "Exists"}, false},
        {"every taint", {.operator_ = "Exists"}, true},
        {"any key with this value", {.value = "db"}, true},
        {"no key and no operator", {}, false},
        {"this effect", {.key = "dedicated", .operator_ = "Exists", .effect = "NoSchedule"}, true},
        {"another effect", {.key = "dedicated", .operator_ = "Exists", .effect = "NoExecute"}, false},
        {"comparison", {.key = "dedicated", .operator_ = "Gt", .value = "db"}, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(tolerates(row.toleration, taint), row.expected);
    }
}

TEST(Tolerations, OneOfSeveralIsEnough) {
    const Taint taint{.key = "a", .effect = "NoExecute"};
    const std::vector<Toleration> tolerations{{.key = "b", .operator_ = "Exists"}, {.key = "a", .operator_ = "Exists"}};
    EXPECT_TRUE(tolerates(tolerations, taint));
    EXPECT_FALSE(tolerates(std::vector<Toleration>{}, taint));
}

}  // namespace
}  // namespace porthole::objects
