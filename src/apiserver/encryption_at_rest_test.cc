// Secrets of a whole server whose disk is encrypted.
#include "apiserver/access_fixture.h"
#include "apiserver/encryption/encrypting_engine.h"

namespace porthole::apiserver {
namespace {

constexpr const char* Secrets = "/api/v1/namespaces/default/secrets";

class EncryptionAtRest : public Access {
protected:
    static EncryptionConfiguration with_keys(const std::vector<char>& names) {
        EncryptionProvider secretbox{.kind = EncryptionProvider::Kind::Secretbox};
        for (const char name : names) secretbox.keys.push_back({std::string(1, name), std::string(32, name)});
        EncryptionConfiguration configuration;
        configuration.rules.push_back({{"secrets"}, {secretbox, {.kind = EncryptionProvider::Kind::Identity}}});
        return configuration;
    }
    void use(const std::vector<char>& names) { encryption->use(with_keys(names)); }
    /// A server that starts with these keys alone.
    void restart_with(const std::vector<char>& names) {
        encryption = std::make_shared<StorageEncryption>(MakeKmsCipher());
        use(names);
        restart();
    }
    std::unique_ptr<store::Engine> make_engine() override {
        return make_encrypting_engine(std::make_unique<store::MemoryEngine>(disk), encryption);
    }
    void SetUp() override {
        use({'a'});
        Access::SetUp();
    }
    static std::string secret(const std::string& name) { return R"({"metadata":{"name":")" + name + R"("},"stringData":{"k":"hidden"}})"; }
    static std::string one(const std::string& name) { return std::string(Secrets) + "/" + name; }

    std::shared_ptr<StorageEncryption> encryption = std::make_shared<StorageEncryption>(MakeKmsCipher());
};

TEST_F(EncryptionAtRest, IsNotSeenByClients) {
    ASSERT_EQ(post(Secrets, secret("s")).code, 201);
    restart();
    EXPECT_EQ(get(one("s")).at({"data", "k"}), "aGlkZGVu");
    EXPECT_EQ(encryption->stale_values(), 0u);
}

TEST_F(EncryptionAtRest, AnUnchangedObjectIsWrittenWhenItsKeyHasChanged) {
    ASSERT_EQ(post(Secrets, secret("s")).code, 201);
    const std::string version(get(one("s")).at({"metadata", "resourceVersion"}));
    EXPECT_EQ(merge(one("s"), "{}").at({"metadata", "resourceVersion"}), version) << "nothing to do";
    use({'b', 'a'});
    EXPECT_EQ(encryption->stale_values(), 1u);
    EXPECT_NE(merge(one("s"), "{}").at({"metadata", "resourceVersion"}), version);
    EXPECT_EQ(encryption->stale_values(), 0u);
    restart_with({'b'});
    EXPECT_EQ(get(one("s")).at({"data", "k"}), "aGlkZGVu");
    EXPECT_EQ(encryption->unreadable().count, 0u) << "the older version is history that nobody reads";
}

TEST_F(EncryptionAtRest, ALostKeyLosesWhatItEncryptedAndNothingElse) {
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    use({'b'});
    ASSERT_EQ(post(Secrets, secret("new")).code, 201);
    restart_with({'b'});
    EXPECT_EQ(encryption->unreadable().count, 1u);
    const Answer lost = get(one("old"));
    EXPECT_EQ(lost.code, 500);
    EXPECT_EQ(lost.at({"message"}), R"(Internal error occurred: unable to transform key "/registry/secrets/default/old": )"
                                    R"(no matching key was found for the provided Secretbox transformer)");
    EXPECT_EQ(merge(one("old"), R"({"data":{"k":"eA=="}})").code, 500);
    const Answer listed = get(Secrets);
    EXPECT_EQ(listed.code, 200);
    ASSERT_EQ(listed.body.find("items")->as_array().size(), 1u);
    EXPECT_EQ(listed.body.find("items")->as_array().at(0).string_at({"metadata", "name"}), "new");
    auto reader = watch(Secrets, "");
    EXPECT_EQ(reader.next(), "ADDED new");
    EXPECT_EQ(remove(one("old")).code, 200);
    EXPECT_EQ(get(one("old")).code, 404);
    EXPECT_EQ(reader.next(), "") << "its end is no news";
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    EXPECT_EQ(reader.next(), "ADDED old");
}

TEST_F(EncryptionAtRest, ACollectionIsDeletedWithWhatCannotBeRead) {
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    restart_with({'b'});
    ASSERT_EQ(post(Secrets, secret("new")).code, 201);
    const Answer removed = remove(Secrets);
    EXPECT_EQ(removed.code, 200);
    EXPECT_EQ(removed.body.find("items")->as_array().size(), 2u) << removed.text;
    EXPECT_EQ(get(one("old")).code, 404);
}

}  // namespace
}  // namespace porthole::apiserver
