#include "net/detached_jws.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

// Computed with Python's hmac and base64: header {"alg":"HS256","kid":"abcdef"}, payload "hello", key "0123456789abcdef".
constexpr const char* Known = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..MxsnbCjBaYzcbNIFa06F-wuF9LX26rhMlrL4zA1511s";

TEST(DetachedJws, SignsAsOthersDo) { EXPECT_EQ(sign_detached_jws("hello", "abcdef", "0123456789abcdef"), Known); }

TEST(DetachedJws, HoldsOnlyForThePayloadKeyAndIdItWasMadeWith) {
    EXPECT_TRUE(verify_detached_jws(Known, "hello", "abcdef", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hallo", "abcdef", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hello", "abcdeg", "0123456789abcdef"));
    EXPECT_FALSE(verify_detached_jws(Known, "hello", "abcdef", "0123456789abcdeg"));
    EXPECT_FALSE(verify_detached_jws("", "hello", "abcdef", "0123456789abcdef"));
}

}  // namespace
}  // namespace porthole::net
