#include "apiserver/local_clients.h"

#include <optional>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::core::v1::ConfigMap;
using api::core::v1::Node;
using api::core::v1::Secret;

class WarningKeeper final : public LogSink {
public:
    bool wants(LogLevel level) const override { return level == LogLevel::Warn; }
    void write(LogLevel, std::string_view, std::string_view message, std::initializer_list<LogField> fields) override {
        std::string& line = lines.emplace_back(message);
        for (const LogField& field : fields) line += ' ' + field.value;
    }
    std::vector<std::string> lines;
};

class LocalClientsTest : public ApiServerFixture {
protected:
    void SetUp() override {
        ApiServerFixture::SetUp();
        manager.emplace(*api, "kube-controller-manager");
    }
    void TearDown() override {
        ASSERT_TRUE(sim::run(loop, manager->close()));
        ApiServerFixture::TearDown();
    }
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.audit = &auditor;
        chosen.limits.reading = chosen.limits.mutating = 0;
        return chosen;
    }
    Logger logger() override { return Logger(warnings, "test"); }

    template <class T>
    T run(Task<T> task) {
        auto result = sim::run(loop, std::move(task));
        EXPECT_TRUE(result) << result.error().message;
        return std::move(*result);
    }
    template <class T>
    Reason refused(Task<T> task) {
        const auto result = sim::run(loop, std::move(task));
        EXPECT_FALSE(result);
        return result ? Reason::Unknown : result.error().reason;
    }

    KeptEvents kept;
    std::vector<std::string>& audit = kept.events;
    Auditor auditor{KeptEvents::everything(), {&kept}};
    std::shared_ptr<WarningKeeper> warnings = std::make_shared<WarningKeeper>();
    std::optional<LocalClients> manager;
};

TEST_F(LocalClientsTest, ActAsAccountsThatMayDoWhatTheirRolesSay) {
    client::Client& deployments = manager->of("deployment-controller");
    EXPECT_TRUE(run(deployments.list<Deployment>()).items.empty());
    EXPECT_EQ(refused(deployments.list<Secret>()), Reason::Forbidden);
    EXPECT_EQ(refused(deployments.remove<Node>({"", "n"})), Reason::Forbidden);
    EXPECT_EQ(refused(manager->of("no-such-controller").list<Deployment>()), Reason::Forbidden);
    EXPECT_TRUE(run(manager->of().list<Secret>()).items.empty()) << "the manager itself follows everything";
    EXPECT_EQ(refused(manager->of().remove<Node>({"", "n"})), Reason::Forbidden);
    LocalClients scheduler(*api, "kube-scheduler");
    EXPECT_EQ(refused(scheduler.of().list<Secret>()), Reason::Forbidden);
    EXPECT_TRUE(run(scheduler.of().list<Node>()).items.empty());
    EXPECT_TRUE(sim::run(loop, scheduler.close()));
}

TEST_F(LocalClientsTest, WhatIsDeniedToAComponentIsAWarning) {
    EXPECT_EQ(refused(manager->of("job-controller").remove<Node>({"", "n"})), Reason::Forbidden);
    EXPECT_EQ(warnings->lines, std::vector<std::string>{"a component of the control plane was denied a request "
                                                        "system:serviceaccount:kube-system:job-controller delete /api/v1/nodes/n"});
    EXPECT_EQ(refused(manager->of().get<Node>({"", "n"})), Reason::Forbidden);
    EXPECT_EQ(warnings->lines.size(), 2u);
}

TEST_F(LocalClientsTest, AreSeenInManagedFieldsAndTheAuditLogAsUpstreams) {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = "kube-root-ca.crt";
    map.data["ca.crt"] = "authority";
    run(manager->of("root-ca-cert-publisher").create(map));
    const schema::Value seen = *schema::parse_json(audit.back());
    const Answer stored = get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt");
    EXPECT_EQ(stored.body.at_path({"metadata", "managedFields"})->as_array().at(0).string_at({"manager"}), "kube-controller-manager");
    EXPECT_EQ(seen.string_at({"user", "username"}), "system:serviceaccount:kube-system:root-ca-cert-publisher");
    EXPECT_EQ(seen.string_at({"userAgent"}), "kube-controller-manager/v1.36.0/system:serviceaccount:kube-system:root-ca-cert-publisher");
}

}  // namespace
}  // namespace porthole::apiserver
