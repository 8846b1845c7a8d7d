#include "schema/discovery/discovery.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/registry.h"
#include "schema/json/json.h"

namespace porthole::schema {
namespace {

const Value* find_by(const Value* list, std::string_view key, std::string_view value) {
    if (!list || !list->is_array()) return nullptr;
    for (const Value& item : list->as_array()) {
        if (item.string_at({key}) == value) return &item;
    }
    return nullptr;
}

TEST(Discovery, ListsServedGroupsWithThePreferredVersionFirst) {
    const Value groups = discover_groups(served_groups(api::registry()));
    EXPECT_EQ(groups.string_at({"kind"}), "APIGroupList");
    const Value* apps = find_by(groups.find("groups"), "name", "apps");
    ASSERT_TRUE(apps);
    EXPECT_EQ(apps->string_at({"preferredVersion", "groupVersion"}), "apps/v1");
    EXPECT_EQ(find_by(groups.find("groups"), "name", ""), nullptr);
    // Types that are only documents or bodies make no group.
    EXPECT_EQ(find_by(groups.find("groups"), "name", "apidiscovery.k8s.io"), nullptr);
    EXPECT_EQ(find_by(groups.find("groups"), "name", "meta.k8s.io"), nullptr);
    const Value* autoscaling = find_by(groups.find("groups"), "name", "autoscaling");
    EXPECT_EQ(autoscaling->string_at({"preferredVersion", "version"}), "v2");
}

TEST(Discovery, ResourcesSayWhatKubectlAsksFor) {
    const auto core = discover_resources(api::registry(), "", "v1");
    ASSERT_TRUE(core);
    EXPECT_EQ(core->find("apiVersion"), nullptr);
    const Value* pods = find_by(core->find("resources"), "name", "pods");
    ASSERT_TRUE(pods);
    EXPECT_EQ(to_json(*pods), R"({"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","delete",)"
                              R"("deletecollection","get","list","patch","update","watch"],"shortNames":["po"],"categories":["all"],)"
                              R"("storageVersionHash":"xPOwRZ+Yhw8="})");
    const Value* eviction = find_by(core->find("resources"), "name", "pods/eviction");
    EXPECT_EQ(to_json(*eviction), R"({"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy",)"
                                  R"("version":"v1","kind":"Eviction","verbs":["create"]})");
    EXPECT_EQ(find_by(core->find("resources"), "name", "pods/status")->find("group"), nullptr);
}

TEST(Discovery, UnknownGroupsAndVersionsAreNotThere) {
    EXPECT_FALSE(discover_group(served_groups(api::registry()), "nope"));
    EXPECT_FALSE(discover_group(served_groups(api::registry()), ""));
    EXPECT_FALSE(discover_resources(api::registry(), "apps", "v2"));
    EXPECT_TRUE(discover_group(served_groups(api::registry()), "apps"));
}

TEST(Discovery, AggregatedCoreHasNoNameAndOwnKindsAreBare) {
    const Value core = discover_all(api::registry(), served_groups(api::registry()), AggregatedRoot::Core, AggregatedVersion::V2);
    ASSERT_EQ(core.find("items")->as_array().size(), 1u);
    const Value& group = core.find("items")->as_array()[0];
    EXPECT_EQ(to_json(*group.find("metadata")), "{}");
    const Value& version = group.find("versions")->as_array()[0];
    EXPECT_EQ(version.string_at({"freshness"}), "Current");
    const Value* controllers = find_by(version.find("resources"), "resource", "replicationcontrollers");
    ASSERT_TRUE(controllers);
    EXPECT_EQ(to_json(*controllers->find("responseKind")), R"({"group":"","version":"","kind":"ReplicationController"})");
    const Value* scale = find_by(controllers->find("subresources"), "subresource", "scale");
    EXPECT_EQ(to_json(*scale->find("responseKind")), R"({"group":"autoscaling","version":"v1","kind":"Scale"})");
}

TEST(Discovery, AStaleVersionSaysSo) {
    std::vector<DiscoveredGroup> served = served_groups(api::registry());
    const auto batch = std::ranges::find(served, "batch", &DiscoveredGroup::name);
    batch->versions.front().stale = true;
    const Value groups = discover_all(api::registry(), served, AggregatedRoot::Groups, AggregatedVersion::V2Beta1);
    EXPECT_EQ(groups.string_at({"apiVersion"}), "apidiscovery.k8s.io/v2beta1");
    int stale = 0;
    for (const Value& group : groups.find("items")->as_array()) {
        EXPECT_NE(group.string_at({"metadata", "name"}), "");
        for (const Value& version : group.find("versions")->as_array()) {
            if (version.string_at({"freshness"}) == "Stale") ++stale;
        }
    }
    EXPECT_EQ(stale, 1);
}

TEST(Discovery, AVersionOfAnotherServerShowsThatServersResources) {
    const Value flunders = Value::object({{"resource", "flunders"}});
    const std::vector<DiscoveredGroup> served{
        {"wardle",
         {{.version = "v1", .resources = std::make_shared<const Array>(Array{flunders}), .remote = true},
          {.version = "v1alpha1", .stale = true, .remote = true}}}};
    const Value groups = discover_all(api::registry(), served, AggregatedRoot::Groups, AggregatedVersion::V2);
    EXPECT_EQ(to_json(*groups.find("items")),
              R"([{"metadata":{"name":"wardle"},"versions":[{"version":"v1","resources":[{"resource":"flunders"}],"freshness":"Current"},)"
              R"({"version":"v1alpha1","freshness":"Stale"}]}])");
}

}  // namespace
}  // namespace porthole::schema
