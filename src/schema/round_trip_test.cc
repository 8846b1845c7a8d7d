#include <gtest/gtest.h>

#include "api/registry.h"
#include "schema/compare.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/random_object.h"

namespace porthole::schema {
namespace {

class EveryKind : public testing::TestWithParam<const Kind*> {};
INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryKind, testing::ValuesIn(api::kinds().begin(), api::kinds().end()), [](const auto& info) {
    std::string name = std::string(info.param->type->package->directory) + "_" + std::string(info.param->kind);
    for (char& c : name) c = c == '/' ? '_' : c;
    return name;
});

constexpr std::uint32_t Seeds = 3;

TEST_P(EveryKind, SurvivesTheTree) {
    const Type& type = *GetParam()->type;
    for (std::uint32_t seed = 0; seed < Seeds; ++seed) {
        SCOPED_TRACE(seed);
        const Instance before = RandomObject(seed).make(type);
        Instance after(type);
        const auto read = from_value(type, after.get(), to_value(type, before.get()));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(equal(type, before.get(), after.get())) << to_json(to_value(type, before.get())) << "\n"
                                                            << to_json(to_value(type, after.get()));
    }
}

TEST_P(EveryKind, IsTheSameInJsonDirectlyAndByTheTree) {
    const Kind& kind = *GetParam();
    for (std::uint32_t seed = 0; seed < Seeds; ++seed) {
        SCOPED_TRACE(seed);
        const Instance object = RandomObject(seed).make(*kind.type);
        std::string direct;
        append_json(kind, object.get(), direct);
        EXPECT_EQ(direct, to_json(to_value(kind, object.get())));
        const auto parsed = parse_json(direct);
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_EQ(*parsed, to_value(kind, object.get()));
    }
}

TEST_P(EveryKind, IsReadStraightFromJson) {
    const Kind& kind = *GetParam();
    for (std::uint32_t seed = 0; seed < Seeds; ++seed) {
        SCOPED_TRACE(seed);
        const Instance before = RandomObject(seed).make(*kind.type);
        std::string json;
        append_json(kind, before.get(), json);
        Instance after(*kind.type);
        const auto read = decode_json(*kind.type, after.get(), json);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(equal(*kind.type, before.get(), after.get())) << json << "\n" << to_json(to_value(kind, after.get()));
    }
}

TEST_P(EveryKind, SurvivesProtobuf) {
    const Kind& kind = *GetParam();
    if (kind.kind == "Table") GTEST_SKIP() << "has no protobuf form";
    for (std::uint32_t seed = 0; seed < Seeds; ++seed) {
        SCOPED_TRACE(seed);
        const Instance before = RandomObject(seed).make(*kind.type);
        Instance after(*kind.type);
        const auto read = decode_protobuf(*kind.type, after.get(), encode_protobuf(*kind.type, before.get()));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(equal(*kind.type, before.get(), after.get())) << to_json(to_value(kind, before.get())) << "\n"
                                                                  << to_json(to_value(kind, after.get()));
    }
}

TEST_P(EveryKind, SurvivesTheEnvelopeAsATree) {
    const Kind& kind = *GetParam();
    if (kind.kind == "Table") GTEST_SKIP() << "has no protobuf form";
    const Value before = to_value(kind, RandomObject(7).make(*kind.type).get());
    const auto bytes = encode_enveloped(kind, before);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto after = decode_enveloped(api::registry(), *bytes);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(*after, before) << to_json(*after) << "\n" << to_json(before);
}

}  // namespace
}  // namespace porthole::schema
