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
        {R"(password="two words" x)", R"(password="<removed>" x)"},
        {R"({"password":"a,b c&d"})", R"({"password":"<removed>"})"},
        {"PASSWORD=p&s,s;x} y", "PASSWORD=<removed> y"},
        {R"(msg="{\"token\":\"abc\",\"a\":1}")", R"(msg="{\"token\":\"<removed>\",\"a\":1}")"},
        {"client-key-data: LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t", "client-key-data: <removed>"},
        {"key LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t", "key <removed>"},
        {"ca LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI=", "ca LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI="},
        {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nabc\n-----END RSA PRIVATE KEY----- b", "<removed> b"},
        {"https://ghp_x@github.com/a", "https://<removed>@github.com/a"},
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

TEST(Redact, TakesOutWhatOtherToolsKeepInAnnotationsAndHeadersOfProbes) {
    EXPECT_EQ(redacted(R"({"kind":"Secret","metadata":{"annotations":{"kapp.k14s.io/original":"{data}"}}})"),
              R"({"kind":"Secret","metadata":{"annotations":{"kapp.k14s.io/original":"<removed: 6 bytes>"}}})");
    EXPECT_EQ(redacted(R"({"httpGet":{"httpHeaders":[{"name":"X-Key","value":"abc"}]},"env":{"A":"x"},"api_key":"a","client-secret":5,)"
                       R"("tokens":["t"]})"),
              R"({"httpGet":{"httpHeaders":[{"name":"X-Key","value":"<removed: 3 bytes>"}]},"env":{"A":"<removed: 1 bytes>"},)"
              R"("api_key":"<removed: 1 bytes>","client-secret":"<removed>","tokens":["<removed: 1 bytes>"]})");
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
