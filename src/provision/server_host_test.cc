// The commands of a server's machine, run by a real shell in directories that stand for the machine's.
#include "provision/server_host.h"

#include <gmock/gmock.h>

#include "net/tls/x509.h"
#include "provision/local_shell_fixture.h"

namespace porthole::provision {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

struct ServerHostTest : ServiceHostFixture {
    ServerHostTest() {
        transport.places["/run/"] = transport.folder + "/run/";
        fs::create_directories(transport.folder + "/run/systemd/system");
        write("porthole", "old");
        write("tools/systemctl", "#!/bin/sh\n[ \"$1\" != is-active ]\n");
    }
    /// With the program that is uploaded, unless it is "".
    Result<void> place(const ServerFiles& files, const std::string& program, bool keep) {
        if (const auto uploaded = done(host.upload_files(files)); !uploaded) return uploaded;
        if (!program.empty()) write("porthole.new", program);
        return done(host.place(keep));
    }
    ServerFacts facts() { return result_of(host.ask()).value(); }

    ServerHost host{transport, {.address = "192.0.2.1", .user = "root"}};
    const ServerFiles files = {{"porthole-server.service", "unit 1"}, {"cluster", "prod"}, {"networks", "n"}, {"server-token", "secret\n"}};
    const ServerFiles others = {{"porthole-server.service", "unit 2"}, {"cluster", "prod"}, {"networks", "n"}};
};

TEST_F(ServerHostTest, WhatIsThereIsKnownByItsHashes) {
    EXPECT_EQ(facts().cluster, "");
    ASSERT_TRUE(place(files, "new", false));
    const ServerFacts found = facts();
    EXPECT_EQ(found.cluster, "prod");
    EXPECT_EQ(found.networks, "n");
    EXPECT_EQ(found.files_sha256, digest_of(files));
    EXPECT_EQ(found.program_sha256, net::to_hex(net::sha256("new")));
    EXPECT_FALSE(found.has_previous);
}

TEST_F(ServerHostTest, ARunStartsWhatWasPlacedByOneThatWasCutOff) {
    ASSERT_TRUE(place(files, "new", false));
    EXPECT_FALSE(exists("units/porthole-server.service"));
    EXPECT_TRUE(done(host.stop())) << "there is nothing to stop";
    ASSERT_TRUE(done(host.start()));
    EXPECT_EQ(read("units/porthole-server.service"), "unit 1");
}

TEST_F(ServerHostTest, AProgramThatWasUploadedByARunThatWasCutOffIsNotPlacedByTheNext) {
    ASSERT_TRUE(place(files, "old", false));
    write("porthole.new", "half of");
    ASSERT_TRUE(place(others, "", true));
    EXPECT_EQ(read("porthole"), "old");
    EXPECT_FALSE(exists("porthole.new"));
}

TEST_F(ServerHostTest, TextsOfTheMachineComeAsTheyAre) {
    ServerFiles odd = files;
    odd["networks"] = "pods *  and \\c more";
    ASSERT_TRUE(place(odd, "new", false));
    EXPECT_EQ(facts().networks, "pods *  and \\c more");
}

TEST_F(ServerHostTest, FilesAreReadableOnlyByTheirOwner) {
    ASSERT_TRUE(place(files, "new", false));
    EXPECT_EQ(fs::status(transport.folder + "/data-server").permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::status(transport.folder + "/data-server/server-token").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// RUN-10
TEST_F(ServerHostTest, ProgramAndFilesComeBackTogether) {
    for (const char* program : {"new", ""}) {
        ASSERT_TRUE(place(files, "old", false));
        ASSERT_TRUE(place(others, program, true));
        EXPECT_EQ(facts().files_sha256, digest_of(others));
        EXPECT_TRUE(facts().has_previous);
        const auto back = done(host.roll_back());
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(facts().files_sha256, digest_of(files));
        EXPECT_EQ(read("porthole"), "old");
        EXPECT_EQ(read("units/porthole-server.service"), "unit 1");
        EXPECT_FALSE(facts().has_previous);
    }
}

TEST_F(ServerHostTest, AnUpgradeThatWasCutOffBetweenBothIsUndone) {
    ASSERT_TRUE(place(files, "old", false));
    fs::rename(transport.folder + "/data-server", transport.folder + "/data-server.previous");
    EXPECT_EQ(facts().cluster, "prod");
    EXPECT_TRUE(facts().has_previous);
    ASSERT_TRUE(done(host.roll_back()));
    EXPECT_EQ(facts().files_sha256, digest_of(files));
}

TEST_F(ServerHostTest, IsHeldByOneRunUntilItHasNotRenewedItForAMinute) {
    ASSERT_TRUE(done(host.hold("one")));
    ASSERT_TRUE(done(host.hold("one")));
    const auto refused = done(host.hold("two"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::AlreadyExists);
    EXPECT_EQ(refused.error().message, "one");
    ASSERT_TRUE(done(host.release("two")));
    EXPECT_FALSE(done(host.hold("two"))) << "only the holder releases it";
    const fs::path held = transport.folder + "/run/porthole-provision";
    fs::last_write_time(held, fs::last_write_time(held) - std::chrono::seconds(61));
    EXPECT_TRUE(done(host.hold("two")));
    ASSERT_TRUE(done(host.release("two")));
    EXPECT_TRUE(done(host.hold("three")));
}

// PRV-03
TEST_F(ServerHostTest, LeavesNothingBehind) {
    ASSERT_TRUE(place(files, "new", false));
    ASSERT_TRUE(done(host.start()));
    write("data/store/store.db", "objects");
    write("data-etcd/data/member/wal/0.wal", "log");
    write("units/porthole-etcd.service", "unit");
    ASSERT_TRUE(done(host.hold("one")));
    const auto removed = done(host.remove());
    ASSERT_TRUE(removed) << removed.error().message;
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(transport.folder)) left.push_back(entry.path().filename());
    std::ranges::sort(left);
    EXPECT_THAT(left, ElementsAre("run", "tools", "units"));
    EXPECT_TRUE(fs::is_empty(transport.folder + "/units"));
}

// Not with what systemd says about its unit.
TEST_F(ServerHostTest, AServerThatEndsAgainAndAgainIsFoundWithItsLastWords) {
    write("tools/systemctl", "#!/bin/sh\n[ \"$1\" != show ] || echo 4\n");
    write("tools/journalctl",
          "#!/bin/sh\n[ \"$1\" = _SYSTEMD_UNIT=porthole-server.service ] || { echo 'Started Porthole control plane.'; exit; }\n"
          "printf 'no \\033[31mlisten\\n'\n");
    fs::permissions(transport.folder + "/tools/journalctl", fs::perms::owner_all);
    const auto ends = result_of(host.ends());
    ASSERT_TRUE(ends) << ends.error().message;
    EXPECT_EQ(ends->count, 4);
    EXPECT_EQ(ends->last_words, "no  [31mlisten");
}

}  // namespace
}  // namespace porthole::provision
