// Random objects of every kind, applied and withdrawn.
#include <gtest/gtest.h>

#include "api/registry.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/patch/apply.h"
#include "schema/random_object.h"

namespace porthole::schema {
namespace {

Value random_object(const Kind& kind, std::uint32_t seed) {
    Value object = to_value(kind, RandomObject(seed).make(*kind.type).get());
    if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
    return object;
}

/// What is left of an object beside what nobody can own.
Value owned_part(const Kind& kind, Value object) {
    object.erase("apiVersion");
    object.erase("kind");
    if (kind.is(Kind::HasStatus)) object.erase("status");
    if (Value* metadata = object.find("metadata")) {
        for (const char* name :
             {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion"}) {
            metadata->erase(name);
        }
        if (metadata->as_object().empty()) object.erase("metadata");
    }
    return object;
}

TEST(ApplyRandom, TwiceIsOnceAndWithdrawingLeavesNothing) {
    int applied = 0;
    for (const Kind* kind : api::registry().kinds()) {
        if (!kind->is(Kind::Resource) || !kind->storage_version.size()) continue;
        for (std::uint32_t seed = 1; seed <= 2; ++seed) {
            SCOPED_TRACE(std::string(kind->kind) + " seed " + std::to_string(seed));
            const FieldManager one{"one", kind->api_version(), "", Timestamp::from_seconds(1)};
            const FieldManager two{"two", kind->api_version(), "", Timestamp::from_seconds(2)};
            const Value a = random_object(*kind, seed), b = random_object(*kind, seed + 1000), nothing = Value::object();
            const auto created = server_side_apply(*kind, Value(), a, one, false);
            if (!created) continue;  // a random list has a key twice
            const auto both = server_side_apply(*kind, *created, b, two, true);
            if (!both) continue;
            ++applied;
            const auto again = server_side_apply(*kind, *both, b, two, false);
            ASSERT_TRUE(again) << again.error().message;
            EXPECT_EQ(to_json(*again), to_json(*both));
            const auto without_one = server_side_apply(*kind, *both, nothing, one, false);
            ASSERT_TRUE(without_one) << without_one.error().message;
            // What the second manager applied is all still there.
            const auto confirmed = server_side_apply(*kind, *without_one, b, two, false);
            ASSERT_TRUE(confirmed) << confirmed.error().message;
            EXPECT_EQ(to_json(*confirmed), to_json(*without_one));
            const auto empty = server_side_apply(*kind, *without_one, nothing, two, false);
            ASSERT_TRUE(empty) << empty.error().message;
            EXPECT_EQ(to_json(owned_part(*kind, *empty)), "{}");
        }
    }
    EXPECT_GT(applied, 80);
}

}  // namespace
}  // namespace porthole::schema
