#include <gtest/gtest.h>

#include "apiserver/request/negotiation.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user_agent.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "apiserver/validation/name_generation.h"
#include "apiserver/validation/names.h"

namespace porthole::apiserver {
namespace {

TEST(RequestInfo, ReadsPaths) {
    const struct {
        const char *method, *path, *query;
        const char *verb, *group, *version, *namespace_, *resource, *name, *subresource;
    } rows[] = {
        {"GET", "/api/v1/pods", "", "list", "", "v1", "", "pods", "", ""},
        {"GET", "/api/v1/namespaces/a/pods/p", "", "get", "", "v1", "a", "pods", "p", ""},
        {"GET", "/api/v1/namespaces/a/pods", "watch=true", "watch", "", "v1", "a", "pods", "", ""},
        {"GET", "/api/v1/namespaces/a/pods", "watch=0", "list", "", "v1", "a", "pods", "", ""},
        {"GET", "/api/v1/watch/namespaces/a/pods", "", "watch", "", "v1", "a", "pods", "", ""},
        {"POST", "/api/v1/namespaces/a/pods/p/eviction", "", "create", "", "v1", "a", "pods", "p", "eviction"},
        {"PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale", "", "update", "apps", "v1", "a", "deployments", "d", "scale"},
        {"DELETE", "/apis/apps/v1/namespaces/a/deployments", "", "deletecollection", "apps", "v1", "a", "deployments", "", ""},
        {"GET", "/api/v1/namespaces/a", "", "get", "", "v1", "a", "namespaces", "a", ""},
        {"PUT", "/api/v1/namespaces/a/finalize", "", "update", "", "v1", "a", "namespaces", "a", "finalize"},
        {"GET", "/api/v1/nodes/n/proxy/stats/summary", "", "get", "", "v1", "", "nodes", "n", "proxy"},
        {"GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dp", "list", "", "v1", "", "pods", "p", ""},
        {"GET", "/api/v1/pods", "fieldSelector=metadata.namespace!=x%5C,metadata.name%3Dp", "list", "", "v1", "", "pods", "", ""},
        {"GET", "/api/v1/pods", "fieldSelector=metadata.name%3Da/b", "list", "", "v1", "", "pods", "", ""},
        {"DELETE", "/api/v1/pods", "fieldSelector=metadata.name%3Dp", "deletecollection", "", "v1", "", "pods", "", ""},
        {"GET", "/api/v1/watch/namespaces/a/pods/p", "", "watch", "", "v1", "a", "pods", "p", ""},
        {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", "", "get", "rbac.authorization.k8s.io", "v1", "",
         "clusterroles", "system:node", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.method) + " " + row.path + "?" + row.query);
        const RequestInfo info = parse_request_info(row.method, row.path, row.query);
        EXPECT_TRUE(info.is_resource);
        EXPECT_EQ(info.verb, row.verb);
        EXPECT_EQ(info.group, row.group);
        EXPECT_EQ(info.version, row.version);
        EXPECT_EQ(info.namespace_, row.namespace_);
        EXPECT_EQ(info.resource, row.resource);
        EXPECT_EQ(info.name, row.name);
        EXPECT_EQ(info.subresource, row.subresource);
    }
    EXPECT_FALSE(parse_request_info("GET", "/apis/apps/v1", "").is_resource);
    EXPECT_EQ(parse_request_info("GET", "/healthz", "").verb, "get");
}

TEST(Negotiation, ChoosesWhatTheClientTakes) {
    const struct {
        const char* accept;
        Encoding encoding;
        Transform transform;
    } rows[] = {
        {"", Encoding::Json, Transform::None},
        {"*/*", Encoding::Json, Transform::None},
        {"application/yaml", Encoding::Yaml, Transform::None},
        {"application/vnd.kubernetes.protobuf", Encoding::Protobuf, Transform::None},
        {"application/vnd.kubernetes.protobuf,application/json", Encoding::Json, Transform::None},
        {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Encoding::Json, Transform::Table},
        {"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", Encoding::Json, Transform::None},
        {"application/json;q=0.1,application/yaml;q=0.9", Encoding::Yaml, Transform::None},
        {"application/yaml;q=7,application/json;q=77", Encoding::Yaml, Transform::None},
        {"application/json;q=0.9,application/yaml;q=nan", Encoding::Yaml, Transform::None},
        {"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Encoding::Json, Transform::PartialObjectMetadata},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.accept);
        const auto form = negotiate_output(row.accept, true, false);
        ASSERT_TRUE(form);
        EXPECT_EQ(form->encoding, row.encoding);
        EXPECT_EQ(form->transform, row.transform);
    }
    EXPECT_EQ(negotiate_output("text/html", true, false).error().reason, Reason::NotAcceptable);
    EXPECT_EQ(negotiate_output("application/yaml", true, true).error().reason, Reason::NotAcceptable) << "YAML cannot be streamed";
    EXPECT_EQ(encoding_of_content_type("text/plain").error().reason, Reason::UnsupportedMediaType);
    EXPECT_EQ(*encoding_of_content_type(""), Encoding::Json);
}

TEST(LabelSelector, MatchesAndPrints) {
    const Labels labels{{"app", "web"}, {"tier", "5"}};
    const struct {
        const char* selector;
        bool matches;
        const char* text;
    } rows[] = {
        {"", true, ""},
        {"app=web", true, "app=web"},
        {"app==web,tier!=5", false, "app==web,tier!=5"},
        {"app in (web, db)", true, "app in (db,web)"},
        {"app in (web)", true, "app in (web)"},
        {"app notin (web)", false, "app notin (web)"},
        {"missing notin (a)", true, "missing notin (a)"},
        {"!missing", true, "!missing"},
        {"app", true, "app"},
        {"tier>4", true, "tier>4"},
        {"tier<5", false, "tier<5"},
        {"in in (in)", false, "in in (in)"},
        {"app=", false, "app="},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.selector);
        const auto selector = LabelSelector::parse(row.selector);
        ASSERT_TRUE(selector) << selector.error().message;
        EXPECT_EQ(selector->matches(labels), row.matches);
        EXPECT_EQ(to_string(*selector), row.text);
    }
    for (const char* bad : {"a=b=c", "a in b", "a in (b", "=a", "a,,b", "a,", "-bad=x", "a>x"})
        EXPECT_FALSE(LabelSelector::parse(bad)) << bad;
}

TEST(LabelSelector, OfAnObjectPrintsAsUpstreams) {
    const api::meta::v1::LabelSelector selector{.match_labels = {{"app", "web"}},
                                                .match_expressions = {{.key = "tier", .operator_ = "In", .values = {"b"}},
                                                                      {.key = "app", .operator_ = "NotIn", .values = {"z", "y"}}}};
    EXPECT_EQ(to_string(LabelSelector::from(selector)), "app=web,app notin (y,z),tier in (b)");
}

TEST(LabelSelector, KeepsTheOrderOfRequirementsOfOneKey) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += std::string(i > 0 ? "," : "") + (i % 3 ? "a!=" : "b!=") + std::to_string(i);
    const std::string sorted = to_string(*LabelSelector::parse(text));
    EXPECT_TRUE(sorted.starts_with("a!=1,a!=2,a!=4,a!=5,a!=7,")) << sorted;
    EXPECT_EQ(to_string(*LabelSelector::parse(sorted)), sorted);
}

TEST(FieldSelector, SplitsTermsAndEscapes) {
    const auto selector = FieldSelector::parse(R"(a=b\,c,d!=e,f==)");
    ASSERT_TRUE(selector);
    ASSERT_EQ(selector->terms().size(), 3u);
    EXPECT_EQ(selector->terms()[0].value, "b,c");
    EXPECT_FALSE(selector->terms()[1].equal);
    EXPECT_EQ(selector->terms()[2].value, "");
    EXPECT_EQ(selector->required_value("a"), "b,c");
    EXPECT_EQ(selector->required_value("d"), std::nullopt) << "an inequality leaves the field open";
    EXPECT_EQ(required_value("a=" + escape_field_value(R"(b,c=\)"), "a"), R"(b,c=\)");
    EXPECT_EQ(required_value(R"(a=\x,b=c)", "b"), std::nullopt) << "what cannot be parsed requires nothing";
    EXPECT_FALSE(FieldSelector::parse("nothing"));
    EXPECT_FALSE(FieldSelector::parse(R"(a=\x)"));
}

TEST(Names, FollowTheirFormats) {
    using namespace names;
    EXPECT_TRUE(check_dns1123_label("a-1").empty());
    EXPECT_EQ(check_dns1123_label("a.b"), Problems{"must not contain dots"});
    EXPECT_FALSE(check_dns1123_label("-a").empty());
    EXPECT_FALSE(check_dns1123_label(std::string(64, 'a')).empty());
    EXPECT_TRUE(check_dns1123_subdomain("a.b-c").empty());
    EXPECT_FALSE(check_dns1123_subdomain("a..b").empty());
    EXPECT_FALSE(check_dns1035_label("1a").empty());
    EXPECT_TRUE(check_qualified_name("example.com/My_Name").empty());
    EXPECT_FALSE(check_qualified_name("/x").empty());
    EXPECT_FALSE(check_qualified_name("a/b/c").empty());
    EXPECT_TRUE(check_label_value("").empty());
    EXPECT_FALSE(check_label_value("a b").empty());
    EXPECT_TRUE(check_cidr("10.0.0.0/8").empty());
    EXPECT_FALSE(check_cidr("10.0.0.0/33").empty());
    EXPECT_TRUE(check_name(NameRule::Subdomain, "web-", true).empty()) << "a prefix may end with a dash";
}

TEST(NameGeneration, CutsLongPrefixes) {
    SeededRandom random(1);
    EXPECT_EQ(generated_name(std::string(100, 'a'), random).size(), 63u);
    EXPECT_NE(generated_name("a-", random), generated_name("a-", random));
}

TEST(UserAgent, BecomesANameThatCanBePrinted) {
    struct {
        const char* name;
        std::string agent, manager;
    } const rows[] = {
        {"program", "kubectl/v1.36.0 (linux/amd64)", "kubectl"},
        {"no version", "curl", "curl"},
        {"blank", "my agent/1", "my agent"},
        {"controls", std::string("a\0\x01\n\x7f\xc2\x85z", 8), "az"},
        {"letters of others", "r\xc3\xbc\x62\xe2\x82\xac\xf0\x9f\x9a\x80/1", "r\xc3\xbc\x62\xe2\x82\xac\xf0\x9f\x9a\x80"},
        {"invisible", "a\xe2\x80\xae\xef\xbb\xbf\x62", "ab"},
        {"broken", "a\xff\xc3/1", "a\xef\xbf\xbd\xef\xbf\xbd"},
        {"overlong", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"long", std::string(127, 'x') + "\xc3\xbc", std::string(127, 'x')},
        {"nothing", "/1", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(manager_of_user_agent(row.agent), row.manager);
    }
}

}  // namespace
}  // namespace porthole::apiserver
