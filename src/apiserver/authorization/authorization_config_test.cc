#include "apiserver/authorization/authorization_config.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using Type = AuthorizerOptions::Type;

constexpr const char* Head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n";
constexpr const char* WebhookEntry =
    "timeout: 3s, failurePolicy: Deny, subjectAccessReviewVersion: v1, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /hook}";

std::string refusal_of(const std::string& body) {
    const auto parsed = parse_authorization_config(Head + body, "file");
    return parsed ? "" : parsed.error().message;
}
std::string one(const std::string& fields) { return "authorizers: [{" + fields + "}]\n"; }
std::string webhook(const std::string& fields) { return one("type: Webhook, name: hook, webhook: {" + fields + "}"); }

std::string conditions(const std::string& entries) {
    return webhook(std::string(WebhookEntry) + ", matchConditionSubjectAccessReviewVersion: v1, matchConditions: [" + entries + "]");
}
std::string many(int count) {
    std::string entries;
    for (int i = 0; i < count; ++i) entries += (i ? ", {expression: '" : "{expression: '") + std::to_string(i) + " == 0'}";
    return entries;
}

TEST(AuthorizationConfig, NamesAuthorizersInOrder) {
    const auto parsed = parse_authorization_config(
        std::string(Head) + "authorizers:\n- {type: Node, name: node}\n- {type: Webhook, name: hook, webhook: {" + WebhookEntry +
            ", authorizedTTL: 1m, cacheUnauthorizedRequests: false}}\n- {type: RBAC, name: rbac}\n",
        "file");
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(parsed->size(), 3u);
    EXPECT_EQ(parsed->at(0).type, Type::Node);
    EXPECT_EQ(parsed->at(1).type, Type::Webhook);
    EXPECT_EQ(parsed->at(2).type, Type::Rbac);
    const WebhookAuthorizerOptions& options = parsed->at(1).webhook;
    EXPECT_EQ(options.kubeconfig, "/hook");
    EXPECT_EQ(options.version, "v1");
    EXPECT_EQ(options.timeout, 3s);
    EXPECT_EQ(options.authorized_ttl, 1min);
    EXPECT_EQ(options.unauthorized_ttl, 0s);
    EXPECT_TRUE(options.deny_on_failure);
}

TEST(AuthorizationConfig, IsChecked) {
    const struct {
        std::string text;
        const char* problem;
    } rows[] = {
        {"", "authorizers: Required value: at least one authorization mode must be defined"},
        {one("name: a"), "authorizers[0].type: Required value"},
        {one("type: Magic, name: a"), "authorizers[0].type: \"Magic\" is not a valid mode"},
        {one("type: ABAC, name: a"), "authorizers[0].type: \"ABAC\" is not a valid mode of this server"},
        {one("type: RBAC"), "authorizers[0].name: Required value"},
        {one("type: RBAC, name: A_B"), "authorizers[0].name: Invalid value: \"A_B\": authorizer name is invalid"},
        {one("type: RBAC, name: a, webhook: {}"), "may only be specified when type=Webhook"},
        {"authorizers: [{type: RBAC, name: a}, {type: RBAC, name: b}]\n", "authorizers[1].type: Duplicate value: \"RBAC\""},
        {"authorizers: [{type: RBAC, name: a}, {type: Node, name: a}]\n", "authorizers[1].name: Duplicate value: \"a\""},
        {webhook(""), "authorizers[0].webhook.timeout: Required value"},
        {webhook("timeout: 31s"), "authorizers[0].webhook.timeout: Invalid value: must be > 0s and <= 30s"},
        {webhook("failurePolicy: Allow"), "failurePolicy: Unsupported value: \"Allow\": supported values: \"Deny\", \"NoOpinion\""},
        {webhook("subjectAccessReviewVersion: v2"), "subjectAccessReviewVersion: Unsupported value: \"v2\""},
        {webhook("connectionInfo: {type: InClusterConfig}"), "connectionInfo.type: Unsupported value: \"InClusterConfig\""},
        {webhook("connectionInfo: {type: KubeConfigFile, kubeConfigFile: hook}"), "must be an absolute path"},
        {webhook(std::string(WebhookEntry) + ", matchConditions: [{expression: 'true'}]"),
         "webhook.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified"},
        {webhook(std::string(WebhookEntry) + ", matchConditionSubjectAccessReviewVersion: v1beta1"),
         "matchConditionSubjectAccessReviewVersion: Unsupported value: \"v1beta1\": supported values: \"v1\""},
        {conditions("{expression: ' '}"), "authorizers[0].webhook.matchConditions[0].expression: Required value"},
        {conditions("{expression: 'true'}, {expression: 'true'}"), "matchConditions[1].expression: Duplicate value: \"true\""},
        {conditions("{expression: request.name}"),
         "matchConditions[0].expression: Invalid value: \"request.name\": compilation failed: ERROR: <input>:1:8: undefined field 'name'"},
        {conditions("{expression: request.groups.includes('a')}"), "undeclared reference to 'includes'"},  // of 1.37
        {conditions("{expression: request.user}"), "must evaluate to bool but got string"},
        {conditions("{expression: size(request.groups)}"), "must evaluate to bool but got int"},
        {conditions(many(65)), "authorizers[0].webhook.matchConditions: Too many: 65: must have at most 64 items"},
        {webhook(std::string(WebhookEntry) + ", typo: 1"), "unknown field \"authorizers[0].webhook.typo\""},
        {webhook(std::string(WebhookEntry) + ", authorizedTTL: 0s"), "authorizedTTL: Invalid value: must be > 0s"},
    };
    for (const auto& row : rows) EXPECT_NE(refusal_of(row.text).find(row.problem), std::string::npos) << row.text << refusal_of(row.text);
    EXPECT_EQ(refusal_of(webhook(WebhookEntry)), "");
    EXPECT_EQ(refusal_of(conditions(many(64))), "");
}

TEST(AuthorizationModes, AreCheckedInUpstreamsWords) {
    const auto refusal = [](std::vector<std::string> modes, const char* kubeconfig = "") {
        const auto made = authorizers_of_modes(modes, {.kubeconfig = kubeconfig});
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refusal({"Node", "RBAC"}), "");
    EXPECT_EQ(refusal({"Node", "Webhook"}, "/hook"), "");
    EXPECT_EQ(refusal({}), "at least one authorization-mode must be passed");
    EXPECT_EQ(refusal({"Magic"}), "authorization-mode \"Magic\" is not a valid mode");
    EXPECT_EQ(refusal({"RBAC", "RBAC"}), "authorization-mode \"RBAC\" has mode specified more than once");
    EXPECT_EQ(refusal({"Webhook"}), "authorization-mode Webhook's authorization config file not passed");
    EXPECT_EQ(refusal({"RBAC"}, "/hook"), "cannot specify --authorization-webhook-config-file without mode Webhook");
}

}  // namespace
}  // namespace porthole::apiserver
