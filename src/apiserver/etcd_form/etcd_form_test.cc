#include "apiserver/etcd_form/etcd_form.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "api/registry.h"
#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/etcd_form/data_version.h"
#include "apiserver/etcd_form/etcd_keys.h"
#include "apiserver/etcd_form/revision_gap.h"
#include "apiserver/storage/keys.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::apiserver {
namespace {

TEST(DataVersion, OfANewerBuildIsRefused) {
    EXPECT_TRUE(check_data_version("1"));
    for (const char* newer : {"2", "10", "4294967297", "", "0", "1.1", "-1", " 1", "v1"}) {
        const auto refused = check_data_version(newer);
        ASSERT_FALSE(refused) << newer;
        EXPECT_EQ(refused.error().reason, Reason::Conflict);
    }
    EXPECT_EQ(check_data_version("2").error().message,
              "the objects in etcd were written by a newer Porthole (format 2, this one knows 1): use the newer version");
}

TEST(EtcdKeys, AreThoseOfUpstream) {
    const std::pair<const char*, const char*> rows[] = {
        {"/registry/core/pods/ns/a", "/pods/ns/a"},
        {"/registry/core/nodes/a", "/minions/a"},
        {"/registry/core/services/ns/a", "/services/specs/ns/a"},
        {"/registry/core/endpoints/ns/a", "/services/endpoints/ns/a"},
        {"/registry/core/replicationcontrollers/ns/a", "/controllers/ns/a"},
        {"/registry/networking.k8s.io/ingresses/ns/a", "/ingress/ns/a"},
        {"/registry/apps/deployments/ns/a", "/deployments/ns/a"},
        {"/registry/coordination.k8s.io/leases/ns/a", "/leases/ns/a"},
        {"/registry/apiextensions.k8s.io/customresourcedefinitions/a", "/apiextensions.k8s.io/customresourcedefinitions/a"},
        {"/registry/apiregistration.k8s.io/apiservices/a", "/apiregistration.k8s.io/apiservices/a"},
        {"/registry/example.com/widgets/ns/a", "/example.com/widgets/ns/a"},
        {"/registry/example.com/pods/ns/a", "/example.com/pods/ns/a"},
        {"/allocation/node-ports/30000", "/_porthole/allocation/node-ports/30000"},
        {"/registry/ranges/serviceips", "/ranges/serviceips"},
        {"/registry/services/other/a", "/services/other/a"},
    };
    for (const auto& [key, etcd_key] : rows) {
        EXPECT_EQ(etcd_key_of(key), etcd_key);
        EXPECT_EQ(key_of_etcd(etcd_key), key);
    }
    for (const char* nobodys : {"", "pods/a", "/_porthole", "/_porthole/registry/core/pods/a", "/core/pods/ns/a", "/apps/deployments/ns/a"})
        EXPECT_EQ(key_of_etcd(nobodys), std::nullopt);
}

TEST(EtcdKeys, OfEveryKindLeadBack) {
    for (const schema::Kind* kind : api::kinds()) {
        if (!kind->is(schema::Kind::Resource)) continue;
        const std::string key = object_key(*kind, "ns", "a");
        EXPECT_EQ(key_of_etcd(etcd_key_of(key)), key);
    }
}

TEST(RevisionGap, IsWhereTheMetadataHasItsResourceVersion) {
    const struct {
        const char* name;
        std::string before, after;
    } rows[] = {
        {"ours", R"({"kind":"Pod","metadata":{"name":"a","resourceVersion":""},"spec":{}})",
         R"({"kind":"Pod","metadata":{"name":"a","resourceVersion":"!"},"spec":{}})"},
        {"some number", R"({"metadata":{"resourceVersion":"77","name":"a"}})", R"({"metadata":{"resourceVersion":"!","name":"a"}})"},
        {"none", R"({"metadata":{"name":"a"}})", R"({"metadata":{"resourceVersion":"!","name":"a"}})"},
        {"nothing else", R"({"metadata":{}})", R"({"metadata":{"resourceVersion":"!"}})"},
        {"spaces", "{ \"spec\" : [1, {\"a\":2}] ,\n\"metadata\" : { \"resourceVersion\" : \"5\" } }\n",
         "{ \"spec\" : [1, {\"a\":2}] ,\n\"metadata\" : { \"resourceVersion\" : \"!\" } }\n"},
        {"one that is deeper", R"({"spec":{"metadata":{"resourceVersion":""}},"metadata":{"labels":{"resourceVersion":""}}})",
         R"({"spec":{"metadata":{"resourceVersion":""}},"metadata":{"resourceVersion":"!","labels":{"resourceVersion":""}}})"},
        {"quotes in strings", R"({"a":"\"metadata\":{\\","metadata":{"n":"}\"","resourceVersion":""}})",
         R"({"a":"\"metadata\":{\\","metadata":{"n":"}\"","resourceVersion":"!"}})"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        std::string text = row.before;
        const auto gap = open_revision_gap(text);
        ASSERT_TRUE(gap);
        EXPECT_EQ(text.insert(*gap, "!"), row.after);
    }
}

TEST(RevisionGap, IsNotInWhatIsNoObject) {
    for (const char* text :
         {"", "{", "ns/service", "[]", "{}", R"({"kind":"Pod"})", R"({"metadata":1})", R"({"metadata":{"resourceVersion":7}})",
          R"({"metadata":{"resourceVersion":"7)", R"({"metadata)", R"({"a":"\)", R"({"a" "metadata":{}})"}) {
        std::string changed = text;
        EXPECT_EQ(open_revision_gap(changed), std::nullopt) << text;
        EXPECT_EQ(changed, text);
    }
}

struct EtcdFormTest : testing::Test {
    std::shared_ptr<StorageEncryption> encryption =
        std::make_shared<StorageEncryption>([](const EncryptionProvider&) { return std::shared_ptr<StorageCipher>(); });
    std::shared_ptr<store::etcd::StoredForm> form = make_etcd_form(encryption, "/registry");
    const std::string secret = "/registry/core/secrets/ns/a",
                      text = R"({"metadata":{"resourceVersion":""},"apiVersion":"v1","kind":"Secret"})";

    Result<void> try_use(const std::string& provider) {
        TRY(const auto configuration,
            EncryptionConfiguration::parse("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- "
                                           "resources: [secrets, widgets.example.com]\n  providers:\n" +
                                           provider + "  - identity: {}\n"));
        return encryption->use(configuration);
    }
    void use(const std::string& provider) {
        const auto used = try_use(provider);
        ASSERT_TRUE(used) << used.error().message;
    }
    /// `filler`: four characters of base64 that make up the key.
    static std::string key_named(const std::string& name, const std::string& filler = "YWFh") {
        std::string secret;
        for (int i = 0; i < 10; ++i) secret += filler;
        return "  - secretbox:\n      keys:\n      - name: " + name + "\n        secret: " + secret + "YWE=\n";
    }
};

TEST_F(EtcdFormTest, WhatIsSealedIsEncryptedAndOpensAgain) {
    use(key_named("k1"));
    const auto stored = form->seal(secret, {text, 32});
    ASSERT_TRUE(stored);
    EXPECT_TRUE(stored->bytes.starts_with("k8s:enc:secretbox:v1:k1:")) << stored->bytes;
    const auto opened = form->open(secret, stored->bytes);
    EXPECT_EQ(opened.bytes, text);
    EXPECT_EQ(opened.revision_at, 32u);
    EXPECT_TRUE(form->is_slow(secret));
    EXPECT_FALSE(form->is_stale(secret));
    EXPECT_EQ(form->open(secret, text).bytes, text) << "what was not encrypted is read, too";
    EXPECT_TRUE(form->is_stale(secret));
}

TEST_F(EtcdFormTest, TheContextOfAValueIsItsKeyInEtcd) {
    const std::string provider = "  - aesgcm:\n      keys:\n      - name: k1\n        secret: YWFhYWFhYWFhYWFhYWFhYQ==\n";
    const std::string head = "k8s:enc:aesgcm:v1:k1:", widget = "/registry/example.com/widgets/ns/a";
    const auto cipher = make_key_cipher(EncryptionProvider::Kind::AesGcm, {"k1", std::string(16, 'a')});
    use(provider);
    const auto expect_context = [&](const std::string& key, const std::string& context) {
        const std::string object = key == secret ? text : R"({"metadata":{},"apiVersion":"example.com/v1","kind":"Widget"})";
        const auto sealed = form->seal(key, {object, std::nullopt});
        ASSERT_TRUE(sealed);
        EXPECT_TRUE(cipher->open(sealed->bytes.substr(head.size()), context)) << context;
        const auto upstreams = cipher->seal(object, context);
        ASSERT_TRUE(upstreams);
        EXPECT_FALSE(is_unreadable(form->open(key, head + upstreams->bytes).bytes)) << context;
    };
    expect_context(secret, "/registry/secrets/ns/a");
    expect_context(widget, "/registry/example.com/widgets/ns/a");
    form = make_etcd_form(encryption, "/cluster/a");
    expect_context(secret, "/cluster/a/secrets/ns/a");
    expect_context(widget, "/cluster/a/example.com/widgets/ns/a");
}

TEST_F(EtcdFormTest, AKeyIsInUseWhileAValueThatWasSealedWithItMayArrive) {
    const std::string k1 = key_named("k1"), k2 = key_named("k2", "YmJi");
    use(k1);
    auto late = form->seal(secret, {text, 32});
    auto refused = form->seal("/registry/core/secrets/ns/b", {text, 32});
    ASSERT_TRUE(late && refused);
    EXPECT_EQ(encryption->stale_values(), 0u);
    use(k2 + k1);
    EXPECT_EQ(encryption->stale_values(), 2u);
    refused->pending.reset();
    EXPECT_EQ(encryption->stale_values(), 1u);
    EXPECT_EQ(try_use(k2).error().reason, Reason::Conflict);
    EXPECT_EQ(form->open(secret, late->bytes).bytes, text);
    late->pending.reset();
    EXPECT_EQ(encryption->stale_values(), 1u) << "it has arrived with the old key";
    form->removed(secret);
    EXPECT_EQ(encryption->stale_values(), 0u);
    use(k2);
}

TEST_F(EtcdFormTest, OtherResourcesAreStoredAsTheyAre) {
    use(key_named("k1"));
    EXPECT_EQ(form->seal("/registry/core/pods/ns/a", {text, 32})->bytes, text);
    EXPECT_FALSE(form->is_slow("/registry/core/pods/ns/a"));
    EXPECT_EQ(form->open("/allocation/node-ports/30000", "ns/service").revision_at, std::nullopt);
}

TEST_F(EtcdFormTest, WhatCannotBeDecryptedIsUnreadableUntilItIsWrittenAgain) {
    use(key_named("k1"));
    const auto opened = form->open(secret, "k8s:enc:secretbox:v1:lost:xxxxxxxx");
    EXPECT_TRUE(is_unreadable(opened.bytes)) << opened.bytes;
    EXPECT_EQ(encryption->unreadable().count, 1u);
    EXPECT_EQ(encryption->unreadable().example, secret);
    (void)form->open(secret, form->seal(secret, {text, 32})->bytes);
    EXPECT_EQ(encryption->unreadable().count, 0u);
    (void)form->open(secret, "k8s:enc:secretbox:v1:lost:xxxxxxxx");
    form->removed(secret);
    EXPECT_EQ(encryption->unreadable().count, 0u);
}

TEST_F(EtcdFormTest, WhatIsNotAnObjectOfItsResourceIsUnreadable) {
    const std::string broken = "it is stored as JSON that cannot be read: ",
                      shapeless = "it is stored as JSON that is not an object with metadata",
                      version = ", which is not the one that is stored here";
    const std::string widget = "/registry/example.com/widgets/ns/a";
    const struct {
        std::string key, stored, why;
    } rows[] = {
        {secret, text, ""},
        {secret, "", broken},
        {secret, "garbage", broken},
        {secret, text.substr(0, text.size() - 1), broken},
        {secret, text + "}", broken},
        {secret, R"({"apiVersion":"v1","kind":"Secret"})", shapeless},
        {secret, R"({"apiVersion":"v1","kind":"Secret","metadata":[]})", shapeless},
        {secret, "[]", shapeless},
        {secret, R"({"metadata":{},"apiVersion":"v2","kind":"Secret"})", "it is stored in the version v2" + version},
        {secret, R"({"metadata":{},"kind":"Secret"})", "it is stored in the version " + version},
        {secret, R"({"metadata":{},"apiVersion":"v1","kind":"ConfigMap"})", "it is stored as an object of another kind, \"ConfigMap\""},
        {"/registry/core/events/ns/a", R"({"metadata":{},"apiVersion":"v1","kind":"Event"})", ""},
        {"/registry/autoscaling/horizontalpodautoscalers/ns/a",
         R"({"metadata":{},"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler"})",
         "it is stored in the version autoscaling/v1" + version},
        {widget, R"({"metadata":{},"apiVersion":"example.com/v1beta1","kind":"Widget"})", ""},
        {widget, "garbage", broken},
        {widget, R"({"metadata":{},"apiVersion":"example.com/v1"})", "it is stored as an object of another kind, \"\""},
        {widget, R"({"metadata":{},"apiVersion":"v1","kind":"Widget"})", "it is stored in the version v1" + version},
        {"/registry/ranges/serviceips", "garbage", broken},
        {"/registry/", "garbage", broken},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.key + " " + row.stored);
        const auto opened = form->open(row.key, row.stored);
        EXPECT_EQ(is_unreadable(opened.bytes), !row.why.empty()) << opened.bytes;
        if (is_unreadable(opened.bytes)) EXPECT_TRUE(why_unreadable(opened.bytes).starts_with(row.why)) << opened.bytes;
        EXPECT_EQ(opened.revision_at.has_value(), row.why.empty());
    }
}

TEST_F(EtcdFormTest, JsonIsOneLineForClientsThatReadLines) {
    const std::string widget = "/registry/example.com/widgets/ns/a",
                      upstreams = R"({"metadata":{"resourceVersion":""},"apiVersion":"example.com/v1","kind":"Widget"})";
    auto opened = form->open(widget, upstreams + "\n");
    EXPECT_EQ(opened.bytes, upstreams) << "as upstream's server stores a custom resource";
    opened =
        form->open(widget, "{\n  \"metadata\": {\r\n \"name\": \"a\\nb\"},\n\"apiVersion\":\"example.com/v1\",\n\"kind\":\"Widget\"}\n\n");
    ASSERT_TRUE(opened.revision_at) << opened.bytes;
    EXPECT_EQ(opened.bytes.find_first_of("\r\n"), std::string::npos);
    EXPECT_EQ(schema::parse_json(opened.bytes.insert(*opened.revision_at, "7"))->string_at({"metadata", "name"}), "a\nb");
}

TEST_F(EtcdFormTest, ALeaseOfUpstreamIsRead) {
    const auto* kind = schema::Registry(api::kinds()).find_kind("coordination.k8s.io", "v1", "Lease");
    const auto tree = schema::parse_json(
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a","namespace":"ns"},"spec":{"holderIdentity":"m1",)"
        R"("leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.678901Z"}})");
    const auto stored = schema::encode_enveloped(*kind, *tree);
    ASSERT_TRUE(stored);
    auto opened = form->open("/registry/coordination.k8s.io/leases/ns/a", *stored);
    ASSERT_TRUE(opened.revision_at) << opened.bytes;
    EXPECT_EQ(schema::parse_json(opened.bytes.insert(*opened.revision_at, "7"))->string_at({"spec", "renewTime"}),
              "2026-01-02T03:04:05.678901Z");
}

TEST_F(EtcdFormTest, ProtobufOfUpstreamBecomesJson) {
    const schema::Kind& pod = api::core::v1::Pod::kind();
    const auto tree =
        schema::parse_json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns"},"spec":{"containers":[]}})");
    const auto stored = schema::encode_enveloped(pod, *tree);
    ASSERT_TRUE(stored);
    auto opened = form->open("/registry/core/pods/ns/a", *stored);
    ASSERT_TRUE(opened.revision_at) << opened.bytes;
    const auto shown = schema::parse_json(opened.bytes.insert(*opened.revision_at, "7"));
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->string_at({"metadata", "resourceVersion"}), "7");
    EXPECT_EQ(shown->string_at({"metadata", "name"}), "a");
    EXPECT_EQ(shown->string_at({"kind"}), "Pod");
}

TEST_F(EtcdFormTest, ProtobufOfAnOlderUpstreamHasTodaysDefaults) {
    const schema::Kind& claim = api::core::v1::PersistentVolumeClaim::kind();
    const auto tree = schema::parse_json(
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","namespace":"ns"},"spec":{"volumeName":"v"}})");
    const auto opened = form->open("/registry/core/persistentvolumeclaims/ns/a", *schema::encode_enveloped(claim, *tree));
    const auto shown = schema::parse_json(opened.bytes);
    ASSERT_TRUE(shown) << opened.bytes;
    EXPECT_EQ(shown->string_at({"spec", "volumeMode"}), "Filesystem");
    EXPECT_EQ(shown->string_at({"status", "phase"}), "Pending");
    EXPECT_EQ(shown->string_at({"spec", "volumeName"}), "v");
}

TEST_F(EtcdFormTest, ProtobufThatCannotBeReadIsUnreadable) {
    const auto cut = form->open("/registry/core/pods/ns/a", std::string("k8s\0\n\x0b", 6));
    EXPECT_TRUE(why_unreadable(cut.bytes).starts_with("it is stored as protobuf that cannot be read: ")) << cut.bytes;
    const auto unknown = form->open("/registry/core/pods/ns/a", schema::seal_envelope("example.com/v1", "Widget", ""));
    EXPECT_TRUE(is_unreadable(unknown.bytes));
    const auto event = schema::parse_json(R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a","namespace":"ns"}})");
    const auto other = schema::encode_enveloped(*schema::Registry(api::kinds()).find_kind("events.k8s.io", "v1", "Event"), *event);
    ASSERT_TRUE(other);
    EXPECT_EQ(why_unreadable(form->open("/registry/core/events/ns/a", *other).bytes),
              "it is stored in the version events.k8s.io/v1, which is not the one that is stored here");
}

TEST_F(EtcdFormTest, DefinitionsThatUpstreamStoresInV1beta1AreThoseThatWereCreatedInV1) {
    const struct {
        const char* name;
        std::string stored, shown;  ///< specs
    } rows[] = {
        {"what versions have in common",
         R"({"group":"e.com","version":"v1","scope":"Cluster","names":{"kind":"W"},"validation":{"openAPIV3Schema":{"type":"object"}},)"
         R"("subresources":{"status":{}},"additionalPrinterColumns":[{"name":"S","type":"integer","JSONPath":".s"}],)"
         R"("versions":[{"name":"v1","served":true,"storage":true},{"name":"v2","served":false,"storage":false}],)"
         R"("conversion":{"strategy":"None"},"preserveUnknownFields":false})",
         R"({"group":"e.com","scope":"Cluster","names":{"kind":"W"},"versions":[)"
         R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}},)"
         R"("additionalPrinterColumns":[{"name":"S","type":"integer","jsonPath":".s"}]},)"
         R"({"name":"v2","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}},"subresources":{"status":{}},)"
         R"("additionalPrinterColumns":[{"name":"S","type":"integer","jsonPath":".s"}]}],"conversion":{"strategy":"None"}})"},
        {"versions that differ, and a webhook",
         R"({"group":"e.com","scope":"Namespaced","versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},)"
         R"("additionalPrinterColumns":[{"name":"S","JSONPath":".s"}]},{"name":"v2","subresources":{"scale":{}}}],"conversion":)"
         R"({"strategy":"Webhook","webhookClientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]},"preserveUnknownFields":false})",
         R"({"group":"e.com","scope":"Namespaced","versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}},)"
         R"("additionalPrinterColumns":[{"name":"S","jsonPath":".s"}]},{"name":"v2","subresources":{"scale":{}}}],"conversion":)"
         R"({"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://a"},"conversionReviewVersions":["v1"]}}})"},
        {"one of before there were several versions", R"({"group":"e.com","version":"v1","names":{"kind":"W"}})",
         R"({"group":"e.com","names":{"kind":"W"},"versions":[{"name":"v1","served":true,"storage":true}],"scope":"Namespaced",)"
         R"("conversion":{"strategy":"None"},"preserveUnknownFields":true})"},
    };
    const std::string key = "/registry/apiextensions.k8s.io/customresourcedefinitions/ws.e.com";
    const auto object = [](const char* version, const std::string& spec) {
        return R"({"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/)" + std::string(version) +
               R"(","metadata":{"name":"ws.e.com","resourceVersion":""},"spec":)" + spec + R"(,"status":{"storedVersions":["v1"]}})";
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto opened = form->open(key, object("v1beta1", row.stored));
        ASSERT_TRUE(opened.revision_at) << opened.bytes;
        EXPECT_EQ(*schema::parse_json(opened.bytes), *schema::parse_json(object("v1", row.shown))) << opened.bytes;
    }
    EXPECT_EQ(form->open(key, object("v1", "{}")).bytes, object("v1", "{}"));
    EXPECT_EQ(why_unreadable(form->open(key, object("v1beta1", "7")).bytes), "it is stored as apiextensions.k8s.io/v1beta1 without a spec");
}

}  // namespace
}  // namespace porthole::apiserver
