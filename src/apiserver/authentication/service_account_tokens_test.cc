#include "apiserver/authentication/service_account_tokens.h"

#include "api/core_v1.h"
#include "apiserver/authentication/signing_key.h"
#include "apiserver/storage/object_fixture.h"
#include "base/base64.h"
#include "net/tls/x509.h"
#include "runtime/random.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using api::authentication::v1::BoundObjectReference;
using api::authentication::v1::TokenRequest;

const std::string Issuer = "https://kubernetes.default.svc";
const std::vector<std::string> Audiences = {Issuer};

TokenKey fresh_key() { return make_token_key(*net::JwsKey::from_private_pem(net::PrivateKey::generate().pem())); }

class ServiceAccountTokensTest : public ObjectTest {
protected:
    ServiceAccountTokensTest() {
        put(named<ServiceAccount>("a", "robot", "uid-robot"));
        Pod pod = named<Pod>("a", "web", "uid-web");
        pod.spec.service_account_name = "robot";
        pod.spec.node_name = "n1";
        put(pod);
        put(named<Node>("", "n1", "uid-n1"));
    }
    static TokenRequest bound_to_pod(std::string uid = "") {
        TokenRequest request;
        request.spec.bound_object_ref = BoundObjectReference{.kind = "Pod", .api_version = "v1", .name = "web", .uid = std::move(uid)};
        return request;
    }
    std::string token(TokenRequest request = {}) {
        auto issued = tokens_.issue("a", "robot", std::move(request));
        EXPECT_TRUE(issued) << issued.error().message;
        return issued ? issued->status.token : "";
    }
    /// The user's name, or why the token is refused.
    std::string verified(const std::string& token) {
        auto user = tokens_.verify(token, Audiences);
        if (!user) return user.error().message;
        return *user ? (*user)->user.name : "(no token of ours)";
    }
    std::string issue_error(TokenRequest request, const std::string& account = "robot") {
        auto issued = tokens_.issue("a", account, std::move(request));
        return issued ? "(issued)" : issued.error().message;
    }

    SeededRandom random_{7};
    ObjectReader reader_{*store_};
    TokenKey key_ = fresh_key();
    ServiceAccountTokens tokens_{{key_}, {.issuers = {Issuer}, .api_audiences = Audiences}, reader_, loop_, random_};
};

TEST_F(ServiceAccountTokensTest, SpeaksForTheAccountItWasIssuedFor) {
    auto verified = tokens_.verify(token(bound_to_pod()), Audiences);
    ASSERT_TRUE(verified && *verified);
    User& user = (*verified)->user;
    EXPECT_EQ(user.name, "system:serviceaccount:a:robot");
    EXPECT_EQ(user.uid, "uid-robot");
    EXPECT_EQ(user.groups, (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:a"}));
    EXPECT_EQ(user.extra["authentication.kubernetes.io/pod-name"], std::vector<std::string>{"web"});
    EXPECT_EQ(user.extra["authentication.kubernetes.io/node-name"], std::vector<std::string>{"n1"});
    EXPECT_EQ((*verified)->audiences, Audiences);
}

TEST_F(ServiceAccountTokensTest, LastsAnHourUnlessAskedOtherwise) {
    const std::string short_lived = token();
    loop_.advance(3599s);
    EXPECT_EQ(verified(short_lived), "system:serviceaccount:a:robot");
    loop_.advance(1s);
    EXPECT_EQ(verified(short_lived), "service account token has expired");
}

TEST_F(ServiceAccountTokensTest, AKubeletsTokenIsExtendedForClientsThatNeverReadItAgain) {
    TokenRequest request = bound_to_pod();
    request.spec.expiration_seconds = 3607;
    auto issued = tokens_.issue("a", "robot", request);
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->status.expiration_timestamp.seconds(), Timestamp(loop_.wall_now()).seconds() + 3607);
    loop_.advance(24h);
    EXPECT_EQ(verified(issued->status.token), "system:serviceaccount:a:robot");
}

TEST_F(ServiceAccountTokensTest, NoTokenIsExtendedWhereThatIsOff) {
    const ServiceAccountTokens strict({key_}, {.issuers = {Issuer}, .api_audiences = Audiences, .extend = false}, reader_, loop_, random_);
    TokenRequest request = bound_to_pod();
    request.spec.expiration_seconds = 3607;
    const auto issued = strict.issue("a", "robot", request);
    ASSERT_TRUE(issued);
    loop_.advance(3607s);
    EXPECT_EQ(verified(issued->status.token), "service account token has expired");
}

TEST_F(ServiceAccountTokensTest, OnlyATokenBoundToAPodIsExtended) {
    TokenRequest request;
    request.spec.expiration_seconds = 3607;
    const std::string unbound = token(request);
    request.spec.bound_object_ref = BoundObjectReference{.kind = "Node", .api_version = "v1", .name = "n1"};
    const std::string of_a_node = token(request);
    loop_.advance(3607s);
    EXPECT_EQ(verified(unbound), "service account token has expired");
    EXPECT_EQ(verified(of_a_node), "service account token has expired");
}

TEST_F(ServiceAccountTokensTest, DiesWithWhatItIsBoundTo) {
    const std::string bound = token(bound_to_pod());
    const std::string free = token();
    remove<Pod>("a", "web");
    EXPECT_EQ(verified(bound), "the pod this token is bound to has been deleted");
    EXPECT_EQ(verified(free), "system:serviceaccount:a:robot");

    put(named<Pod>("a", "web", "uid-of-a-namesake"));
    EXPECT_EQ(verified(bound), "the pod this token is bound to has been deleted");

    remove<ServiceAccount>("a", "robot");
    EXPECT_EQ(verified(free), "service account a/robot has been deleted");
}

TEST_F(ServiceAccountTokensTest, IsCheckedAtEachUseThoughItIsKnown) {
    put(named<Secret>("a", "key", "uid-key"));
    const auto known = [&](const std::string& kind, const std::string& name) {
        TokenRequest request;
        request.spec.bound_object_ref = BoundObjectReference{.kind = kind, .api_version = "v1", .name = name};
        std::string issued = token(request);
        EXPECT_EQ(verified(issued), "system:serviceaccount:a:robot");
        return issued;
    };
    const std::string of_pod = known("Pod", "web"), of_secret = known("Secret", "key"), of_node = known("Node", "n1");
    remove<Node>("", "n1");
    EXPECT_EQ(verified(of_node), "the node this token is bound to has been deleted");
    EXPECT_EQ(verified(of_pod), "system:serviceaccount:a:robot") << "of the pod's node only the name matters";
    remove<Secret>("a", "key");
    EXPECT_EQ(verified(of_secret), "the secret this token is bound to has been deleted");
    remove<Pod>("a", "web");
    EXPECT_EQ(verified(of_pod), "the pod this token is bound to has been deleted");
}

TEST_F(ServiceAccountTokensTest, IsKeptForAMinuteWhileItsPodTerminates) {
    const std::string bound = token(bound_to_pod());
    Pod pod = named<Pod>("a", "web", "uid-web");
    pod.metadata.deletion_timestamp = Timestamp(loop_.wall_now());
    put(pod);
    loop_.advance(60s);
    EXPECT_EQ(verified(bound), "system:serviceaccount:a:robot");
    loop_.advance(1s);
    EXPECT_EQ(verified(bound), "the pod this token is bound to has been deleted");
}

TEST_F(ServiceAccountTokensTest, RefusesForgeriesAndStrangers) {
    const std::string good = token();
    const std::size_t dot = good.find('.'), last = good.rfind('.');
    std::string claims = *decode_base64url(std::string_view(good).substr(dot + 1, last - dot - 1));
    claims.replace(claims.find("robot"), 5, "admin");
    EXPECT_EQ(verified(good.substr(0, dot + 1) + encode_base64url(claims) + good.substr(last)),
              "invalid bearer token: the signature is not this server's");

    const ServiceAccountTokens stranger({fresh_key()}, tokens_.settings(), reader_, loop_, random_);
    EXPECT_EQ(verified(stranger.issue("a", "robot", {})->status.token), "invalid bearer token: the signature is not this server's");

    const ServiceAccountTokens elsewhere({key_}, {.issuers = {"https://elsewhere"}, .api_audiences = Audiences}, reader_, loop_, random_);
    EXPECT_EQ(verified(elsewhere.issue("a", "robot", {})->status.token), "(no token of ours)");
    EXPECT_EQ(verified("not.a.token"), "(no token of ours)");
    EXPECT_EQ(verified("opaque"), "(no token of ours)");

    TokenRequest vault;
    vault.spec.audiences = {"vault"};
    EXPECT_EQ(verified(token(vault)), "service account token has none of the audiences it is asked for");
}

TEST_F(ServiceAccountTokensTest, ASignatureThatIsKnownSpeaksForItsOwnTokenAlone) {
    const std::string first = token(), second = token(bound_to_pod());
    ASSERT_EQ(verified(first), "system:serviceaccount:a:robot");
    const std::string borrowed = second.substr(0, second.rfind('.')) + first.substr(first.rfind('.'));
    EXPECT_EQ(verified(borrowed), "invalid bearer token: the signature is not this server's");
    EXPECT_EQ(verified(first), "system:serviceaccount:a:robot");
}

TEST_F(ServiceAccountTokensTest, ManyAudiencesTakeLinearTime) {
    TokenRequest request;
    std::vector<std::string> others;
    for (int i = 0; i < 60'000; ++i) {
        request.spec.audiences.push_back("audience-" + std::to_string(i));
        others.push_back("other-" + std::to_string(i));
    }
    const std::string many = token(std::move(request));
    EXPECT_FALSE(tokens_.verify(many, others));
    others.emplace_back("audience-59999");
    const auto found = tokens_.verify(many, others);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->audiences, std::vector<std::string>{"audience-59999"});
}

TEST_F(ServiceAccountTokensTest, RefusesToIssueWhatCannotHold) {
    TokenRequest brief;
    brief.spec.expiration_seconds = 599;
    EXPECT_EQ(issue_error(brief),
              "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration "
              "less than 10 minutes");
    EXPECT_EQ(issue_error({}, "nobody"), "serviceaccounts \"nobody\" not found");
    EXPECT_EQ(tokens_.issue("a", "robot", bound_to_pod("uid-other")).error().reason, Reason::Conflict);
    put(named<ServiceAccount>("a", "other", "uid-other"));
    EXPECT_EQ(issue_error(bound_to_pod(), "other"),
              "cannot bind token for serviceaccount \"other\" to pod running with different serviceaccount name.");
    TokenRequest service = bound_to_pod();
    service.spec.bound_object_ref->kind = "Service";
    EXPECT_EQ(issue_error(service), "cannot bind token to object of type v1, Kind=Service");
}

TEST_F(ServiceAccountTokensTest, OfAFormerIssuerAreAcceptedAndTheFirstOneIssues) {
    const std::string Next = "https://next";
    const std::vector<std::string> both{Next, Issuer};
    const ServiceAccountTokens tokens({key_}, {.issuers = both, .api_audiences = both}, reader_, loop_, random_);
    const auto former = tokens.verify(token(), both);
    ASSERT_TRUE(former && *former);
    EXPECT_EQ((*former)->user.name, "system:serviceaccount:a:robot");
    EXPECT_EQ((*former)->audiences, Audiences);
    EXPECT_EQ(tokens.openid_configuration().string_at({"issuer"}), Next);
    EXPECT_EQ(tokens.openid_configuration().string_at({"jwks_uri"}), Next + "/openid/v1/jwks");

    TokenRequest request = bound_to_pod();
    request.spec.expiration_seconds = 3607;
    auto issued = tokens.issue("a", "robot", request);
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->spec.audiences, both) << "the audiences of this server";
    EXPECT_EQ(verified(issued->status.token), "(no token of ours)") << "a server that knows the former one only";
    loop_.advance(24h);
    EXPECT_TRUE(tokens.verify(issued->status.token, {Next})) << "it is extended";

    request.spec.audiences = {Issuer};  // one of them
    issued = tokens.issue("a", "robot", request);
    ASSERT_TRUE(issued);
    loop_.advance(24h);
    EXPECT_TRUE(tokens.verify(issued->status.token, both));
}

TEST_F(ServiceAccountTokensTest, PublishesItsKey) {
    EXPECT_EQ(tokens_.jwks().at_path({"keys"})->as_array().at(0).string_at({"kid"}), key_.id);
    EXPECT_EQ(tokens_.openid_configuration().string_at({"jwks_uri"}), Issuer + "/openid/v1/jwks");
}

TEST(BearerToken, IsReadFromTheHeaderOrTheSubprotocol) {
    const struct {
        const char* name;
        const char* header;
        const char* value;
        const char* token;
    } rows[] = {
        {"header", "authorization", "Bearer abc", "abc"},
        {"any case, blanks", "authorization", "bEaReR   abc", "abc"},
        {"another scheme", "authorization", "Basic abc", ""},
        {"no token", "authorization", "Bearer ", ""},
        {"blanks only", "authorization", "Bearer    ", ""},
        {"browser", "sec-websocket-protocol", "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj", "abc"},
        {"none", "accept", "x", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        net::HttpRequest request;
        request.headers.add(row.header, row.value);
        EXPECT_EQ(bearer_token(request), row.token);
    }
}

TEST_F(ServiceAccountTokensTest, HoldWhileTheirKeyIsKnownThoughAnotherOneSigns) {
    const TokenKey next = fresh_key();
    const std::string before = token();
    EXPECT_EQ(verified(before), "system:serviceaccount:a:robot");
    tokens_.use_keys({next, key_});
    const std::string after = token();
    EXPECT_EQ(verified(before), "system:serviceaccount:a:robot");
    EXPECT_EQ(verified(after), "system:serviceaccount:a:robot");
    EXPECT_EQ(tokens_.jwks().at_path({"keys"})->as_array().size(), 2u) << "who verifies tokens elsewhere needs both";
    tokens_.use_keys({next});
    EXPECT_EQ(verified(before), "invalid bearer token: the signature is not this server's");
    EXPECT_EQ(verified(after), "system:serviceaccount:a:robot");
}

}  // namespace
}  // namespace porthole::apiserver
