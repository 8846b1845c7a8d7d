#include "cmd/lint/lint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::lint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LintFiles, DirectoriesHaveTheirManifestsInOrder) {
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files(loop);
    for (const char* directory : {"/m/b", "/m/.git"}) ASSERT_TRUE(files.create_directories(directory, 0755));
    for (const char* file : {"/m/z.yaml", "/m/a.json", "/m/b/c.yml", "/m/b/notes.txt", "/m/.git/x.yaml", "/m/.hidden.yaml"})
        ASSERT_TRUE(files.write(file, "", 0644));
    ASSERT_TRUE(files.create_symlink("/m", "/m/b/loop"));
    const auto found = find_sources(files, {"/m/b/notes.txt", "/m"});
    ASSERT_TRUE(found) << found.error().message;
    std::vector<std::string> names;
    for (const Source& one : *found) names.push_back(one.name);
    EXPECT_THAT(names, ElementsAre("/m/b/notes.txt", "/m/a.json", "/m/b/c.yml", "/m/z.yaml"));
    EXPECT_TRUE(found->front().named);
    EXPECT_FALSE(found->back().named);
    EXPECT_THAT(find_sources(files, {"/none"}).error().message, HasSubstr("/none"));
}

}  // namespace
}  // namespace porthole::cmd::lint
