#include "controllers/storage_version_migrator/storage_version_migrator.h"

#include <gmock/gmock.h>

#include "controllers/framework/sim/sim_world.h"
#include "objects/conditions.h"

namespace porthole::controllers {
namespace {

using api::apiextensions::v1::CustomResourceDefinition;
using api::core::v1::ConfigMap;
using api::storagemigration::v1beta1::StorageVersionMigration;
using testing::ElementsAre;

struct StorageVersionMigratorTest : SimWorld {
    void config_map(const std::string& name) {
        ConfigMap made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = name;
        api.put(made);
    }
    void migration(const std::string& name, const std::string& resource, const std::string& group = "") {
        StorageVersionMigration made;
        made.metadata.name = name;
        made.metadata.creation_timestamp = Timestamp(loop.wall_now());
        made.spec.resource.resource = resource;
        made.spec.resource.group = group;
        api.put(made);
    }
    /// "Type=Status" of each condition, in order.
    std::vector<std::string> conditions(const std::string& name) {
        std::vector<std::string> all;
        for (const auto& one : api.find<StorageVersionMigration>({"", name})->status.conditions) all.push_back(one.type + "=" + one.status);
        return all;
    }
    std::vector<std::string> patched() {
        std::vector<std::string> names;
        for (const auto& request : api.requests())
            if (request.method == "PATCH") names.push_back(request.path.substr(request.path.rfind('/') + 1));
        return names;
    }
};

TEST_F(StorageVersionMigratorTest, WritesEveryObjectOnceMore) {
    config_map("a");
    config_map("b");
    migration("m", "configmaps");
    run<StorageVersionMigrator>();
    pass(10s);
    EXPECT_THAT(conditions("m"), ElementsAre("Running=False", "Succeeded=True"));
    EXPECT_THAT(patched(), ElementsAre("a", "b"));
    EXPECT_FALSE(api.find<StorageVersionMigration>({"", "m"})->status.resource_version.empty());
}

TEST_F(StorageVersionMigratorTest, OneResourceIsMigratedByOneMigrationAtATime) {
    config_map("a");
    migration("first", "configmaps");
    pass(1s);
    migration("second", "configmaps");
    run<StorageVersionMigrator>();
    pass(20s);
    EXPECT_THAT(conditions("first"), ElementsAre("Running=False", "Succeeded=True"));
    EXPECT_THAT(conditions("second"), ElementsAre("Running=False", "Succeeded=True"));
    EXPECT_THAT(patched(), ElementsAre("a", "a"));
}

TEST_F(StorageVersionMigratorTest, AnUnknownResourceHasAMinuteToAppear) {
    migration("m", "widgets", "example.com");
    run<StorageVersionMigrator>();
    pass(50s);
    EXPECT_THAT(conditions("m"), ElementsAre("Running=True"));
    pass(20s);
    EXPECT_THAT(conditions("m"), ElementsAre("Running=False", "Failed=True"));
    EXPECT_EQ(objects::find_condition(api.find<StorageVersionMigration>({"", "m"})->status.conditions, "Failed")->message,
              "migration encountered unhandled error: resource does not exist in discovery");
}

TEST_F(StorageVersionMigratorTest, WhatCannotBePatchedCannotBeMigrated) {
    migration("m", "tokenreviews", "authentication.k8s.io");
    run<StorageVersionMigrator>();
    pass(70s);
    EXPECT_THAT(conditions("m"), ElementsAre("Running=False", "Failed=True"));
}

TEST_F(StorageVersionMigratorTest, APassingFailureIsTriedAgain) {
    config_map("a");
    migration("m", "configmaps");
    int left = 2;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "PATCH" && left-- > 0) return Error(Reason::TooManyRequests, "later");
        return std::nullopt;
    });
    run<StorageVersionMigrator>();
    pass(30s);
    EXPECT_THAT(conditions("m"), ElementsAre("Running=False", "Succeeded=True"));
}

TEST_F(StorageVersionMigratorTest, ADefinitionForgetsTheVersionsThatNothingIsStoredIn) {
    CustomResourceDefinition made;
    made.metadata.name = "configmaps.";  // what the resource of these tests would be called
    made.metadata.generation = 3;
    for (const char* version : {"v1", "v2"}) {
        auto& one = made.spec.versions.emplace_back();
        one.name = version;
        one.storage = one.name == "v2";
    }
    made.status.stored_versions = {"v1", "v2"};
    api.put(made);
    migration("m", "configmaps");
    run<StorageVersionMigrator>();
    pass(10s);
    const auto definition = api.find<CustomResourceDefinition>({"", "configmaps."});
    EXPECT_THAT(definition->status.stored_versions, ElementsAre("v2"));
    const auto* condition = objects::find_condition(definition->status.conditions, "StorageMigrating");
    ASSERT_TRUE(condition);
    EXPECT_EQ(condition->status, "False");
    EXPECT_EQ(condition->message, "The migration has succeeded and the stored versions have been updated");
}

}  // namespace
}  // namespace porthole::controllers
