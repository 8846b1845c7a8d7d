#include "base/base64.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(Base64, GoesBothWays) {
    struct {
        std::string_view bytes, text;
    } const rows[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {std::string_view("\0\xff\x10", 3), "AP8Q"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(encode_base64(row.bytes), row.text);
        EXPECT_EQ(decode_base64(row.text).value(), row.bytes);
    }
    EXPECT_EQ(decode_base64("Zm\n9v\r\n").value(), "foo");
}

TEST(Base64, SaysWhereItIsIllegal) {
    struct {
        const char* text;
        const char* message;
    } const rows[] = {
        {"Zg=", "illegal base64 data at input byte 3"},   {"Z", "illegal base64 data at input byte 1"},
        {"Zm9v!", "illegal base64 data at input byte 4"}, {"Zg==Zg", "illegal base64 data at input byte 4"},
        {"=", "illegal base64 data at input byte 0"},
    };
    for (const auto& row : rows) {
        const auto bytes = decode_base64(row.text);
        ASSERT_FALSE(bytes) << row.text;
        EXPECT_EQ(bytes.error().message, row.message);
    }
}

TEST(Base64, TheFormForUrlsHasNoPadding) {
    struct {
        std::string_view bytes, text;
    } const rows[] = {{"", ""}, {"f", "Zg"}, {"\xfb\xff\xfe", "-__-"}};
    for (const auto& row : rows) {
        EXPECT_EQ(encode_base64url(row.bytes), row.text);
        EXPECT_EQ(decode_base64url(row.text).value(), row.bytes);
    }
    for (const char* text : {"Zg==", "+//+", "Z", "Zm\n9v"}) EXPECT_FALSE(decode_base64url(text)) << text;
}

}  // namespace
}  // namespace porthole
