#include "hns/wire/protocol.h"

#include <gtest/gtest.h>

#include "hns/hresult.h"
#include "hns/wire/host_file.h"

namespace porthole::hns::wire {
namespace {

TEST(HnsWireProtocol, PutsFramesTogetherFromPieces) {
    const std::string bytes = encode_frame(R"({"a":1})") + encode_frame("{}");
    EXPECT_EQ(bytes.substr(0, 4), std::string("\0\0\0\7", 4));
    FrameReader reader;
    std::string frames;
    for (const char byte : bytes) {
        reader.add(std::string_view(&byte, 1));
        const auto frame = reader.next();
        ASSERT_TRUE(frame);
        if (*frame) frames += **frame + " ";
    }
    EXPECT_EQ(frames, R"({"a":1} {} )");
}

TEST(HnsWireProtocol, RefusesAFrameThatIsTooLarge) {
    FrameReader reader;
    reader.add("\xff\xff\xff\xff");
    EXPECT_FALSE(reader.next());
}

TEST(HnsWireProtocol, KnowsEveryCallByName) {
    for (const char* name : {"HcnEnumerateNetworks", "HcnCreateEndpoint", "HcnOpenNamespace", "HcnQueryLoadBalancerProperties",
                             "HcnModifySdnRoute", "HcnDeleteNetwork"}) {
        const auto parsed = parse_call_name(name);
        ASSERT_TRUE(parsed) << name;
        EXPECT_EQ(write_call_name(*parsed), name);
    }
    for (const char* name : {"HcnCreate", "HcnEnumerateNetwork", "HcnQueryEndpoint", "HNSCall", "HcnCloseNetwork"})
        EXPECT_FALSE(parse_call_name(name)) << name;
}

TEST(HnsWireProtocol, CarriesDocumentsAndErrorsAsTheyAre) {
    const auto request = parse_request(write_request({.call = "HcnCreateNetwork", .document = R"({"Name":"ä\"b"})"}));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->document, R"({"Name":"ä\"b"})");
    const auto response = parse_response(write_response(failure(hresult_error(Hresult::NetworkNotFound))));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->hresult, 0x803b0001u);
    EXPECT_TRUE(is_object_missing(error_of_record(response->hresult, response->error)));
    EXPECT_FALSE(parse_request("{}"));
    EXPECT_FALSE(parse_response("[]"));
}

TEST(HnsWireProtocol, ReadsTheHostsFile) {
    const auto file = parse_host_file(write_host_file({"127.0.0.1:7001", "127.0.0.1:7002", "secret"}));
    ASSERT_TRUE(file);
    EXPECT_EQ(parse_host_and_port(file->hns)->port, 7001);
    EXPECT_FALSE(parse_host_file("{}"));
    for (const char* text : {"", "127.0.0.1", ":1", "a:", "a:0", "a:70000", "a:1x"}) EXPECT_FALSE(parse_host_and_port(text)) << text;
}

}  // namespace
}  // namespace porthole::hns::wire
