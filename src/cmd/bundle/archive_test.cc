#include "cmd/bundle/archive.h"

#include "cmd/bundle/archive_fixture.h"

namespace porthole::cmd::bundle {
namespace {

using ArchiveTest = ArchiveFixture;

TEST_F(ArchiveTest, HoldsWhatWasAdded) {
    const std::string deep = std::string(90, 'd') + "/" + std::string(40, 'e') + "/" + std::string(80, 'f');
    ASSERT_TRUE(archive->add("a/b.txt", "text"));
    ASSERT_TRUE(archive->add("block", std::string(512, 'x')));
    ASSERT_TRUE(archive->add("empty", ""));
    ASSERT_TRUE(archive->add(deep, "deep"));
    EXPECT_EQ(entries(),
              (std::map<std::string, std::string>{{"a/b.txt", "text"}, {"block", std::string(512, 'x')}, {"empty", ""}, {deep, "deep"}}));
    EXPECT_EQ(Archive::create(path, {}).error().message, path + " already exists: choose another name, or remove it");
}

TEST_F(ArchiveTest, NamesLeadNowhereElse) {
    for (const char* name : {"/etc/passwd", "../../x", "a/../../y", "c:\\z", "a b", "..", "t/", "n\nl", "."})
        ASSERT_TRUE(archive->add(name, name));
    std::vector<std::string> names;
    for (const auto& [name, text] : entries()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"a/y", "a_b", "c__z", "etc/passwd", "n_l", "t", "unnamed", "x"}));
}

}  // namespace
}  // namespace porthole::cmd::bundle
