#include "net/tls/tls_policy.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

TEST(TlsPolicy, IsSaidByUpstreamsFlags) {
    const auto none = TlsPolicy::parse("", {});
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->only_tls13);
    EXPECT_EQ(none->tls12_ciphers, "");
    EXPECT_TRUE(TlsPolicy::parse("VersionTLS13", {})->only_tls13);
    EXPECT_FALSE(TlsPolicy::parse("VersionTLS12", {})->only_tls13);
    const auto two = TlsPolicy::parse(
        "", {"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"});
    ASSERT_TRUE(two) << two.error().message;
    EXPECT_EQ(two->tls12_ciphers, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305");
}

TEST(TlsPolicy, RefusesWhatIsWeakOrUnknown) {
    EXPECT_EQ(TlsPolicy::parse("VersionTLS11", {}).error().message,
              "--tls-min-version: \"VersionTLS11\" is neither VersionTLS12 nor VersionTLS13");
    EXPECT_TRUE(TlsPolicy::parse("", {"TLS_RSA_WITH_AES_128_CBC_SHA"}).error().message.contains("is not one of"));
    // A server of TLS 1.2 that has no cipher for it serves nobody of that version.
    EXPECT_FALSE(TlsPolicy::parse("", {"TLS_AES_128_GCM_SHA256"}));
    EXPECT_TRUE(TlsPolicy::parse("VersionTLS13", {"TLS_AES_128_GCM_SHA256"}));
}

}  // namespace
}  // namespace porthole::net
