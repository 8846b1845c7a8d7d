#include "node_join/shared_secrets/secrets_agreement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/tls/password_seal.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "node_join/pki_care.h"
#include "runtime/files/durable_file.h"
#include "runtime/sim/sim_loop.h"
#include "store/etcd/sim/etcd_model.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using store::etcd::EtcdModel;
using Use = SecretsAgreement::Use;

constexpr const char* Key = "/registry/_porthole/shared-secrets";
/// Each is written by servers: the first one by all, when they start, the second one with the first node port.
constexpr const char* OfACluster[] = {"/registry/clusterrolebindings/porthole:node-bootstrapper",
                                      "/registry/_porthole/allocation/node-ports/30000"};

/// Servers with a data directory each, and one etcd.
class SecretsAgreementTest : public testing::Test {
protected:
    ~SecretsAgreementTest() override {
        for (auto& [name, server] : servers_) EXPECT_TRUE(sim::run(loop_, server->close()));
        EXPECT_TRUE(sim::run(loop_, etcd_.close()));
        loop_.run_ready();
        fs::remove_all(root_);
    }
    fs::path data(const std::string& name) const { return root_ / name; }
    SecretsAgreement& server(const std::string& name, std::string token = "the token") {
        tokens_[name] = token;
        SecretsAgreement::Options options{.data = data(name),
                                          .token = token,
                                          .read_token = [this, name]() -> Result<std::string> { return tokens_.at(name); },
                                          .settings = {{"--service-cidr", cidr_}},
                                          .local_key = local_key_,
                                          .new_encryption = local_key_ ? "the key of " + name : "",
                                          .no_objects = no_objects_,
                                          .check_encryption = [](const std::string& text) -> Result<void> {
                                              if (text == "broken") return Error(Reason::BadRequest, "not a configuration");
                                              return {};
                                          }};
        auto& made = servers_.emplace_back(
            name, std::make_unique<SecretsAgreement>(SecretsAgreement::Seams{loop_, pool_, Logger(make_null_sink(), "test")},
                                                     std::make_unique<store::etcd::Client>(loop_, etcd_.members()), std::move(options)));
        return *made.second;
    }
    /// "" or why it did not start.
    std::string start(const std::string& name, std::string token = "the token") {
        const auto agreed = sim::run(loop_, server(name, std::move(token)).agree());
        if (!agreed) return agreed.error().message;
        if (const auto made = Pki::ensure(data(name) / "pki", {{"kubernetes"}, {"127.0.0.1"}}, loop_.wall_now()); !made)
            return made.error().message;
        return "";
    }
    SecretsAgreement& running(const std::string& name) {
        EXPECT_EQ(start(name), "");
        return *servers_.back().second;
    }
    Use use(SecretsAgreement& server) {
        const auto looked = sim::run(loop_, server.look());
        EXPECT_TRUE(looked) << looked.error().message;
        return looked ? *looked : Use::None;
    }
    /// Whether it may sign then.
    bool look(SecretsAgreement& server) { return use(server) == Use::Sign; }
    std::string digest(const std::string& name) {
        const auto files = read_shared_files(data(name));
        return files && *files ? (*files)->digest() : "";
    }
    void make_alone(const std::string& name) {
        ASSERT_TRUE(Pki::ensure(data(name) / "pki", {{"kubernetes"}, {"127.0.0.1"}}, loop_.wall_now()));
        ASSERT_TRUE(write_durably(data(name) / "encryption.yaml", "alone"));
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    EtcdModel etcd_{loop_, 3, 1};
    fs::path root_ = fs::temp_directory_path() / ("porthole-agreement-" + std::to_string(::getpid()));
    std::string cidr_ = "10.96.0.0/12";
    bool local_key_ = true, no_objects_ = false;
    std::map<std::string, std::string> tokens_;  ///< in the file of each server
    std::vector<std::pair<std::string, std::unique_ptr<SecretsAgreement>>> servers_;
};

TEST_F(SecretsAgreementTest, TheFirstServerMakesThemAndTheNextOnesTakeThem) {
    ASSERT_EQ(start("a"), "");
    ASSERT_EQ(start("b"), "");
    EXPECT_NE(digest("a"), "");
    EXPECT_EQ(digest("a"), digest("b"));
    EXPECT_EQ(*read_file(data("b") / "encryption.yaml"), "the key of a");
    const std::string before = digest("a");
    ASSERT_EQ(start("a"), "") << "a restart";
    EXPECT_EQ(digest("a"), before);
    EXPECT_EQ(etcd_.value(Key).find("PRIVATE KEY"), std::string::npos);
}

TEST_F(SecretsAgreementTest, TwoFirstStartsAtOnceAgreeOnOne) {
    // Another server puts its own between this one's look and its transaction.
    bool first = true;
    etcd_.before_txn = [this, &first]() -> Task<> {
        if (etcd_.txns == 2 && std::exchange(first, false)) {
            SharedSecrets theirs = SharedSecrets::make("theirs", loop_.wall_now());
            etcd_.put(Key, net::seal_with_password("the token", theirs.text()));
        }
        co_return {};
    };
    ASSERT_EQ(start("a"), "");
    ASSERT_FALSE(first);
    EXPECT_EQ(*read_file(data("a") / "encryption.yaml"), "theirs");
}

TEST_F(SecretsAgreementTest, AFirstStartWhoseTransactionIsCutOffBeginsOnce) {
    etcd_.before_txn = [this]() -> Task<> {
        if (etcd_.txns == 2) etcd_.break_next_txn(EtcdModel::Break::After);
        co_return {};
    };
    ASSERT_EQ(start("a"), "");
    ASSERT_EQ(start("b"), "");
    EXPECT_EQ(digest("a"), digest("b"));
}

TEST_F(SecretsAgreementTest, WhatDoesNotFitIsRefusedAndNothingIsWritten) {
    ASSERT_EQ(start("a"), "");
    const std::string sealed = etcd_.value(Key);
    EXPECT_NE(start("wrong", "another token").find("is not the one with which the servers of this cluster share their secrets"),
              std::string::npos);
    EXPECT_NE(start("none", "").find("start this one with their --server-token-file"), std::string::npos);
    cidr_ = "10.0.0.0/12";
    EXPECT_NE(start("cidr").find("--service-cidr is 10.0.0.0/12 here and 10.96.0.0/12 on the cluster's other servers"), std::string::npos);
    cidr_ = "10.96.0.0/12";
    for (const char* name : {"wrong", "none", "cidr"}) EXPECT_FALSE(fs::exists(data(name))) << name;

    make_alone("other");
    const std::string theirs = digest("other");
    EXPECT_NE(start("other").find("has the authorities of another cluster than etcd below /registry"), std::string::npos);
    EXPECT_EQ(digest("other"), theirs);
    EXPECT_EQ(etcd_.value(Key), sealed);
}

TEST_F(SecretsAgreementTest, ANewerFormatIsRefused) {
    ASSERT_EQ(start("a"), "");
    std::string sealed = etcd_.value(Key);
    sealed[std::string_view("porthole-sealed:").size()] = '2';
    etcd_.put(Key, sealed);
    EXPECT_NE(start("b").find("sealed by a newer version of porthole"), std::string::npos);
    std::string newer = SharedSecrets::make("x", loop_.wall_now()).text();
    newer.replace(newer.find("secrets/1"), 9, "secrets/2");
    etcd_.put(Key, net::seal_with_password("the token", newer));
    EXPECT_NE(start("b").find("written by a newer version of porthole"), std::string::npos);
    EXPECT_FALSE(fs::exists(data("b")));
}

TEST_F(SecretsAgreementTest, AServerThatWasAloneSharesWhatItHas) {
    make_alone("a");
    const std::string before = digest("a");
    for (const char* key : OfACluster) {
        SCOPED_TRACE(key);
        etcd_.put(key, "x");
        EXPECT_NE(start("b").find("start the server that has them with --server-token-file first"), std::string::npos)
            << "a new authority would not fit what is in etcd";
        EXPECT_FALSE(fs::exists(data("b")));
        etcd_.remove(key);
    }
    etcd_.put(OfACluster[0], "x");
    ASSERT_EQ(start("a"), "");
    ASSERT_EQ(start("b"), "");
    EXPECT_EQ(digest("a"), before);
    EXPECT_EQ(digest("b"), before);
}

TEST_F(SecretsAgreementTest, WithoutATokenNoOneMakesKeysOfItsOwnForAClusterThatIsThere) {
    for (const char* key : OfACluster) {
        SCOPED_TRACE(key);
        etcd_.put(key, "x");
        EXPECT_NE(start("b", "").find("etcd has a cluster below /registry, and " + data("b").string() + " has none of its keys"),
                  std::string::npos);
        EXPECT_FALSE(fs::exists(data("b")));
        etcd_.remove(key);
    }
    etcd_.put(OfACluster[0], "x");
    make_alone("a");
    EXPECT_EQ(start("a", ""), "");
}

TEST_F(SecretsAgreementTest, AClusterOfAnotherControlPlaneDoesNotKeepTheFirstServerFromMakingKeys) {
    etcd_.put("/registry/clusterrolebindings/system:basic-user", "x");
    EXPECT_EQ(start("a"), "");
    EXPECT_EQ(start("b"), "");
}

TEST_F(SecretsAgreementTest, TheKeyOfEncryptionIsNotLostInSilence) {
    make_alone("a");
    fs::remove(data("a") / "encryption.yaml");
    EXPECT_NE(start("a").find("no encryption.yaml to share"), std::string::npos);
    EXPECT_EQ(etcd_.value(Key), "");
    local_key_ = false;  // a file that the operator hands out
    ASSERT_EQ(start("a"), "");
    local_key_ = true;
    EXPECT_NE(start("b").find("--encryption-provider-config"), std::string::npos);
    EXPECT_FALSE(fs::exists(data("b")));
}

TEST_F(SecretsAgreementTest, AFirstStartThatMadeItsAuthoritiesOnlyIsTakenUp) {
    make_alone("a");
    const std::string authority = *read_file(data("a") / "pki/ca.crt");
    fs::remove(data("a") / "encryption.yaml");
    no_objects_ = true;
    ASSERT_EQ(start("a"), "");
    EXPECT_EQ(*read_file(data("a") / "encryption.yaml"), "the key of a");
    EXPECT_EQ(*read_file(data("a") / "pki/ca.crt"), authority);
    ASSERT_EQ(start("b"), "");
    EXPECT_EQ(digest("a"), digest("b"));
}

TEST_F(SecretsAgreementTest, AMissingOrBrokenKeyOfEncryptionIsNotShared) {
    SecretsAgreement& a = running("a");
    const std::string sealed = etcd_.value(Key);
    fs::remove(data("a") / "encryption.yaml");
    EXPECT_FALSE(look(a)) << "an editor may be renaming it";
    EXPECT_FALSE(fs::exists(data("a") / "encryption.yaml"));
    ASSERT_TRUE(write_durably(data("a") / "encryption.yaml", "broken"));
    EXPECT_FALSE(look(a));
    EXPECT_EQ(etcd_.value(Key), sealed);
    EXPECT_NE(start("a").find("cannot be shared: not a configuration"), std::string::npos);
    fs::remove(data("a") / "encryption.yaml");
    ASSERT_EQ(start("a"), "") << "the cluster has it";
    EXPECT_EQ(*read_file(data("a") / "encryption.yaml"), "the key of a");

    etcd_.put(Key, net::seal_with_password("the token", SharedSecrets::make("broken", loop_.wall_now()).text()));
    EXPECT_NE(start("b").find("not a configuration"), std::string::npos);
    EXPECT_FALSE(fs::exists(data("b")));
}

TEST_F(SecretsAgreementTest, ARotationIsUsedWhenTheOthersHaveIt) {
    SecretsAgreement &a = running("a"), &b = running("b");
    EXPECT_TRUE(look(a));
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept) << "others would refuse tokens of the new key";
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_EQ(digest("b"), digest("a"));
    EXPECT_FALSE(look(a));
    loop_.advance(SecretsAgreement::OthersFollow);
    EXPECT_TRUE(look(a));

    ASSERT_TRUE(start_ca_rotation(data("b") / "pki", loop_.wall_now()));
    EXPECT_FALSE(look(b));
    EXPECT_EQ(use(a), Use::Accept) << "either server's machine can be chosen";
    EXPECT_TRUE(*ca_rotation(data("a") / "pki"));
    EXPECT_EQ(digest("b"), digest("a"));
}

TEST_F(SecretsAgreementTest, AKeyOfEncryptionIsAgreedOnWhenAllHaveIt) {
    SecretsAgreement &a = running("a"), &b = running("b");
    const std::string before = a.agreed_encryption();
    EXPECT_EQ(before, "the key of a");
    EXPECT_EQ(b.agreed_encryption(), before);
    ASSERT_TRUE(write_durably(data("a") / "encryption.yaml", "another key"));
    EXPECT_EQ(a.agreed_encryption(), before) << "not shared yet";
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_EQ(a.agreed_encryption(), "") << "the other server does not have it yet";
    loop_.advance(SecretsAgreement::OthersFollow / 2);
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_EQ(read_file(data("b") / "encryption.yaml").value_or(""), "another key");
    EXPECT_EQ(b.agreed_encryption(), "");
    loop_.advance(SecretsAgreement::OthersFollow / 2);
    EXPECT_EQ(a.agreed_encryption(), "another key");
    EXPECT_EQ(b.agreed_encryption(), "");
    loop_.advance(SecretsAgreement::OthersFollow / 2);
    EXPECT_EQ(b.agreed_encryption(), "another key");
}

TEST_F(SecretsAgreementTest, OfThreeServersNoneSignsBeforeAllVerify) {
    SecretsAgreement &a = running("a"), &b = running("b"), &c = running("c");
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_EQ(use(b), Use::Accept) << "the third server does not have the new key yet";
    EXPECT_EQ(digest("b"), digest("a"));
    EXPECT_NE(digest("c"), digest("a"));
    loop_.advance(SecretsAgreement::OthersFollow / 2);
    EXPECT_EQ(use(c), Use::Accept);
    EXPECT_EQ(digest("c"), digest("a"));
    EXPECT_EQ(use(b), Use::Accept);
    loop_.advance(SecretsAgreement::OthersFollow / 2);
    EXPECT_EQ(use(a), Use::Sign);
    EXPECT_EQ(use(b), Use::Sign);
}

TEST_F(SecretsAgreementTest, AServerThatStartsSoonAfterAChangeWaitsForTheOthers) {
    const auto time_of_start = [this](const char* name) {
        const MonotonicTime before = loop_.now();
        EXPECT_EQ(start(name), "");
        return loop_.now() - before;
    };
    EXPECT_LT(time_of_start("a"), 5s) << "of a new cluster no one has older ones";
    SecretsAgreement& a = *servers_.back().second;
    EXPECT_LT(time_of_start("b"), 5s);
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept);
    const Duration waited = time_of_start("a");
    EXPECT_GT(waited, SecretsAgreement::OthersFollow - 5s);
    EXPECT_LE(waited, SecretsAgreement::OthersFollow + 5s);
    loop_.advance(SecretsAgreement::OthersFollow);
    EXPECT_LT(time_of_start("b"), 5s);
    SecretsAgreement& b = *servers_.back().second;
    ASSERT_TRUE(start_ca_rotation(data("b") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_GT(time_of_start("a"), SecretsAgreement::OthersFollow - 5s) << "the change is another server's";
    ASSERT_TRUE(finish_ca_rotation(data("b") / "pki"));
    EXPECT_EQ(use(b), Use::Accept);
    etcd_.remove("/registry/_porthole/shared-secrets-fresh");
    EXPECT_LT(time_of_start("a"), 5s) << "no machine's clock is asked, which may be another one's than that of the change";
}

TEST_F(SecretsAgreementTest, WhatIsWrittenWhileAChangeIsSharedIsNotUndone) {
    SecretsAgreement& a = running("a");
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    bool first = true;
    etcd_.before_txn = [this, &first]() -> Task<> {
        if (std::exchange(first, false)) EXPECT_TRUE(start_ca_rotation(data("a") / "pki", loop_.wall_now()));
        co_return {};
    };
    (void)look(a);
    ASSERT_FALSE(first);
    EXPECT_TRUE(*ca_rotation(data("a") / "pki"));
    (void)look(a);
    ASSERT_EQ(start("b"), "");
    EXPECT_TRUE(*ca_rotation(data("b") / "pki")) << "the next look shares it";
}

TEST_F(SecretsAgreementTest, WhatIsWrittenWhileSecretsAreFirstSharedIsNotUndone) {
    make_alone("a");
    bool first = true;
    etcd_.before_txn = [this, &first]() -> Task<> {
        if (etcd_.txns == 2 && std::exchange(first, false)) {
            EXPECT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
        }
        co_return {};
    };
    ASSERT_EQ(start("a"), "");
    ASSERT_FALSE(first);
    EXPECT_TRUE(fs::exists(data("a") / "pki/sa-rotation-started"));
    const std::string rotated = digest("a");
    ASSERT_EQ(start("b"), "");
    EXPECT_EQ(digest("b"), rotated);
}

TEST_F(SecretsAgreementTest, AServerThatWasOffFollowsWhenItStarts) {
    SecretsAgreement& a = running("a");
    ASSERT_EQ(start("b"), "");
    ASSERT_TRUE(start_ca_rotation(data("a") / "pki", loop_.wall_now()));
    ASSERT_TRUE(finish_ca_rotation(data("a") / "pki"));
    EXPECT_FALSE(look(a));
    ASSERT_EQ(start("b"), "") << "no authority is left in common, but the mark says that it is the same cluster";
    EXPECT_EQ(digest("b"), digest("a"));
}

TEST_F(SecretsAgreementTest, OlderKeysInEtcdAreNotTaken) {
    SecretsAgreement& a = running("a");
    const std::string older = etcd_.value(Key);
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept);
    const std::string newest = digest("a");
    etcd_.put(Key, older);
    (void)use(a);
    EXPECT_EQ(digest("a"), newest) << "a running server";
    EXPECT_EQ(etcd_.value(Key), older);
    EXPECT_NE(start("a").find("etcd has older keys than this machine (generation 1, and 2 in "), std::string::npos);
    EXPECT_EQ(digest("a"), newest);

    etcd_.remove(Key);
    ASSERT_EQ(start("a"), "") << "as the error says";
    ASSERT_EQ(start("b"), "");
    EXPECT_EQ(digest("b"), newest);
    EXPECT_EQ((*read_shared_mark(data("b")))->generation, 3);
}

TEST_F(SecretsAgreementTest, OtherKeysOfTheSameGenerationAreNotTaken) {
    SecretsAgreement& a = running("a");
    ASSERT_EQ(start("b"), "");
    const std::string snapshot = etcd_.value(Key);
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept);
    const std::string of_a = digest("a");
    etcd_.put(Key, snapshot);
    ASSERT_TRUE(start_service_account_key_rotation(data("b") / "pki", loop_.wall_now()));
    ASSERT_EQ(start("b"), "");
    const std::string of_b = digest("b");
    ASSERT_NE(of_a, of_b);
    (void)use(a);
    EXPECT_EQ(digest("a"), of_a) << "a running server";
    EXPECT_NE(start("a").find("etcd has other keys than this machine, of the same generation (2)"), std::string::npos);
    EXPECT_EQ(digest("a"), of_a);

    etcd_.remove(Key);
    ASSERT_EQ(start("b"), "") << "as the error says";
    ASSERT_EQ(start("a"), "");
    EXPECT_EQ(digest("a"), of_b);
}

TEST_F(SecretsAgreementTest, FilesThatWereHalfWrittenWhenAServerDiedAreTakenAgain) {
    SecretsAgreement& a = running("a");
    const std::string before = digest("a");
    const SharedSecrets other = SharedSecrets::make("", loop_.wall_now());
    ASSERT_TRUE(write_durably(data("a") / "pki/ca.key", other.files.at("pki/ca.key")));
    EXPECT_FALSE(look(a)) << "another program may be writing";
    EXPECT_EQ(digest("a"), "");
    ASSERT_EQ(start("a"), "");
    EXPECT_EQ(digest("a"), before);
}

TEST_F(SecretsAgreementTest, WhatARunningServerCouldOnlyHalfTakeIsTakenAgain) {
    SecretsAgreement& a = running("a");
    const SharedSecrets other = SharedSecrets::make("", loop_.wall_now());
    SharedSecrets next = **read_shared_files(data("a"));
    next.cluster = (*read_shared_mark(data("a")))->cluster;
    next.generation = 2;
    for (const char* name : {"pki/kubelet-serving-ca.key", "pki/kubelet-serving-ca.crt"}) next.files[name] = other.files.at(name);
    etcd_.put(Key, net::seal_with_password("the token", next.text()));
    // The disk was full after the first of the two.
    ASSERT_TRUE(write_durably(data("a") / "pki/kubelet-serving-ca.key", next.files.at("pki/kubelet-serving-ca.key")));
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_EQ(digest("a"), next.digest());
}

TEST_F(SecretsAgreementTest, OfTwoRotationsAtOnceTheFirstIsKept) {
    SecretsAgreement &a = running("a"), &b = running("b");
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    ASSERT_TRUE(start_service_account_key_rotation(data("b") / "pki", loop_.wall_now()));
    EXPECT_FALSE(look(a));
    const std::string kept = digest("a");
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_EQ(digest("b"), kept);
}

TEST_F(SecretsAgreementTest, WhileEtcdIsAwayOnlyWhatWasAgreedOnIsUsed) {
    SecretsAgreement& a = running("a");
    for (std::size_t member = 0; member < 3; ++member) etcd_.stop(member);
    EXPECT_TRUE(look(a));
    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_FALSE(look(a));
    for (std::size_t member = 0; member < 3; ++member) etcd_.start(member);
    EXPECT_FALSE(look(a)) << "now it is shared";
    loop_.advance(SecretsAgreement::OthersFollow);
    EXPECT_TRUE(look(a));
}

TEST_F(SecretsAgreementTest, AChangedTokenSealsTheSecrets) {
    SecretsAgreement &a = running("a"), &b = running("b");
    tokens_["a"] = "another token";
    EXPECT_TRUE(look(a));
    EXPECT_TRUE(net::open_with_password("another token", etcd_.value(Key)));
    EXPECT_FALSE(net::open_with_password("the token", etcd_.value(Key)));
    EXPECT_THAT(start("c"), testing::HasSubstr("is not the one with which the servers of this cluster share"));
    EXPECT_TRUE(look(b)) << "with what was agreed on";

    ASSERT_TRUE(start_service_account_key_rotation(data("a") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_TRUE(look(b));
    EXPECT_NE(digest("b"), digest("a")) << "it cannot know";
    tokens_["b"] = "another token";
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_EQ(digest("b"), digest("a"));
    EXPECT_EQ(start("d", "another token"), "");
}

TEST_F(SecretsAgreementTest, OfServersWithOneFileOneSealsAgain) {
    SecretsAgreement &a = running("a"), &b = running("b");
    tokens_["a"] = tokens_["b"] = "another token";
    EXPECT_TRUE(look(a));
    const std::string sealed = etcd_.value(Key);
    use(b);
    EXPECT_EQ(etcd_.value(Key), sealed);
    ASSERT_TRUE(start_service_account_key_rotation(data("b") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(b), Use::Accept);
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_EQ(digest("b"), digest("a"));
}

TEST_F(SecretsAgreementTest, AChangeThatWasSealedWithTheTokenOfBeforeIsNotLost) {
    SecretsAgreement &a = running("a"), &b = running("b");
    ASSERT_TRUE(start_service_account_key_rotation(data("b") / "pki", loop_.wall_now()));
    EXPECT_EQ(use(b), Use::Accept);
    tokens_["a"] = "another token";
    EXPECT_EQ(use(a), Use::Accept);
    EXPECT_EQ(digest("a"), digest("b"));
    EXPECT_TRUE(net::open_with_password("another token", etcd_.value(Key)));
}

TEST_F(SecretsAgreementTest, WithoutATokenNothingIsShared) {
    make_alone("a");
    ASSERT_TRUE(write_shared_mark(data("a"), {std::string(32, 'a'), "digest"}));
    ASSERT_EQ(start("a", ""), "");
    EXPECT_EQ(etcd_.key_count(), 0U);
    EXPECT_FALSE(*read_shared_mark(data("a")));
    EXPECT_TRUE(look(*servers_.back().second));
}

}  // namespace
}  // namespace porthole::node_join
