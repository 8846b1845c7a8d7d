#include "base/proxy_hint.h"

#include <gtest/gtest.h>

#include <string_view>

namespace porthole {
namespace {

const char* unset(const char*) { return nullptr; }
const char* set_for_https(const char* name) { return std::string_view(name) == "HTTPS_PROXY" ? "http://proxy.example.com:443/" : nullptr; }

// TRB-15
TEST(ProxyHint, TRB15_UnsetVariablesAreNamedWhereNoConnectionCouldBeMade) {
    const std::string dial = "failed to do request: Head \"https://mcr.microsoft.com/v2/\": dial tcp 204.79.197.219:443: i/o timeout";
    const std::string told = with_proxy_hint(dial, unset);
    EXPECT_TRUE(told.starts_with(dial));
    EXPECT_TRUE(told.contains("HTTP_PROXY and HTTPS_PROXY are not set"));
    EXPECT_TRUE(with_proxy_hint("connectex: No connection could be made", unset).contains("HTTPS_PROXY"));
    EXPECT_EQ(with_proxy_hint(dial, set_for_https), dial);
    const std::string other = "manifest unknown: the tag does not exist";
    EXPECT_EQ(with_proxy_hint(other, unset), other);
}

}  // namespace
}  // namespace porthole
