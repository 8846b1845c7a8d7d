#include "schema/protobuf/protobuf.h"

#include <gtest/gtest.h>

#include "api/apiextensions_v1.h"
#include "api/core_v1.h"
#include "api/cri_v1.h"
#include "api/registry.h"
#include "schema/compare.h"
#include "schema/json/json.h"
#include "schema/random_object.h"

namespace porthole::schema {
namespace {

namespace core = api::core::v1;
namespace cri = api::cri::v1;

/// One length-delimited field whose content is shorter than 128 bytes.
std::string field(int number, const std::string& content) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    if (number > 15) out = {static_cast<char>(((number << 3 | 2) & 0x7f) | 0x80), static_cast<char>(number >> 4)};
    return out + static_cast<char>(content.size()) + content;
}
std::string varint(int number, char value) { return {static_cast<char>(number << 3), value}; }

TEST(Protobuf, WritesAPodByHand) {
    core::Pod pod;
    pod.metadata.name = "web";
    pod.metadata.labels = {{"app", "x"}, {"tier", "y"}};
    pod.metadata.creation_timestamp = Timestamp::from_seconds(5);
    core::Container container;
    container.name = "c";
    container.resources.limits["cpu"] = Quantity::from_milli(500);
    container.ports.push_back({.container_port = 80});
    container.liveness_probe.emplace().http_get.emplace().port = IntOrString("http");
    pod.spec.containers.push_back(container);
    pod.spec.volumes.emplace_back().name = "v";
    pod.spec.volumes[0].empty_dir.emplace();
    pod.spec.automount_service_account_token = false;

    const std::string labels = field(11, field(1, "app") + field(2, "x")) + field(11, field(1, "tier") + field(2, "y"));
    const std::string time = field(8, varint(1, 5) + varint(2, 0));
    const std::string metadata = field(1, field(1, "web") + time + labels);
    const std::string volume = field(1, field(1, "v") + field(2, field(2, "")));
    const std::string limits = field(1, field(1, "cpu") + field(2, field(1, "500m")));
    const std::string port = field(2, varint(1, 1) + varint(2, 0) + field(3, "http"));
    const std::string probe = field(10, field(1, field(2, port)));
    const std::string ports = field(6, varint(3, 80));
    const std::string spec = field(2, volume + field(2, field(1, "c") + ports + field(8, limits) + probe) + std::string("\xa8\x01\x00", 3));
    const std::string message = metadata + spec;
    EXPECT_EQ(encode_protobuf(pod), message);

    const auto read = decode_protobuf<core::Pod>(message);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, pod);

    const std::string sealed = encode_enveloped(core::Pod::kind(), &pod);
    EXPECT_EQ(sealed.substr(0, 15), std::string("k8s\0", 4) + field(1, field(1, "v1") + field(2, "Pod")));
    const auto value = decode_enveloped(api::registry(), sealed);
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, to_value(pod));
}

TEST(Protobuf, ReadsWhatOthersWriteDifferently) {
    // Zero values written out, unknown fields, a repeated number packed, fields in another order.
    const std::string bytes = field(2, field(8, "")) + varint(15, 1) + field(1, field(2, "") + field(1, "n"));
    const auto pod = decode_protobuf<core::Pod>(bytes);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->metadata.name, "n");

    const auto packed = decode_protobuf<cri::LinuxContainerSecurityContext>(field(8, std::string("\x01\x02", 2)));
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->supplemental_groups, (std::vector<std::int64_t>{1, 2}));
    const auto unpacked = decode_protobuf<cri::LinuxContainerSecurityContext>(varint(8, 1) + varint(8, 2));
    ASSERT_TRUE(unpacked);
    EXPECT_EQ(*unpacked, *packed);
}

TEST(Protobuf, RefusesWhatIsBroken) {
    const struct {
        const char* name;
        std::string bytes;
    } rows[] = {
        {"truncated", std::string("\x0a\x05"
                                  "ab",
                                  4)},
        {"wrong wire type", varint(1, 1)},
        {"field number 0", std::string("\x02\x00", 2)},
        {"endless varint", std::string(12, '\xff')},
        {"bad quantity", field(2, field(2, field(8, field(1, field(1, "cpu") + field(2, field(1, "zz"))))))},
    };
    for (const auto& row : rows) {
        const auto pod = decode_protobuf<core::Pod>(row.bytes);
        ASSERT_FALSE(pod) << row.name;
        EXPECT_EQ(pod.error().reason, Reason::BadRequest);
    }
    EXPECT_FALSE(decode_enveloped(api::registry(), "k8s"));
    EXPECT_FALSE(decode_enveloped(api::registry(), seal_envelope("v9", "Pod", "")));
}

TEST(Protobuf, KnowsOptionsUnderEveryGroup) {
    const auto options = decode_enveloped(api::registry(), seal_envelope("apps/v1", "DeleteOptions", field(4, "Orphan")));
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(to_json(*options), R"({"apiVersion":"apps/v1","kind":"DeleteOptions","propagationPolicy":"Orphan"})");
    EXPECT_FALSE(decode_enveloped(api::registry(), seal_envelope("apps/v1", "Pod", "")));
}

TEST(Protobuf, RefusesWhatTakesFarMoreMemoryThanItsBytes) {
    const auto pod_of = [](std::size_t containers) {
        std::string spec;
        for (std::size_t i = 0; i < containers; ++i) spec += std::string("\x12\x00", 2);
        std::string out = "\x12";
        for (std::size_t rest = spec.size(); rest > 0; rest >>= 7) out += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        return seal_envelope("v1", "Pod", out + spec);
    };
    EXPECT_TRUE(decode_enveloped(api::registry(), pod_of(50'000)));
    const auto refused = decode_enveloped(api::registry(), pod_of(1'500'000));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "the object takes too much memory");
}

TEST(Protobuf, SurvivesDeepNesting) {
    api::apiextensions::v1::JSONSchemaProps deep;
    for (int i = 0; i < 100; ++i) {
        api::apiextensions::v1::JSONSchemaProps outer;
        outer.not_ = std::move(deep);
        deep = std::move(outer);
    }
    const auto read = decode_protobuf<api::apiextensions::v1::JSONSchemaProps>(encode_protobuf(deep));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, deep);
}

/// A ControllerRevision whose data is one, and so on, as many as `count`.
std::string revisions_within_revisions(int count) {
    const auto long_field = [](char tag, const std::string& content) {
        const std::size_t size = content.size();
        const auto seven_bits = [&](int shift) { return static_cast<char>((size >> shift & 0x7f) | (shift < 14 ? 0x80 : 0)); };
        return std::string{tag, seven_bits(0), seven_bits(7), seven_bits(14)} + content;
    };
    std::string bytes = "1";
    for (int i = 0; i < count; ++i) bytes = seal_envelope("apps/v1", "ControllerRevision", long_field(0x12, long_field(0x0a, bytes)));
    return bytes;
}

TEST(Protobuf, ReadsObjectsWithinObjectsToALimit) {
    const auto read = decode_enveloped(api::registry(), revisions_within_revisions(3));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read->at_path({"data", "data", "data"}), Value(1));
    EXPECT_EQ(decode_enveloped(api::registry(), revisions_within_revisions(1000)).error().reason, Reason::BadRequest);
}

template <class Message>
void expect_round_trip() {
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
        const Instance before = RandomObject(seed).make(Message::schema_type());
        const auto& message = *static_cast<const Message*>(before.get());
        const auto read = decode_protobuf<Message>(encode_protobuf(message));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, message) << encode_json(message);
    }
}

TEST(Protobuf, SurvivesAsContainerRuntimeMessages) {
    expect_round_trip<cri::RunPodSandboxRequest>();
    expect_round_trip<cri::CreateContainerRequest>();
    expect_round_trip<cri::ContainerStatusResponse>();
    expect_round_trip<cri::ListContainersResponse>();
    expect_round_trip<cri::ListContainerStatsResponse>();
    expect_round_trip<cri::ImageStatusResponse>();
    expect_round_trip<cri::StatusResponse>();
}

TEST(ContainerRuntime, NamesItsMethods) {
    EXPECT_STREQ(cri::RuntimeService::RunPodSandbox.path, "/runtime.v1.RuntimeService/RunPodSandbox");
    EXPECT_EQ(static_cast<int>(cri::ContainerState::ContainerExited), 2);
}

}  // namespace
}  // namespace porthole::schema
