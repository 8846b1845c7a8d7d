#include "apiserver/aggregation/remote_discovery.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

std::string text(const Result<RemoteResources>& resources) {
    return resources ? schema::to_json(schema::Value(**resources)) : resources.error().message;
}

TEST(RemoteDiscovery, TakesItsOwnGroupVersionOfTheAggregatedDocument) {
    const auto read = [](const char* group, const char* version) {
        return text(read_aggregated_discovery(
            R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[)"
            R"({"resource":"deployments","scope":"Namespaced","verbs":["get"]}]}]},{"metadata":{"name":"wardle.example.com"},)"
            R"("versions":[{"version":"v1","resources":[{"resource":"flunders","responseKind":{"group":"wardle.example.com",)"
            R"("version":"v1","kind":"Flunder"},"scope":"Namespaced","singularResource":"flunder","verbs":["get","list"],)"
            R"("unknown":[1]}]}]}]})",
            group, version));
    };
    EXPECT_EQ(read("wardle.example.com", "v1"),
              R"([{"resource":"flunders","responseKind":{"group":"wardle.example.com","version":"v1","kind":"Flunder"},)"
              R"("scope":"Namespaced","singularResource":"flunder","verbs":["get","list"]}])");
    EXPECT_EQ(read("wardle.example.com", "v2"), "[]");
    EXPECT_EQ(read("other", "v1"), "[]");
}

TEST(RemoteDiscovery, MakesTheAggregatedFormOfAPlainList) {
    const char* list =
        R"({"kind":"APIResourceList","groupVersion":"wardle.example.com/v1","resources":[)"
        R"({"name":"flunders/status","singularName":"","namespaced":true,"kind":"Flunder","verbs":["get"]},)"
        R"({"name":"flunders","singularName":"flunder","namespaced":true,"kind":"Flunder","verbs":["get"],"shortNames":["fl"]},)"
        R"({"name":"lost/status","namespaced":false,"kind":"Lost","verbs":[]},)"
        R"({"name":"fischers","singularName":"fischer","namespaced":false,"kind":"Fischer","verbs":["list"]}]})";
    EXPECT_EQ(text(read_resource_list(list, "wardle.example.com", "v1")),
              R"([{"resource":"flunders","responseKind":{"group":"","version":"","kind":"Flunder"},"scope":"Namespaced",)"
              R"("singularResource":"flunder","verbs":["get"],"shortNames":["fl"],"subresources":[{"subresource":"status",)"
              R"("responseKind":{"group":"","version":"","kind":"Flunder"},"verbs":["get"]}]},)"
              R"({"resource":"fischers","responseKind":{"group":"","version":"","kind":"Fischer"},"scope":"Cluster",)"
              R"("singularResource":"fischer","verbs":["list"]}])");
    EXPECT_EQ(text(read_resource_list(list, "wardle.example.com", "v2")), "the answer is not the list of resources that was asked for");
}

TEST(RemoteDiscovery, TakesTheHashOfItsOwnDocument) {
    const std::string index = R"({"paths":{"apis/g/v1":{"serverRelativeURL":"/openapi/v3/apis/g/v1?hash=AB%2f\u000a"},)"
                              R"("apis/h/v1":{"serverRelativeURL":"https://elsewhere/"},"version":{"serverRelativeURL":"/x?hash=C"}}})";
    EXPECT_EQ(*read_openapi_index(index, "g", "v1"), "AB%2F%0A");
    EXPECT_FALSE(read_openapi_index(index, "h", "v1")->empty());
    EXPECT_FALSE(read_openapi_index(index, "h", "v1")->contains("elsewhere"));
    EXPECT_EQ(*read_openapi_index(index, "g", "v2"), "");
    EXPECT_FALSE(read_openapi_index("<html>", "g", "v1").has_value());
}

TEST(RemoteDiscovery, RefusesWhatIsSomethingElse) {
    for (const char* body : {"", "[]", "null", "{\"items\":7}", "{\"items\":[{\"versions\":{}}]}", "<html>"}) {
        EXPECT_FALSE(read_aggregated_discovery(body, "g", "v1").has_value()) << body;
        EXPECT_FALSE(read_resource_list(body, "g", "v1").has_value()) << body;
    }
}

}  // namespace
}  // namespace porthole::apiserver
