#include "apiserver/access_flags.h"

#include <gtest/gtest.h>

#include "apiserver/example_options.h"
#include "apiserver/outgoing/outgoing_fixture.h"

namespace porthole::apiserver {
namespace {

struct AccessFlagsTest : testing::Test {
    /// "" when the flags are taken.
    std::string refusal_of(const AccessFlags& flags) {
        options = ApiServerOptions();
        const auto read = read_access_flags(servers.files(), flags, options);
        return read ? "" : read.error().message;
    }
    void write(const char* path, const std::string& text) { ASSERT_TRUE(servers.files().write(path, text, 0600)); }

    sim::SimLoop loop;
    FakeServers servers{loop};
    ApiServerOptions options;
    AccessFlags flags;
};

TEST_F(AccessFlagsTest, WithoutAnyAreTheUsual) {
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_TRUE(options.authentication.anonymous.enabled);
    EXPECT_TRUE(options.authentication.issuers.empty());
    EXPECT_FALSE(options.authentication.webhook);
    EXPECT_EQ(options.authentication.request_header.ca_pem, "");
    ASSERT_EQ(options.authorizers.size(), 2u);
    EXPECT_EQ(options.authorizers[0].type, AuthorizerOptions::Type::Node);
    EXPECT_EQ(options.authorizers[1].type, AuthorizerOptions::Type::Rbac);
}

TEST_F(AccessFlagsTest, OfIssuersAndTheFileExcludeEachOther) {
    write("/auth", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: false}\n");
    flags.authentication_config = "/auth";
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_FALSE(options.authentication.anonymous.enabled);
    flags.anonymous_auth = true;
    EXPECT_EQ(refusal_of(flags),
              "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file");
    flags.anonymous_auth.reset();
    flags.oidc_groups_claim = "groups";
    EXPECT_EQ(refusal_of(flags), "authentication-config file and oidc-* flags are mutually exclusive");
    flags.authentication_config = "";
    EXPECT_EQ(refusal_of(flags), "oidc-issuer-url and oidc-client-id must be specified together");
    flags.oidc_issuer_url = "https://a";
    flags.oidc_client_id = "x";
    flags.oidc_required_claim = {"a=b=c", "d=e"};
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.authentication.issuers.at(0).required_claims, (std::map<std::string, std::string>{{"a", "b=c"}, {"d", "e"}}));
    flags.oidc_required_claim = {"a"};
    EXPECT_EQ(refusal_of(flags), "oidc-required-claim \"a\" is not key=value");
    flags.oidc_required_claim.clear();
    flags.oidc_ca_file = "/none";
    EXPECT_NE(refusal_of(flags).find("/none"), std::string::npos);
}

TEST_F(AccessFlagsTest, OfWebhooksAndProxies) {
    flags.token_webhook_config_file = "/hook";
    flags.token_webhook_version = "v2";
    EXPECT_EQ(refusal_of(flags), "authentication-token-webhook-version \"v2\" is neither v1 nor v1beta1");
    flags.token_webhook_version = "v1";
    flags.token_webhook_cache_ttl = "soon";
    EXPECT_EQ(refusal_of(flags), "--authentication-token-webhook-cache-ttl: invalid duration \"soon\"");
    flags.token_webhook_cache_ttl = "0s";
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.authentication.webhook->kubeconfig, "/hook");

    flags.requestheader_allowed_names = {"proxy"};
    EXPECT_EQ(refusal_of(flags), "requestheader-allowed-names needs requestheader-client-ca-file");
    write("/proxy.crt", "PEM");
    flags.requestheader_client_ca_file = "/proxy.crt";
    flags.requestheader_uid_headers = {"X-Remote-Uid"};
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.authentication.request_header.ca_pem, "PEM");
    EXPECT_EQ(options.bootstrap.front_proxy.allowed_names, std::vector<std::string>{"proxy"}) << "what extension API servers are told";
    EXPECT_EQ(options.bootstrap.front_proxy.uid_headers, std::vector<std::string>{"X-Remote-Uid"});

    flags.proxy_client_cert_file = "/client.crt";
    EXPECT_EQ(refusal_of(flags), "proxy-client-cert-file and proxy-client-key-file go together");
    flags.proxy_client_key_file = "/client.key";
    write("/client.crt", "CERTIFICATE");
    write("/client.key", "KEY");
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.front_proxy_certificate_pem + options.front_proxy_key_pem, "CERTIFICATEKEY");
}

TEST_F(AccessFlagsTest, FilesAreNotEndless) {
    const std::string padding = "#" + std::string(LargestAccessFile, 'x') + "\n";
    write("/auth", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n" + padding);
    write("/authorizers",
          "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: RBAC, name: r}]\n" + padding);
    write("/ca", padding);
    const std::pair<std::string AccessFlags::*, const char*> files[] = {{&AccessFlags::authentication_config, "/auth"},
                                                                        {&AccessFlags::authorization_config, "/authorizers"},
                                                                        {&AccessFlags::requestheader_client_ca_file, "/ca"},
                                                                        {&AccessFlags::oidc_ca_file, "/ca"}};
    for (const auto& [flag, path] : files) {
        AccessFlags one;
        one.*flag = path;
        if (flag == &AccessFlags::oidc_ca_file) one.oidc_issuer_url = "https://a", one.oidc_client_id = "x";
        EXPECT_NE(refusal_of(one).find(path), std::string::npos) << path << ": " << refusal_of(one);
    }
}

TEST_F(AccessFlagsTest, OfAuthorizers) {
    flags.authorization_mode = {"RBAC", "AlwaysAllow"};
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.authorizers.at(1).type, AuthorizerOptions::Type::AlwaysAllow);
    flags.authorization_config = "/authz";
    EXPECT_EQ(refusal_of(flags),
              "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined");
    flags.authorization_mode.clear();
    write("/authz", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: RBAC, name: r}]\n");
    ASSERT_EQ(refusal_of(flags), "");
    EXPECT_EQ(options.authorizers.size(), 1u);
}

}  // namespace
}  // namespace porthole::apiserver
