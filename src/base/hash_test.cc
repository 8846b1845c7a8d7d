#include "base/hash.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

// The expected values are of the test vectors of the FNV Internet-Draft.
TEST(Hash, AgreesWithThePublishedVectors) {
    EXPECT_EQ(fnv1_32(""), 0x811c9dc5u);
    EXPECT_EQ(fnv1_32("a"), 0x050c5d7eu);
    EXPECT_EQ(fnv1a_32("a"), 0xe40c292cu);
    EXPECT_EQ(fnv1a_32("foobar"), 0xbf9cf968u);
    EXPECT_EQ(fnv1a_64(""), 0xcbf29ce484222325u);
    EXPECT_EQ(fnv1a_64("foobar"), 0x85944171f73967e8u);
    EXPECT_EQ(content_hash(""), "6C62272E07BB014262B821756295C58D");
    EXPECT_EQ(content_hash("a"), "D228CB696F1A8CAF78912B704E4A8964");
}

TEST(Hash, ContinuesWithMoreBytes) {
    EXPECT_EQ(fnv1a_32("bar", fnv1a_32("foo")), fnv1a_32("foobar"));
    EXPECT_EQ(fnv1a_64("bar", fnv1a_64("foo")), fnv1a_64("foobar"));
    EXPECT_EQ(fnv1_32("bar", fnv1_32("foo")), fnv1_32("foobar"));
}

}  // namespace
}  // namespace porthole
