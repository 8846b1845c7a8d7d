#include "node_join/identity.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;

const std::string Hash = "sha256:" + std::string(64, 'a');

// JOI-02
TEST(NodeIdentity, RefusesWhatCannotBeATokenOrAHashBeforeAskingAnybody) {
    const struct {
        const char* name;
        JoinTarget target;
        const char* message;  ///< nullptr: it is fine
    } rows[] = {
        {"right", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash}}, nullptr},
        {"short token", {{"10.0.0.5:6443"}, "abcdef.0123456789abcde", {Hash}}, "token create"},
        {"capitals", {{"10.0.0.5:6443"}, "ABCDEF.0123456789abcdef", {Hash}}, "token create"},
        {"two dots", {{"10.0.0.5:6443"}, "abcdef.0123456789abcd.f", {Hash}}, "token create"},
        {"hash without its kind", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {std::string(64, 'a')}}, "--ca-cert-hash"},
        {"hash of no hex", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {"sha256:" + std::string(64, 'x')}}, "--ca-cert-hash"},
        {"second hash wrong", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash, "sha256:"}}, "--ca-cert-hash"},
    };
    for (auto row : rows) {
        SCOPED_TRACE(row.name);
        const auto checked = check_target(row.target);
        EXPECT_EQ(row.target.servers, std::vector<std::string>{"https://10.0.0.5:6443"});
        ASSERT_EQ(checked.has_value(), row.message == nullptr);
        if (checked) continue;
        EXPECT_NE(checked.error().message.find(row.message), std::string::npos) << checked.error().message;
        EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
    }
}

TEST(NodeIdentity, RefusesAServerWithoutEncryption) {
    JoinTarget target{{"http://10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash}};
    EXPECT_EQ(check_target(target).error().message, "server \"http://10.0.0.5:6443\": a node reaches an API server by https:// only");
}

struct NodeFolder : testing::Test {
    NodeFolder() {
        char name[] = "/tmp/node-identity-XXXXXX";
        folder = fs::path(::mkdtemp(name)) / "node";
    }
    ~NodeFolder() override { fs::remove_all(folder.parent_path()); }
    std::string text(const char* name) const {
        std::ostringstream text;
        text << std::ifstream(folder / name).rdbuf();
        return text.str();
    }
    fs::path folder;
    const ServerChoice choice{{"https://10.0.0.5:6443"}};
    const ClusterInfo info{.ca_pem = "CA\n"};
};

TEST_F(NodeFolder, HoldsWhatANodesProgramsNeedAndNobodyElseMayReadTheKey) {
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    EXPECT_EQ(text("ca.crt"), "CA\n");
    EXPECT_EQ(text("client.pem"), "CERT\nKEY\n");
    EXPECT_EQ(fs::status(folder / "client.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
    EXPECT_NE(text("kubeconfig").find("client-key: " + (folder / "client.pem").string()), std::string::npos);
}

TEST_F(NodeFolder, KeepsTheCertificateOfTheKubeletsServerAcrossRestarts) {
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "");
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    ASSERT_TRUE(write_serving_identity(folder, {"SERVING\n", "-----BEGIN PRIVATE KEY-----\n"}));
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "SERVING\n");
    EXPECT_EQ(read_serving_identity(folder).key_pem, "-----BEGIN PRIVATE KEY-----\n");
    EXPECT_EQ(fs::status(folder / "serving.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "") << "it is not the next cluster's";
}

TEST_F(NodeFolder, TakesANewIdentityInPlaceOfTheOld) {
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    ASSERT_TRUE(write_node_identity(folder, {"CERT 2\n", "KEY 2\n"}));
    EXPECT_EQ(text("client.pem"), "CERT 2\nKEY 2\n");
    EXPECT_FALSE(fs::exists(folder / "client.pem.new"));
}

}  // namespace
}  // namespace porthole::node_join
