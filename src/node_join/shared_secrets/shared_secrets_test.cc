#include "node_join/shared_secrets/shared_secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "node_join/pki_care.h"
#include "node_join/shared_secrets/accept_both.h"
#include "runtime/files/durable_file.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SharedSecretsTest : public testing::Test {
protected:
    ~SharedSecretsTest() override { fs::remove_all(root_); }
    Pki ensure(const char* name) {
        auto made = Pki::ensure(root_ / name / "pki", {{"kubernetes"}, {"127.0.0.1"}}, now_);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    SharedSecrets read(const char* name) {
        auto files = read_shared_files(root_ / name);
        EXPECT_TRUE(files && *files) << (files ? "" : files.error().message);
        return files && *files ? **files : SharedSecrets();
    }
    unsigned mode(const fs::path& path) {
        struct stat found{};
        EXPECT_EQ(::stat((root_ / path).c_str(), &found), 0) << path;
        return found.st_mode & 07777;
    }

    fs::path root_ = fs::temp_directory_path() / ("porthole-shared-" + std::to_string(::getpid()));
    SystemTime now_ = std::chrono::system_clock::now();
};

TEST_F(SharedSecretsTest, AServerThatTakesThemMakesNoAuthorityOfItsOwn) {
    const SharedSecrets made = SharedSecrets::make("encryption", now_);
    ASSERT_TRUE(write_shared_files(root_ / "a", made));
    ASSERT_TRUE(write_shared_files(root_ / "b", made));
    const Pki a = ensure("a"), b = ensure("b");
    EXPECT_EQ(a.ca_pem, b.ca_pem);
    EXPECT_EQ(a.ca_key_pem(), b.ca_key_pem());
    EXPECT_EQ(a.kubelet_serving_ca.key_pem, b.kubelet_serving_ca.key_pem);
    EXPECT_EQ(a.front_proxy_ca.key_pem, b.front_proxy_ca.key_pem);
    EXPECT_EQ(a.service_account_key_pem, b.service_account_key_pem);
    EXPECT_NE(a.server.key_pem, b.server.key_pem) << "what a server shows is its own";
    EXPECT_EQ(read("a").files, made.files) << "certificates that are a server's own are not shared";
    EXPECT_EQ(*read_file(root_ / "b/encryption.yaml"), "encryption");
}

TEST_F(SharedSecretsTest, FilesHaveTheModesThatTheyAreMadeWith) {
    (void)ensure("made");
    ASSERT_TRUE(write_shared_files(root_ / "taken", read("made")));
    for (const auto& [name, text] : read("made").files) EXPECT_EQ(mode("taken/" + name), mode("made/" + name)) << name;
    EXPECT_EQ(mode("taken/pki"), 0700U);
}

TEST_F(SharedSecretsTest, ATextIsReadAsItWasWritten) {
    SharedSecrets made = SharedSecrets::make("key: \"\n", now_);
    made.settings = {{"--service-cidr", "10.0.0.0/8"}};
    made.generation = 3;
    const auto parsed = SharedSecrets::parse(made.text());
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, made);
}

TEST_F(SharedSecretsTest, ATextThatServersCannotUseIsRefused) {
    const SharedSecrets made = SharedSecrets::make("", now_), other = SharedSecrets::make("", now_);
    const auto changed = [&made](auto change) {
        SharedSecrets copy = made;
        change(copy);
        const auto parsed = SharedSecrets::parse(copy.text());
        return parsed ? std::string("accepted") : parsed.error().message;
    };
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.files.erase("pki/sa.key"); }).find("pki/sa.key is missing"), std::string::npos);
    EXPECT_NE(changed([&](SharedSecrets& copy) { copy.files["pki/ca.key"] = other.files.at("pki/ca.key"); }).find("pki/ca.crt"),
              std::string::npos);
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.files["pki/../../etc/passwd"] = "x"; }), "accepted");
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.files["pki/apiserver.key"] = "x"; }), "accepted");
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.cluster = "../"; }), "accepted");
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.generation = 0; }), "accepted");
    EXPECT_NE(changed([](SharedSecrets& copy) { copy.files["pki/ca-rotation-started"] = "x"; }), "accepted");
    std::string newer = made.text();
    newer.replace(newer.find("secrets/1"), 9, "secrets/2");
    EXPECT_EQ(SharedSecrets::parse(newer).error().reason, Reason::Conflict);
}

TEST_F(SharedSecretsTest, ARotationReachesTheFilesOfAnotherServerAndEndsThere) {
    (void)ensure("a");
    (void)ensure("b");
    ASSERT_TRUE(write_shared_files(root_ / "b", read("a")));
    ASSERT_TRUE(start_ca_rotation(root_ / "a/pki", now_));
    ASSERT_TRUE(start_service_account_key_rotation(root_ / "a/pki", now_));
    ASSERT_TRUE(write_shared_files(root_ / "b", read("a")));
    ASSERT_TRUE(*ca_rotation(root_ / "b/pki"));
    EXPECT_EQ(ensure("a").ca_pem, ensure("b").ca_pem);
    EXPECT_EQ(ensure("a").previous_service_account_key_pem, ensure("b").previous_service_account_key_pem);

    ASSERT_TRUE(finish_ca_rotation(root_ / "a/pki"));
    ASSERT_TRUE(finish_service_account_key_rotation(root_ / "a/pki", now_, true));
    ASSERT_TRUE(write_shared_files(root_ / "b", read("a")));
    EXPECT_FALSE(*ca_rotation(root_ / "b/pki"));
    EXPECT_EQ(ensure("b").previous_service_account_key_pem, "");
    EXPECT_EQ(read("b").digest(), read("a").digest());
}

TEST_F(SharedSecretsTest, ARotationIsAcceptedBeforeItSigns) {
    const Pki before = ensure("a");
    ASSERT_TRUE(start_ca_rotation(root_ / "a/pki", now_));
    ASSERT_TRUE(start_service_account_key_rotation(root_ / "a/pki", now_));
    const Pki rotated = ensure("a"), both = accept_both(before, rotated);
    EXPECT_EQ(*authority_ids(both.ca_pem), (std::vector{authority_ids(rotated.ca_pem)->at(1), authority_ids(rotated.ca_pem)->at(0)}));
    EXPECT_EQ(both.ca_key_pem(), before.ca_key_pem());
    EXPECT_EQ(both.service_account_key_pem, before.service_account_key_pem) << "it signs as before";
    EXPECT_EQ(both.previous_service_account_key_pem, rotated.service_account_key_pem);
    EXPECT_EQ(accept_both(both, rotated).ca_pem, both.ca_pem);

    ASSERT_TRUE(finish_ca_rotation(root_ / "a/pki"));
    ASSERT_TRUE(finish_service_account_key_rotation(root_ / "a/pki", now_, true));
    const Pki until_then = accept_both(rotated, ensure("a"));
    EXPECT_EQ(until_then.ca_pem, rotated.ca_pem) << "what others still sign with the old ones is accepted";
    EXPECT_EQ(until_then.previous_service_account_key_pem, rotated.previous_service_account_key_pem);
}

TEST_F(SharedSecretsTest, FilesThatAreBeingChangedAreNotRead) {
    (void)ensure("a");
    const auto other = SharedSecrets::make("", now_);
    ASSERT_TRUE(write_durably(root_ / "a/pki/ca.key", other.files.at("pki/ca.key")));
    EXPECT_EQ(read_shared_files(root_ / "a").error().reason, Reason::Conflict);
    EXPECT_FALSE(*read_shared_files(root_ / "nothing"));
}

TEST_F(SharedSecretsTest, TheMarkSaysWhatWasAgreedOn) {
    (void)ensure("a");
    EXPECT_FALSE(*read_shared_mark(root_ / "a"));
    ASSERT_TRUE(write_shared_mark(root_ / "a", {std::string(32, 'a'), "digest", 7}));
    EXPECT_EQ((*read_shared_mark(root_ / "a"))->generation, 7);
    EXPECT_EQ((*read_shared_mark(root_ / "a"))->cluster, std::string(32, 'a'));
    EXPECT_EQ((*read_shared_mark(root_ / "a"))->digest, "digest");
    ASSERT_TRUE(remove_shared_mark(root_ / "a"));
    ASSERT_TRUE(remove_shared_mark(root_ / "a"));
    ASSERT_TRUE(remove_shared_mark(root_ / "nothing"));
    EXPECT_FALSE(*read_shared_mark(root_ / "a"));
}

}  // namespace
}  // namespace porthole::node_join
