#include "local_cluster/control_plane/keys_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::local_cluster {
namespace {

using testing::HasSubstr;

const KeysFile Keys{.cluster = "sha256:ab", .files = {{"cluster.json", "{}"}, {"pki/ca.key", std::string("a\0b", 3)}}};

std::string refusal(const std::string& text) {
    const auto parsed = KeysFile::parse(text);
    return parsed ? "" : parsed.error().message;
}

TEST(KeysFile, IsReadAsItWasWritten) {
    const auto read = KeysFile::parse(Keys.text());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, Keys);
}

TEST(KeysFile, IsNoLargerThanItsLimit) {
    const std::string text = Keys.text();
    EXPECT_EQ(refusal(text + std::string(KeysFile::Largest - text.size(), ' ')), "");
    EXPECT_THAT(refusal(text + std::string(KeysFile::Largest + 1 - text.size(), ' ')), HasSubstr("not the keys file of a backup"));
}

}  // namespace
}  // namespace porthole::local_cluster
