#include <gtest/gtest.h>

#include <filesystem>

#include "apiserver/encryption/local_key.h"
#include "apiserver/encryption/secretbox.h"
#include "apiserver/encryption/storage_encryption.h"
#include "runtime/files/durable_file.h"

namespace porthole::apiserver {
namespace {

namespace fs = std::filesystem;
using Kind = EncryptionProvider::Kind;

const std::string Head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n";
const std::string Key32 = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";  // "0123…", 32 bytes

std::string error_of(const std::string& text) {
    const auto parsed = EncryptionConfiguration::parse(text);
    return parsed ? "" : parsed.error().message;
}
std::string error_of_rule(const std::string& resources, const std::string& providers) {
    return error_of(Head + "resources: [{resources: " + resources + ", providers: " + providers + "}]");
}

TEST(EncryptionConfigurationTest, ReadsEveryProvider) {
    const auto read = EncryptionConfiguration::parse(
        Head + "resources:\n- resources: [secrets, configmaps]\n  providers:\n  - secretbox: {keys: [{name: a, secret: " + Key32 +
        "}]}\n  - aesgcm: {keys: [{name: b, secret: MDEyMzQ1Njc4OTAxMjM0NQ==}]}\n  - aescbc: {keys: [{name: c, secret: " + Key32 +
        "}]}\n  - kms: {apiVersion: v2, name: d, endpoint: 'unix:///run/kms.sock', timeout: 5s}\n  - identity: {}\n");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->rules.size(), 1u);
    const auto& providers = read->rules[0].providers;
    ASSERT_EQ(providers.size(), 5u);
    EXPECT_EQ(providers[0].keys[0].secret, "01234567890123456789012345678901");
    EXPECT_EQ(providers[1].keys[0].secret.size(), 16u);
    EXPECT_EQ(providers[3].socket, "/run/kms.sock");
    EXPECT_EQ(providers[3].timeout, std::chrono::seconds(5));
    EXPECT_EQ(providers[4].kind, Kind::Identity);
}

TEST(EncryptionConfigurationTest, CanReadWhatTheNextOneWrites) {
    const auto with = [](std::vector<std::pair<std::vector<std::string>, std::string>> rules) {
        EncryptionConfiguration made;
        for (auto& [resources, key] : rules) {
            EncryptionProvider provider;
            if (!key.empty()) provider = {.kind = Kind::Secretbox, .keys = {{key, key}}};
            made.rules.push_back({std::move(resources), {std::move(provider)}});
        }
        return made;
    };
    const auto used = with({{{"secrets", "*.apps"}, "a"}}), next = with({{{"secrets"}, "b"}, {{"configmaps"}, "c"}, {{"*.*"}, "d"}});
    const auto both = reading_both(used, next);
    const auto keys = [&](const char* group, const char* resource) {
        std::string names;
        for (const EncryptionProvider& provider : both.providers_of(group, resource))
            names += provider.keys.empty() ? "-" : provider.keys.front().name;
        return names;
    };
    EXPECT_EQ(keys("", "secrets"), "ab") << "it writes as before";
    EXPECT_EQ(keys("", "configmaps"), "-c") << "which was not encrypted";
    EXPECT_EQ(keys("apps", "deployments"), "ad") << "which the next one encrypts as everything";
    EXPECT_EQ(keys("batch", "jobs"), "-d");
    EXPECT_EQ(reading_both(used, with({{{"secrets"}, "b"}})).providers_of("apps", "deployments").back().kind, Kind::Identity)
        << "which the next one does not encrypt";
    EXPECT_EQ(reading_both(both, next), both);
}

TEST(EncryptionConfigurationTest, RefusesABadFileInUpstreamsWords) {
    EXPECT_EQ(error_of(""), "the file is empty");
    EXPECT_EQ(error_of("apiVersion: v1\nkind: Secret"), "no kind \"Secret\" is registered for version \"v1\"");
    EXPECT_EQ(error_of(Head), "resources: Required value: at least one resources is required");
    EXPECT_EQ(error_of(Head + "resources: [{resource: [secrets]}]"), "strict decoding error: unknown field \"resources[0].resource\"");
    EXPECT_EQ(error_of(Head + "resources: [{}]"),
              "[resources[0].resources: Required value: at least one resources[0].resources is required, "
              "resources[0].providers: Required value: at least one resources[0].providers is required]");
    struct {
        const char *resources, *providers, *error;
    } const rows[] = {
        {"[secrets]", "[{}]",
         "resources[0].providers[0]: Invalid value: {}: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, "
         "Secretbox, Identity"},
        {"[secrets]", "[{identity: {}, secretbox: {keys: [{name: a, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}]",
         "resources[0].providers[0]: Invalid value: \"REDACTED\": more than one provider specified in a single element, should split into "
         "different list elements"},
        {"[secrets]", "[{secretbox: {keys: []}}]",
         "resources[0].providers[0].secretbox.keys: Required value: at least one keys is required"},
        {"[secrets]", "[{secretbox: {keys: [{name: a, secret: c2hvcnQ=}]}}]",
         "resources[0].providers[0].secretbox.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 5, "
         "expected one of [32]"},
        {"[secrets]", "[{aesgcm: {keys: [{name: a, secret: '!'}]}}]",
         "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"},
        {"[secrets]", "[{aescbc: {keys: [{}]}}]",
         "[resources[0].providers[0].aescbc.keys[0].name: Required value: name is a mandatory field for a key, "
         "resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key]"},
        {"[secrets]", "[{kms: {apiVersion: v2, name: 'a:b', endpoint: 'tcp://x'}}]",
         "[resources[0].providers[0].kms.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':', "
         "resources[0].providers[0].kms.endpoint: Invalid value: \"tcp://x\": unsupported scheme \"tcp\" for KMS provider, only unix is "
         "supported]"},
        {"[secrets, secrets]", "[{identity: {}}]",
         R"(resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified multiple times)"},
        {"[secrets, '*.']", "[{identity: {}}]",
         "resources[0].resources: Invalid value: [\"secrets\",\"*.\"]: using overlapping resources such as 'secrets' and '*.' in the same "
         "resource list is not allowed as they will be masked"},
        {"['*']", "[{identity: {}}]",
         "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
         "resources"},
        {"['pods.*']", "[{identity: {}}]",
         "resources[0].resources[0]: Invalid value: \"pods.*\": encrypting the same resource across groups is not supported"},
    };
    for (const auto& row : rows) EXPECT_EQ(error_of_rule(row.resources, row.providers), row.error);
}

TEST(EncryptionConfigurationTest, TheNarrowestRuleForAResourceCounts) {
    EncryptionConfiguration configuration;
    const auto rule = [&](const char* resource, Kind kind) {
        configuration.rules.push_back({{resource}, {{.kind = kind, .keys = {{"k", std::string(32, 'k')}}}}});
    };
    rule("*.*", Kind::AesCbc);
    rule("*.apps", Kind::AesGcm);
    rule("secrets", Kind::Secretbox);
    EXPECT_EQ(configuration.providers_of("", "secrets").front().kind, Kind::Secretbox);
    EXPECT_EQ(configuration.providers_of("apps", "deployments").front().kind, Kind::AesGcm);
    EXPECT_EQ(configuration.providers_of("", "pods").front().kind, Kind::AesCbc);
}

TEST(UpstreamPath, LeavesTheGroupOutAndKnowsTheOldNames) {
    EXPECT_EQ(upstream_path("/registry/core/secrets/ns/a"), "/registry/secrets/ns/a");
    EXPECT_EQ(upstream_path("/registry/apps/deployments/ns/a"), "/registry/deployments/ns/a");
    EXPECT_EQ(upstream_path("/registry/core/nodes/n"), "/registry/minions/n");
    EXPECT_EQ(upstream_path("/registry/core/services/ns/a"), "/registry/services/specs/ns/a");
    EXPECT_EQ(upstream_path("/allocation/x"), "/allocation/x");
}

std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

TEST(Secretbox, OpensWhatNaClSealed) {
    // The example of NaCl's own tests.
    const std::string key = from_hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
    const std::string nonce = from_hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
    const std::string sealed = from_hex(
        "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972"
        "71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3"
        "7973f622a43d14a6599b1f654cb45a74e355a5");
    const auto opened = open_secretbox(key, nonce + sealed);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->size(), 131u);
    EXPECT_TRUE(opened->starts_with(from_hex("be075fc53c81f2d5cf141316ebeb0c7b")));
    EXPECT_EQ(open_secretbox(key, seal_secretbox(key, "text")).value(), "text");
    EXPECT_FALSE(open_secretbox(std::string(32, 'l'), nonce + sealed));
    EXPECT_FALSE(open_secretbox(key, std::string(39, 'x')));
}

TEST(ValueTransformerTest, FollowsPrefixes) {
    struct {
        Kind kind;
        const char* prefix;
        bool bound_to_its_place;
    } const rows[] = {{Kind::Secretbox, "k8s:enc:secretbox:v1:two:", false},
                      {Kind::AesGcm, "k8s:enc:aesgcm:v1:two:", true},
                      {Kind::AesCbc, "k8s:enc:aescbc:v1:two:", false}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.prefix);
        const EncryptionProvider::Key one{"one", std::string(32, '1')}, two{"two", std::string(32, '2')};
        const EncryptionProvider identity{.kind = Kind::Identity};
        const ValueTransformer before({{.kind = row.kind, .keys = {two}}}, {}),
            after({{.kind = row.kind, .keys = {one, two}}, identity}, {});
        const auto sealed = before.seal("{}", "/a");
        ASSERT_TRUE(sealed);
        EXPECT_TRUE(sealed->bytes.starts_with(row.prefix));
        const auto opened = after.open(sealed->bytes, "/a");
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_EQ(opened->bytes, "{}");
        EXPECT_EQ(opened->key, before.write_key());
        EXPECT_NE(opened->key, after.write_key());
        EXPECT_EQ(after.open(sealed->bytes, "/b").has_value(), !row.bound_to_its_place);
        EXPECT_EQ(after.open("{}", "/a").value().key, EncryptionKeyId());
        EXPECT_FALSE(before.open("{}", "/a")) << "without identity, plain values are refused";
        EXPECT_EQ(ValueTransformer({identity}, {}).open(sealed->bytes, "/a").error().message, "no matching prefix found");
    }
}

TEST(ValueTransformerTest, OneNameMayStandForTwoKeys) {
    const EncryptionProvider old_key{.kind = Kind::AesGcm, .keys = {{"k", std::string(32, '1')}}},
        new_key{.kind = Kind::AesGcm, .keys = {{"k", std::string(32, '2')}}};
    const auto sealed = ValueTransformer({old_key}, {}).seal("{}", "/a");
    const ValueTransformer both({new_key, old_key}, {});
    EXPECT_EQ(both.open(sealed->bytes, "/a").value().bytes, "{}");
    EXPECT_NE(both.open(sealed->bytes, "/a").value().key, both.write_key());
    EXPECT_EQ(ValueTransformer({new_key}, {}).open(sealed->bytes, "/a").error().message, "cipher: message authentication failed");
}

TEST(LocalKeyFileTest, RotatesInTwoSteps) {
    const fs::path path = fs::path(testing::TempDir()) / ("local_key_test_" + std::to_string(::getpid()) + ".yaml");
    const LocalKeyFile file(path);
    fs::remove(path);
    ASSERT_FALSE(*file.exists());
    ASSERT_TRUE(file.write(LocalKeyFile::with_new_key()));
    EXPECT_TRUE(*file.exists());
    EXPECT_EQ(fs::status(path).permissions() & fs::perms::mask, fs::perms::owner_read | fs::perms::owner_write);
    const auto first = file.key_names().value();
    const std::string hash = file.hash().value();
    ASSERT_TRUE(file.add_key());
    const auto both = file.key_names().value();
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[1], first[0]);
    EXPECT_NE(file.hash().value(), hash);
    ASSERT_TRUE(file.drop_old_keys());
    EXPECT_EQ(file.key_names().value(), std::vector<std::string>{both[0]});
    ASSERT_TRUE(write_durably(path, Head + "resources: [{resources: [secrets], providers: [{identity: {}}]}]"));
    EXPECT_FALSE(file.add_key()) << "not what this class wrote";
    fs::remove(path);
}

}  // namespace
}  // namespace porthole::apiserver
