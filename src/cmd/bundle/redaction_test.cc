#include "cmd/bundle/redaction.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::cmd::bundle {
namespace {

TEST(RedactText, TakesOutWhatHasTheFormOfASecret) {
    const struct {
        const char *text, *redacted;
    } cases[] = {
        {"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI\n-----END EC PRIVATE KEY-----\nafter", "<removed>\nafter"},
        {"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"},
        {"user eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl asks", "user <removed> asks"},
        {"join --token abcdef.0123456789abcdef", "join --token <removed>"},
        {"Authorization: Bearer abcdefgh12345678", "Authorization: Bearer <removed>"},
        {"https://user:pa55@registry.example/v2", "https://<removed>@registry.example/v2"},
        {"https://registry.example:5000/v2", "https://registry.example:5000/v2"},
        {"password=hunter2 user=jane", "password=<removed> user=jane"},
        {R"({"apiKey": "abc", "name": "x"})", R"({"apiKey": "<removed>", "name": "x"})"},
        {"DB_PASSWORD: 's3cret'", "DB_PASSWORD: '<removed>'"},
        {"secret \"web\" not found", "secret \"web\" not found"},
        {"", ""},
    };
    for (const auto& one : cases) EXPECT_EQ(redact_text(one.text), one.redacted);
}

std::string redacted(const char* json) {
    auto object = schema::parse_json(json);
    EXPECT_TRUE(object);
    redact(*object);
    return schema::to_json(*object);
}

TEST(Redact, TakesOutContentsOfSecretsAndConfigMaps) {
    EXPECT_EQ(redacted(R"({"kind":"Secret","metadata":{"name":"a"},"data":{"k":"dmFsdWU="},"stringData":{"l":"x"}})"),
              R"({"kind":"Secret","metadata":{"name":"a"},"data":{"k":"<removed: 8 bytes>"},"stringData":{"l":"<removed: 1 bytes>"}})");
    EXPECT_EQ(redacted(R"({"kind":"SecretList","items":[{"data":{"k":"dmFsdWU="}}]})"),
              R"({"kind":"SecretList","items":[{"data":{"k":"<removed: 8 bytes>"}}]})");
    EXPECT_EQ(
        redacted(R"({"kind":"ConfigMapList","items":[{"kind":"ConfigMap","data":{"k":"v"},"binaryData":{"b":"AA=="}}]})"),
        R"({"kind":"ConfigMapList","items":[{"kind":"ConfigMap","data":{"k":"<removed: 1 bytes>"},"binaryData":{"b":"<removed: 4 bytes>"}}]})");
}

TEST(Redact, TakesOutValuesOfVariablesWhereverAPodIsDescribed) {
    EXPECT_EQ(
        redacted(R"({"kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"i","env":[{"name":"A","value":"x"},
                          {"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}]}}}})"),
        R"({"kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"i","env":[{"name":"A","value":"<removed: 1 bytes>"},)"
        R"({"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}]}}}})");
}

TEST(Redact, TakesOutCopiesNamesOfSecretsAndFormsAtAnyDepth) {
    EXPECT_EQ(
        redacted(R"({"kind":"Database","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","note":"token=a"},
                          "managedFields":[{"manager":"m"}]},"spec":{"adminPassword":"x","list":["password: y"],"automountServiceAccountToken":true}})"),
        R"({"kind":"Database","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"<removed: 2 bytes>",)"
        R"("note":"token=<removed>"}},"spec":{"adminPassword":"<removed: 1 bytes>","list":["password: <removed>"],)"
        R"("automountServiceAccountToken":true}})");
}

}  // namespace
}  // namespace porthole::cmd::bundle
