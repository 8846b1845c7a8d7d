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
    void use(const std::vector<char>& names) { ASSERT_TRUE(encryption->use(with_keys(names))); }
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

TEST_F(EncryptionAtRest, WhatCannotBeDecryptedIsAnErrorAndNotAbsent) {
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    restart_with({'b'});
    ASSERT_EQ(post(Secrets, secret("new")).code, 201);
    EXPECT_EQ(encryption->unreadable().count, 1u);
    const std::string why = R"(Internal error occurred: unable to transform key "/registry/secrets/default/old": )"
                            R"(no matching key was found for the provided Secretbox transformer)";
    for (const std::string& path :
         {one("old"), std::string(Secrets), std::string(Secrets) + "?labelSelector=app!=x", std::string(Secrets) + "?fieldSelector=type!=x",
          std::string(Secrets) + "?fieldSelector=metadata.name=old"}) {
        SCOPED_TRACE(path);
        const Answer lost = get(path);
        EXPECT_EQ(lost.code, 500);
        EXPECT_EQ(lost.at({"message"}), why);
    }
    EXPECT_EQ(merge(one("old"), R"({"data":{"k":"eA=="}})").code, 500);
    auto all = watch(Secrets, "");
    EXPECT_EQ(all.next(), "ERROR");
    EXPECT_EQ(all.last.string_at({"object", "message"}), why);
    // Who asks for others by name is not concerned.
    EXPECT_EQ(get(std::string(Secrets) + "?fieldSelector=metadata.name=new").code, 200);
    EXPECT_EQ(get("/api/v1/namespaces/kube-system/secrets").code, 200);
    auto reader = watch(Secrets, "fieldSelector=metadata.name=new");
    EXPECT_EQ(reader.next(), "ADDED new");
}

TEST_F(EncryptionAtRest, WhatCannotBeDecryptedIsDeletedOnlyByNameAndByWhoSaysSo) {
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    restart_with({'b'});
    ASSERT_EQ(post(Secrets, secret("new")).code, 201);
    const std::string option = "?ignoreStoreReadErrorWithClusterBreakingPotential=true";
    EXPECT_EQ(remove(one("old")).code, 500);
    EXPECT_EQ(remove(Secrets).code, 500);
    EXPECT_EQ(remove(std::string(Secrets) + "?labelSelector=app!=x").code, 500) << "nobody knows its labels";
    EXPECT_EQ(remove(Secrets + option).code, 400);
    EXPECT_EQ(remove(one("old") + option + "&gracePeriodSeconds=0").code, 422);
    EXPECT_EQ(remove(one("new") + option).code, 422) << "it can be read";
    EXPECT_EQ(encryption->unreadable().count, 1u);
    grant(R"({"apiGroups":[""],"resources":["secrets"],"verbs":["delete"]})");
    EXPECT_EQ(as(jane(), "DELETE", one("old") + option).code, 403);
    EXPECT_EQ(remove(one("old") + option).code, 200);
    EXPECT_EQ(encryption->unreadable().count, 0u);
    EXPECT_EQ(get(one("old")).code, 404);
    EXPECT_EQ(get(Secrets).code, 200);
    EXPECT_EQ(post(Secrets, secret("old")).code, 201);
}

TEST_F(EncryptionAtRest, WhatCanBeDecryptedAgainIsRestored) {
    ASSERT_EQ(post(Secrets, secret("old")).code, 201);
    ASSERT_EQ(post(Secrets, secret("other")).code, 201);
    restart_with({'b'});
    auto reader = watch(Secrets, "resourceVersion=" + store::to_string(api->store().revision()));
    use({'b', 'a'});
    auto opened = encryption->reopen();
    ASSERT_EQ(opened.size(), 2u);
    ASSERT_EQ(remove(one("other") + "?ignoreStoreReadErrorWithClusterBreakingPotential=true").code, 200);
    EXPECT_EQ(*sim::run(loop, api->restore(std::move(opened))), 1u) << "what has been deleted meanwhile stays deleted";
    EXPECT_EQ(reader.next(), "ADDED old");
    EXPECT_EQ(get(one("old")).at({"data", "k"}), "aGlkZGVu");
    EXPECT_EQ(get(one("old")).at({"metadata", "resourceVersion"}), reader.last.string_at({"object", "metadata", "resourceVersion"}));
    EXPECT_EQ(get(one("other")).code, 404);
    EXPECT_EQ(encryption->unreadable().count, 0u);
    EXPECT_EQ(encryption->stale_values(), 0u) << "it is written with the first key";
    restart_with({'b'});
    EXPECT_EQ(get(one("old")).at({"data", "k"}), "aGlkZGVu");
}

}  // namespace
}  // namespace porthole::apiserver
