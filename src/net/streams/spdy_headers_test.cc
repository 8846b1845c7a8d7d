#include "net/streams/spdy_headers.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

TEST(SpdyHeaders, ReadsWhatAnotherImplementationPacked) {
    // By Python's zlib with the dictionary of the SPDY/3 draft; the bytes 2 to 5 are its Adler-32.
    const std::string block(
        "\x78\xbb\xe3\xc6\xa7\xc2\x02\xe5\x0e\x70\x3a\x2b\x29\x4a\x4d\xcc\x45\x2a\x4a\x12\x21\xa5\x72\x11\x38\x03\x58"
        "\x18\x58\x18\x00\x00\x00\x00\xff\xff",
        36);
    const auto headers = SpdyHeaderReader().read(block);
    ASSERT_TRUE(headers) << headers.error().message;
    EXPECT_EQ(headers->get("streamtype"), "data");
    EXPECT_EQ(headers->get("port"), "8080");
}

TEST(SpdyHeaders, KeepsOnePackingStateForAllBlocks) {
    SpdyHeaderWriter writer;
    SpdyHeaderReader reader;
    const Headers headers{{"streamtype", "error"}, {"requestid", "1"}, {"requestid", "2"}};
    const std::string first = writer.write(headers), second = writer.write(headers);
    EXPECT_LT(second.size(), first.size());
    EXPECT_EQ(reader.read(first)->fields(), headers.fields());
    EXPECT_EQ(reader.read(second)->fields(), headers.fields());
    EXPECT_FALSE(reader.read("nonsense"));
}

TEST(SpdyHeaders, RefusesABlockThatUnpacksToTooMuch) {
    const std::string block = SpdyHeaderWriter().write({{"a", std::string(200'000, 'x')}});
    EXPECT_LT(block.size(), 1000u);
    EXPECT_FALSE(SpdyHeaderReader().read(block));
}

TEST(SpdyHeaders, RefusesManyValuesOfALongName) {
    const auto with_values = [](std::size_t count) {
        return SpdyHeaderReader().read(SpdyHeaderWriter().write({{std::string(30'000, 'a'), std::string(count - 1, '\0')}}));
    };
    EXPECT_EQ(with_values(2)->fields().size(), 2u);
    EXPECT_FALSE(with_values(30'000)) << "which would be 900 MB";
}

}  // namespace
}  // namespace porthole::net
